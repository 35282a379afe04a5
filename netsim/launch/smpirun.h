/* Simulations: runs a job with commcomp-rank-sim under SimGrid's smpirun. */
#ifndef CC_NETSIM_LAUNCH_SMPIRUN_H
#define CC_NETSIM_LAUNCH_SMPIRUN_H

#include <stdbool.h>

#include "core/error.h"
#include "netsim/job/job.h"
#include "netsim/job/report.h"
#include "netsim/launch/smpirun_argv.h"
#include "netsim/platform/platform.h"

struct cc_smpirun_config {
    const struct cc_platform *platform;
    enum cc_fidelity fidelity;
    double overhead;          /* bytes of headers per byte of payload; not for CC_FIDELITY_TCP */
    double message_s;         /* for which a sender is busy with each message */
    const char *rank_program; /* path of commcomp-rank-sim */
    const char *smpirun;      /* NULL: "smpirun", looked up in PATH */
    const char *paje;         /* where to write SimGrid's own trace; NULL: nowhere */
    /* Callbacks with `arg`: each report, where a failure ends the simulation; and several times a
     * second, where true ends it as interrupted. */
    int (*on_report)(void *arg, const struct cc_report *report, struct cc_error *e);
    bool (*on_tick)(void *arg);
    void *arg;
};

/* Simulates a job to its end and leaves no files and no processes, whatever happens. Sets the job's
 * block_bytes and rendezvous as the fidelity requires. Fails if smpirun or the program is missing,
 * if memory would not suffice (cc_smpirun_memory), if the simulation is killed, or with what a rank
 * or SimGrid reports. */
int cc_smpirun(const struct cc_smpirun_config *config, struct cc_job *job, struct cc_error *e);

/* Refuses a job whose simulation needs more memory than there is, and says how much. It needs no
 * sizes of payloads, so that they need not be found out in vain. */
int cc_smpirun_check_memory(const struct cc_job *job, struct cc_error *e);

/* The path of commcomp-rank-sim (see cc_program_beside), which the caller frees; NULL with a
 * message how to get it. */
char *cc_rank_sim_program(struct cc_error *e);

#endif
