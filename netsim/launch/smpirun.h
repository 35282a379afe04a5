/* Simulations: runs a job with commcomp-rank-sim under SimGrid's smpirun. */
#ifndef CC_NETSIM_LAUNCH_SMPIRUN_H
#define CC_NETSIM_LAUNCH_SMPIRUN_H

#include <stdbool.h>

#include "core/error.h"
#include "netsim/job/job.h"
#include "netsim/job/report.h"
#include "netsim/platform/platform.h"

/* How closely the network is simulated. */
enum cc_fidelity {
    CC_FIDELITY_ALPHA_BETA, /* the formulas' assumptions: a transfer is one message that takes
                               latency plus bytes / bandwidth, and flows share links equally */
    CC_FIDELITY_TC, /* as the lab: the same, with the messages of a real run and tc's frames */
    CC_FIDELITY_TCP /* SMPI's own model: factors by message size, TCP's window, and
                       acknowledgements that share the links */
};
extern const char *const cc_fidelity_names[]; /* "alpha-beta", "tc", "tcp"; ends with NULL */

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
    bool *began; /* set once smpirun runs, whatever becomes of it; may be NULL */
};

/* Simulates a job to its end and leaves no files and no processes, whatever happens. Sets the job's
 * block_bytes and rendezvous as the fidelity requires. Fails if smpirun or the program is missing,
 * if memory would not suffice (cc_smpirun_memory), if the simulation is killed, or with what a rank
 * or SimGrid reports. */
int cc_smpirun(const struct cc_smpirun_config *config, struct cc_job *job, struct cc_error *e);

/* An estimate of the bytes that a simulation of the job needs: one process holds all ranks. At most
 * 2^60. */
size_t cc_smpirun_memory(const struct cc_job *job);

/* Refuses a job whose simulation needs more memory than there is, and says how much. It needs no
 * sizes of payloads, so that they need not be found out in vain. */
int cc_smpirun_check_memory(const struct cc_job *job, struct cc_error *e);

/* The path of commcomp-rank-sim (see cc_program_beside), which the caller frees; NULL with a
 * message how to get it. */
char *cc_rank_sim_program(struct cc_error *e);

/* Paths of the platform and of the list of hosts, and of SimGrid's trace; "": none is written. */
struct cc_smpirun_paths {
    char platform[64], hosts[64], paje[64];
};

/* smpirun's command line, with SimGrid's settings for the simulation; only the callbacks of the
 * configuration are not used. *out ends with NULL; the caller frees it with cc_argv_free. */
int cc_smpirun_argv(const struct cc_smpirun_config *config, const struct cc_smpirun_paths *paths,
                    const struct cc_job *job, char ***out, struct cc_error *e);

#endif
