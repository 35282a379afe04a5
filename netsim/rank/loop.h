/* The rank's loop: the steps of one row, one after the other, and its state, which the step modes,
 * computing and the accounting share. */
#ifndef CC_NETSIM_RANK_LOOP_H
#define CC_NETSIM_RANK_LOOP_H

#include "netsim/exchange/exchange.h"
#include "netsim/exchange/exchange_code.h"
#include "netsim/rank/queues.h"
#include "netsim/rank/source.h"
#include "netsim/transport/runtime.h"

struct cc_rank_loop {
    struct cc_rank_state s;
    struct cc_mpi_transport mpi; /* s.transport */
    struct cc_pack_list packs;   /* s.packs */
    struct cc_source *source;
    struct cc_spec *spec, *raw; /* the row's scheme, and fp32 */
    struct cc_spec *pull;       /* for what servers send; NULL: the row's */
    struct cc_spec *second;     /* of the second stage (cc_second_spec); or NULL */
    struct cc_spec *inner;      /* inside hosts (cc_inner_spec); or NULL */
    struct cc_queues *queues;   /* with sharded states, whose messages are the loop's; or NULL */
    void **message;             /* the row's messages, as the exchange has opened them */
    size_t messages;            /* opened */
    bool *under_way;            /* by message: started and not done */
    size_t pending;             /* messages under way */
    double busy_since, busy_s;  /* since when any is; how long any was, in the counted steps */
    double clock;               /* when this worker has computed what it was asked for */
    double began;               /* when it left the row's barrier */
    bool one_clock;             /* all ranks are on one machine, whose clock they share */
    double *start, *end;        /* by step, counted or not, since then */
    double *late;               /* how much later than the ranks had agreed it began each step */
    double *core_wait;          /* how long it waited for a core in each step */
    /* As they were when the last step ended, or this one began, and when counting began. */
    double core_waited_s;
    struct cc_core_time counting_core;
    double counting_machine_s, counting_at;
    /* Sequential steps: when this worker's exchange began, and when its first message was encoded,
     * on the rank's clock. */
    double *ready, *encoded;
    uint64_t uncounted_bytes; /* handed to MPI in steps that do not count */
    int (*on_step)(void *arg, size_t step, struct cc_error *e); /* after each step; or NULL */
    /* Sequential steps: once all ranks are about to begin the first step that counts; or NULL. */
    int (*on_counting)(void *arg, struct cc_error *e);
    /* Trainings: after step `to`, where an evaluation or a checkpoint is due; or NULL. The row's
     * clock stands still meanwhile. */
    int (*on_interval)(void *arg, struct cc_error *e);
    void *callback_arg; /* for all of them */
    size_t first;       /* with which counting begins */
    size_t from, to;    /* the counted steps, which counters are of; of a training, those up to
                           on_interval */
    size_t step;        /* under way */
    /* A pipe's worker: steps that it has computed, whose exchange has begun, and that it has
     * applied; and what was left of the exchange when the clock stood still. */
    size_t computed, exchanged, applied;
    double left_s;
};

/* Steps of the row, counted or not. */
static inline size_t cc_rank_loop_steps(const struct cc_rank_loop *l)
{
    return l->s.row->warmup + l->s.row->steps;
}

/* Whether a training is evaluated or saved after `steps` steps. */
static inline bool cc_rank_loop_interval_ends(const struct cc_rank_loop *l, size_t steps)
{
    const struct cc_job_training *t = &l->s.job->training;
    return steps == cc_rank_loop_steps(l) || steps % t->eval_every == 0 ||
           (t->checkpoint != NULL && steps % t->checkpoint_every == 0);
}

/* Whether all ranks begin each step together. */
static inline bool cc_rank_loop_lockstep(const struct cc_rank_loop *l)
{
    return l->s.job->mode == CC_SEQUENTIAL && cc_job_bulk(l->s.job);
}

/* Whether nothing of the steps that do not count is under way when counting begins. */
static inline bool cc_rank_loop_counts_apart(const struct cc_rank_loop *l)
{
    return cc_rank_loop_lockstep(l) || !cc_job_bulk(l->s.job);
}

/* Schemes beside the rows': of sums, inside hosts, of parameters, and of values as they are. */
enum cc_stage_sizes {
    CC_SIZES_SECOND,
    CC_SIZES_INNER,
    CC_SIZES_WEIGHTS,
    CC_SIZES_PLAIN,
    CC_STAGE_SIZES
};

/* Opens the row's messages on the ranks of comm: workers, then servers. `sizes` is the row's index
 * in jobs without data, `stage_sizes` those of the schemes of enum cc_stage_sizes, where there
 * are such; otherwise NULL. They and `source` must outlive the loop. Close the loop also after an
 * error. */
int cc_rank_loop_open(struct cc_rank_loop *l, MPI_Comm comm, const struct cc_job *job,
                      const struct cc_job_row *row, const struct cc_size_index *sizes,
                      struct cc_size_index *const *stage_sizes, struct cc_source *source,
                      struct cc_error *e);
/* Passes a barrier, then runs all steps; the results are in l->start, l->end and l->s.counters.
 * Sequential steps run in lockstep, as the formulas assume: no rank begins one before all have
 * ended the last. In the other modes a step starts on each rank where its last one ended. */
int cc_rank_loop_run(struct cc_rank_loop *l, struct cc_error *e);
void cc_rank_loop_close(struct cc_rank_loop *l);

/* The MPI library's own collectives (exchange_mpi.c): struct cc_rank_state.library. */
extern const struct cc_exchange_kind cc_exchange_mpi;

#endif
