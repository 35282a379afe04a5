/* The context of a rank: its communicator, its job, and where it reports. */
#ifndef CC_NETSIM_RANK_CONTEXT_H
#define CC_NETSIM_RANK_CONTEXT_H

#include <mpi.h>
#include <stdio.h>

#include "core/error.h"
#include "netsim/job/job.h"
#include "netsim/job/report.h"
#include "netsim/rank/source.h"

struct cc_size_index;

struct cc_rank {
    MPI_Comm comm;
    int rank, ranks;
    FILE *out; /* where rank 0 reports */
    struct cc_job job;
    struct cc_size_index **sizes; /* by row of the job, without data; else NULL */
    struct cc_source *source;
    size_t step; /* after an error in a row: the step under way */
};

/* Prints a report on rank 0; does nothing on the others. */
int cc_rank_report(struct cc_rank *r, const struct cc_report *what, struct cc_error *e);

/* Sends the job from rank 0, which has read its text, to the other ranks, and makes the size
 * indexes of its rows, if it has no data. */
int cc_rank_take_job(struct cc_rank *r, const char *text, size_t length, struct cc_error *e);
void cc_rank_free_job(struct cc_rank *r);

#endif
