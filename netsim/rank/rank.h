/* The whole of commcomp-rank: reads a job, runs its rows or its ping-pong, and reports. */
#ifndef CC_NETSIM_RANK_RANK_H
#define CC_NETSIM_RANK_RANK_H

#include "core/error.h"
#include "netsim/job/job.h"
#include "netsim/job/report.h"
#include "netsim/lab/interface_bytes.h"
#include "netsim/rank/applied_error.h"
#include "netsim/rank/loop.h"

/* A rank: its communicator, its job, and where it reports. */
struct cc_rank {
    MPI_Comm comm;
    int rank, ranks;
    FILE *out; /* where rank 0 reports */
    struct cc_job job;
    /* Without data, by row of the job, and after them those of the scheme of sums, if they have one
     * of their own; else NULL. */
    struct cc_size_index **sizes;
    struct cc_source *source;
    size_t step; /* after an error in a row: the step under way */
};

/* Prints a report on rank 0; does nothing on the others. */
int cc_rank_report(struct cc_rank *r, const struct cc_report *what, struct cc_error *e);

/* Sends the job from rank 0, which has read its text, to the other ranks, and makes the size
 * indexes of its rows, if it has no data. */
int cc_rank_take_job(struct cc_rank *r, const char *text, size_t length, struct cc_error *e);
void cc_rank_free_job(struct cc_rank *r);

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

/* In rows whose steps are not bulk synchronous: the updates of all counted steps by their
 * staleness, on rank 0: a list of CC_CLOCKS_AGES, which the caller frees, also after an error.
 * Collective. */
int cc_rank_ages(struct cc_rank *r, const struct cc_rank_loop *l, uint64_t **out,
                 struct cc_error *e);

/* The event logs of all ranks (event_gather.c). Prepares *m and returns it if the job asks for
 * events; otherwise returns NULL. */
struct cc_event_log *cc_event_gather_open(const struct cc_rank *r, size_t row,
                                          struct cc_event_log *m);
/* Reports the row's events, rank by rank, so that rank 0 has those of one other rank at a time.
 * Does nothing if the job asks for none. */
int cc_event_gather(struct cc_rank *r, size_t row, const struct cc_rank_loop *l,
                    struct cc_error *e);

/* Times the calls of an exchange, one by one, in a job with `calls` (calls.c): runs the row that *l
 * has open, and reports it. Collective. */
int cc_rank_calls(struct cc_rank *r, size_t row, struct cc_rank_loop *l, struct cc_error *e);

/* Runs a job of kind CC_JOB_PINGPONG. */
int cc_rank_pingpong(struct cc_rank *r, struct cc_error *e);

#endif
