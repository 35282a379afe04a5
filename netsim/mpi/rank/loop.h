/* The rank's loop: the steps of one row, one after the other. */
#ifndef CC_NETSIM_MPI_RANK_LOOP_H
#define CC_NETSIM_MPI_RANK_LOOP_H

#include "netsim/mpi/exchange/exchange.h"
#include "netsim/mpi/rank/replay.h"

struct cc_rank_loop {
    struct cc_rank_state s;
    const struct cc_exchange_ops *x;
    struct cc_replay *source;
    struct cc_spec *spec, *raw;
    void **message; /* the row's, as the exchange has them */
    bool *under_way;
    size_t messages, left;   /* opened; under way */
    double speed;            /* of this rank's host */
    double clock;            /* until when this worker has computed */
    double began;            /* at the row's barrier */
    double *start, *end;     /* since then, of each step, counted or not */
    double *ready, *encoded; /* sequential: cc_runtime_now() when a worker's exchange begins in
                                each step, and when its first message is encoded */
    uint64_t given;          /* to MPI in steps that are not counted */
    void (*beat)(void *arg, size_t step); /* after each step; or NULL */
    /* In lockstep: when all are there for the first step that counts; or NULL. */
    int (*counting)(void *arg, struct cc_error *e);
    void *beat_arg; /* of both */
};

/* Opens the row's messages on the ranks of comm: workers, then servers. `sizes`: the
 * row's, without data; else NULL. They and what `source` has must stay until the loop is closed.
 * Close it also after an error. */
int cc_rank_loop_open(struct cc_rank_loop *l, MPI_Comm comm, const struct cc_job *job,
                      const struct cc_job_row *row, const struct cc_size_index *sizes,
                      struct cc_replay *source, struct cc_error *e);
/* A barrier, then all steps; l->start, l->end and l->s.tally say how it went. Sequential steps are
 * in lockstep, as the formulas have it: nobody begins one before all have ended the last. Otherwise
 * a step starts where the last one ended. */
int cc_rank_loop_run(struct cc_rank_loop *l, struct cc_error *e);
void cc_rank_loop_close(struct cc_rank_loop *l);

/* Steps of the row, counted or not. */
size_t cc_rank_loop_steps(const struct cc_rank_loop *l);
bool cc_rank_loop_lockstep(const struct cc_rank_loop *l);

#endif
