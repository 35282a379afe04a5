/* Simulations: commcomp-rank-sim under SimGrid's smpirun. */
#ifndef CC_NETSIM_LAUNCH_SMPIRUN_H
#define CC_NETSIM_LAUNCH_SMPIRUN_H

#include <stdbool.h>

#include "core/error.h"
#include "netsim/job/job.h"
#include "netsim/platform/platform.h"
#include "netsim/job/report.h"

/* How closely the network is simulated. */
enum cc_fidelity {
    CC_FIDELITY_ALPHA_BETA, /* what the formulas assume: latency and bytes / bandwidth, flows share
                               links equally; a transfer is one message */
    CC_FIDELITY_TC,         /* as the lab: that, and the very messages of a real run, and the frames
                               of tc */
    CC_FIDELITY_TCP /* SMPI's own: factors by message size, TCP's window, acknowledgements that
                       share the links */
};
extern const char *const cc_fidelity_names[]; /* "alpha-beta", "tc", "tcp"; ends with NULL */

struct cc_smpirun_config {
    const struct cc_platform *platform;
    enum cc_fidelity fidelity;
    double overhead; /* of a byte of payload, in headers: alpha-beta, tc; tcp has its own */
    const char *rank_program; /* commcomp-rank-sim */
    const char *smpirun;      /* NULL: as PATH has it */
    const char *paje;         /* a trace of SimGrid's own there; NULL */
    int (*on_report)(void *arg, const struct cc_report *report, struct cc_error *e);
    bool (*on_tick)(void *arg); /* every so often; true: stop */
    void *arg;
};

/* About how many bytes a simulation of the job needs: of all ranks, in one process. cc_smpirun
 * refuses what does not fit. */
size_t cc_smpirun_memory(const struct cc_job *job);

/* Runs a job, which is completed with what the fidelity asks for (block_bytes, asks), to its end.
 * Errors: no smpirun, no program, one that died (of which signal; killed for memory), what a rank
 * or SimGrid said. Leaves no files and no processes, whatever happens. */
int cc_smpirun(const struct cc_smpirun_config *config, struct cc_job *job, struct cc_error *e);

/* commcomp-rank-sim beside the program that runs, to be freed; an error says how to get it. */
char *cc_rank_sim_program(struct cc_error *e);

#endif
