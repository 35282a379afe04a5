/* The whole of commcomp-rank: reads a job, runs its rows or its ping-pong, and reports. */
#ifndef CC_NETSIM_RANK_RANK_H
#define CC_NETSIM_RANK_RANK_H

#include "core/error.h"
#include "netsim/lab/interface_bytes.h"
#include "netsim/rank/applied_error.h"
#include "netsim/rank/context.h"
#include "netsim/rank/loop.h"

/* Reads the job on rank 0 ("-": from stdin) and broadcasts it. Close it also after an error. */
int cc_rank_open(struct cc_rank *r, MPI_Comm comm, const char *path, FILE *out, struct cc_error *e);
/* Runs all of the job; rank 0 reports. */
int cc_rank_run(struct cc_rank *r, struct cc_error *e);
void cc_rank_close(struct cc_rank *r);

/* Measurements around a row's loop. */
struct cc_row_measures {
    /* The device's byte counters where counting began and at the row's last barrier. */
    const struct cc_interface_bytes *before, *after;
    const struct cc_applied_error *error; /* or NULL */
};

/* Gathers a row's measurements of all ranks on rank 0 and reports them. *out: that report, on rank
 * 0; free it with cc_report_free, also after an error. */
int cc_rank_results(struct cc_rank *r, size_t row, const struct cc_rank_loop *l,
                    const struct cc_row_measures *m, struct cc_report *out, struct cc_error *e);

/* Runs a job of kind CC_JOB_PINGPONG. */
int cc_rank_pingpong(struct cc_rank *r, struct cc_error *e);

#endif
