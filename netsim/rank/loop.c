/* A rank of one row: opens its schemes, messages and clocks, and runs its steps in intervals. */
#include "netsim/rank/loop.h"

#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "netsim/exchange/pack/clocks.h"
#include "netsim/exchange/pack/pack.h"
#include "netsim/rank/accounting.h"
#include "netsim/rank/step_modes.h"
#include "netsim/transport/mpi_calls.h"
#include "schemes/spec.h"

/* --- opening --- */

static int open_schemes(struct cc_rank_loop *l, struct cc_error *e)
{
    const struct cc_job_row *row = l->s.row;
    CC_TRY(cc_spec_parse(row->scheme, &l->spec, e));
    CC_TRY(cc_spec_parse(cc_job_row_raw(l->s.job, row), &l->raw, e));
    const size_t period = cc_period(l->spec->scheme, l->spec->params);
    const enum cc_reduction reduction = cc_reduction(l->spec->scheme, l->spec->params);
    if (row->reduction != CC_REDUCE_DECODED && row->reduction != reduction)
        return cc_fail(e, "%s: the job says \"%s\", and its payloads allow \"%s\"", row->scheme,
                       cc_reduction_names[row->reduction], cc_reduction_names[reduction]);
    if (period != row->period)
        return cc_fail(e, "%s sends in one step of %zu, and the job says %zu", row->scheme, period,
                       row->period);
    l->s.spec = l->spec;
    l->s.raw = l->raw;
    if (l->s.job->training.pull != NULL)
        CC_TRY(cc_spec_parse(l->s.job->training.pull, &l->pull, e));
    l->s.pull = l->pull != NULL ? l->pull : l->spec;
    CC_TRY(cc_second_spec(l->s.job, row, &l->second, e));
    l->s.second = l->second;
    l->s.second_sizes = l->second != NULL ? l->s.second_sizes : NULL;
    CC_TRY(cc_inner_spec(l->s.job, row, &l->inner, e));
    l->s.inner = l->inner;
    l->s.inner_sizes = l->inner != NULL ? l->s.inner_sizes : NULL;
    return CC_OK;
}

static int open_messages(struct cc_rank_loop *l, struct cc_error *e)
{
    const struct cc_job_row *row = l->s.row;
    const size_t steps = cc_rank_loop_steps(l);
    const bool bulk = cc_job_bulk(l->s.job);
    const size_t messages = l->queues != NULL ? l->queues->messages : row->messages;
    CC_TRY(CC_NEW(l->message, messages, e));
    CC_TRY(CC_NEW(l->under_way, messages, e));
    CC_TRY(CC_NEW(l->start, 6 * steps, e)); /* and the other times of steps */
    CC_TRY(CC_NEW(l->s.staleness.age, bulk ? 0 : CC_CLOCKS_AGES, e));
    CC_TRY(CC_NEW(l->s.staleness.held_s, bulk ? 0 : row->messages, e));
    l->end = l->start + steps;
    l->late = l->end + steps;
    l->ready = l->late + steps;
    l->encoded = l->ready + steps;
    l->core_wait = l->encoded + steps;
    for (; l->messages < messages; l->messages++) {
        const size_t i = l->messages;
        CC_TRY(l->queues == NULL
                   ? cc_exchange_open(&l->s, &row->message[i], i, &l->message[i], e)
                   : cc_exchange_open(cc_queues_state(l->queues, i),
                                      cc_queues_unit(l->queues, row, i), i, &l->message[i], e));
    }
    return CC_OK;
}

static int open_queues(struct cc_rank_loop *l, const struct cc_collective_sizes *sizes,
                       struct cc_error *e)
{
    if (l->s.job->sharded.collectives == 0)
        return CC_OK;
    CC_TRY(CC_NEW(l->queues, 1, e));
    return cc_queues_open(l->queues, &l->s, sizes, e);
}

static int serve(void *arg, uint64_t step, uint64_t updates, size_t from, size_t to, float *mean,
                 struct cc_error *e)
{
    struct cc_source *source = arg;
    return source->ops->serve(source, step, updates, from, to, mean, e);
}

/* Without data: what all simulated ranks, which are in this process, share. */
static struct cc_shared shared;

static const struct cc_size_index *stage(struct cc_size_index *const *sizes,
                                         enum cc_stage_sizes which)
{
    return sizes != NULL ? sizes[which] : NULL;
}

int cc_rank_loop_open(struct cc_rank_loop *l, MPI_Comm comm, const struct cc_job *job,
                      const struct cc_job_row *row, const struct cc_size_index *sizes,
                      struct cc_size_index *const *stage_sizes, struct cc_source *source,
                      struct cc_error *e)
{
    int status = CC_OK, ranks = 0, ranks_on_host = 0;
    *l = (struct cc_rank_loop){.source = source};
    l->mpi = cc_mpi_transport(comm);
    l->s = (struct cc_rank_state){.transport = &l->mpi.end,
                                  .library = &cc_exchange_mpi,
                                  .job = job,
                                  .row = row,
                                  .sizes = sizes,
                                  .second_sizes = stage(stage_sizes, CC_SIZES_SECOND),
                                  .inner_sizes = stage(stage_sizes, CC_SIZES_INNER)};
    CC_TRY(cc_mpi_place(comm, &l->s.rank, &ranks, e));
    CC_TRY(cc_runtime_ranks_on_host(comm, &ranks_on_host, e));
    l->one_clock = ranks_on_host == ranks;
    l->s.server = l->s.rank >= job->workers;
    l->s.packs = &l->packs;
    l->s.shared = job->data ? NULL : &shared;
    l->first = l->from = row->warmup + job->training.resumed;
    l->to = cc_rank_loop_steps(l);
    l->computed = l->exchanged = job->training.resumed;
    l->applied = job->training.resumed - cc_job_delayed(job, row, job->training.resumed);
    if ((l->s.server || job->training.shards != CC_SHARDS_NONE) && source->serves) {
        l->s.serve = serve;
        l->s.serve_arg = source;
    }
    CC_TRY_OUT(cc_source_begin_row(source, row, e));
    CC_TRY_OUT(open_schemes(l, e));
    const struct cc_collective_sizes queue_sizes = {.weights = stage(stage_sizes, CC_SIZES_WEIGHTS),
                                                    .plain = stage(stage_sizes, CC_SIZES_PLAIN)};
    CC_TRY_OUT(CC_NEW(l->s.counters.tensor_bytes, job->tensors, e));
    CC_TRY_OUT(open_queues(l, &queue_sizes, e));
    /* Workers that compute while messages are under way wait for either. */
    if (!l->s.server && !cc_rank_loop_lockstep(l))
        CC_TRY_OUT(cc_waits_open(&l->mpi, e));
    CC_TRY_OUT(open_messages(l, e));
out:
    if (status != CC_OK)
        cc_error_in(e, "%s", row->scheme);
    return status;
}

void cc_rank_loop_close(struct cc_rank_loop *l)
{
    for (size_t i = 0; i < l->messages; i++)
        cc_exchange_close(l->message[i]);
    cc_waits_close(&l->mpi);
    cc_pack_list_free(&l->packs);
    if (l->queues != NULL)
        cc_queues_close(l->queues);
    free(l->queues);
    free(l->message);
    free(l->under_way);
    free(l->start);
    free(l->s.counters.tensor_bytes);
    free(l->s.staleness.age);
    free(l->s.staleness.held_s);
    cc_spec_free(l->spec);
    cc_spec_free(l->raw);
    cc_spec_free(l->pull);
    cc_spec_free(l->second);
    cc_spec_free(l->inner);
    *l = (struct cc_rank_loop){0};
}

/* --- running --- */

/* The end of the steps from `step` on whose pushes servers can take in any order: at the end of an
 * interval all ranks meet, as they do when counting begins. */
static size_t interval_end(const struct cc_rank_loop *l, size_t step)
{
    size_t end = step + 1;
    while (end != l->first && end != cc_rank_loop_steps(l) &&
           (l->on_interval == NULL || !cc_rank_loop_interval_ends(l, end)))
        end++;
    return end;
}

/* Ranks whose clocks differ pass a barrier; otherwise they agree on the time. */
static int begin_together(const struct cc_rank_loop *l, double *at, struct cc_error *e)
{
    if (l->one_clock)
        return cc_runtime_begin(l->mpi.comm, l->s.job->yield_when_idle, CC_JOB_PAUSE_S, at, e);
    CC_TRY(cc_runtime_barrier(l->mpi.comm, l->s.job->yield_when_idle, e));
    *at = cc_runtime_now();
    return CC_OK;
}

/* Begins a step: counting with the first step that counts, and, in lockstep, together with all
 * ranks. */
static int begin_step(struct cc_rank_loop *l, size_t step, struct cc_error *e)
{
    const bool counts = step == l->first;
    l->step = step;
    if (counts)
        cc_count_times(l);
    if (counts && !cc_job_bulk(l->s.job))
        memset(l->s.staleness.age, 0, CC_CLOCKS_AGES * sizeof(uint64_t));
    if (step >= l->s.until)
        l->s.until = interval_end(l, step);
    if (l->s.events != NULL) {
        l->s.events->on |= counts;
        l->s.events->step = step;
    }
    if (counts && cc_rank_loop_counts_apart(l) && l->on_counting != NULL) {
        CC_TRY(cc_runtime_barrier(l->mpi.comm, l->s.job->yield_when_idle, e));
        CC_TRY(l->on_counting(l->callback_arg, e));
    }
    double at = cc_runtime_now();
    if (cc_rank_loop_lockstep(l))
        CC_TRY(begin_together(l, &at, e));
    /* Computing that sleeps begins at the time that the ranks have agreed on; without any, the step
     * begins when this rank is awake. */
    const double awake = cc_runtime_now();
    l->late[step] = awake - at;
    if (cc_rank_loop_lockstep(l)) /* otherwise the step follows the last one without a pause */
        l->core_waited_s = cc_runtime_core_time().waited_s;
    l->start[step] = at - l->began + (l->s.job->compute_s > 0 ? 0 : cc_runtime_now() - at);
    return CC_OK;
}

/* Ends an interval of a training, and begins the next one. The clock of the row goes on from the
 * end of the last rank's step. */
static int end_interval(struct cc_rank_loop *l, size_t step, struct cc_error *e)
{
    const struct cc_job *job = l->s.job;
    const bool pipe = job->mode == CC_PIPE;
    /* A pipeline's exchange goes on in its servers when the workers' steps have ended. */
    double last = pipe && l->s.server ? 0 : l->end[step];
    if (l->on_interval == NULL || !cc_rank_loop_interval_ends(l, step + 1))
        return CC_OK;
    if (pipe && !l->s.server)
        CC_TRY(cc_pipe_pause(l, step, e));
    l->to = step + 1;
    CC_TRY(l->on_interval(l->callback_arg, e));
    CC_TRY(cc_runtime_barrier(l->mpi.comm, job->yield_when_idle, e));
    CC_TRY(cc_mpi_allreduce(l->mpi.comm, &last, 1, MPI_DOUBLE, MPI_MAX, e));
    if (l->on_counting != NULL)
        CC_TRY(l->on_counting(l->callback_arg, e));
    l->clock = cc_runtime_now();
    l->began = l->clock - last;
    l->from = step + 1;
    cc_count_times(l);
    cc_count_bytes(l);
    l->uncounted_bytes = 0;
    return CC_OK;
}

int cc_rank_loop_run(struct cc_rank_loop *l, struct cc_error *e)
{
    int status = CC_OK;
    CC_TRY_OUT(cc_runtime_barrier(l->mpi.comm, l->s.job->yield_when_idle, e));
    l->began = l->clock = cc_runtime_now();
    l->core_waited_s = cc_runtime_core_time().waited_s;
    for (size_t i = l->s.job->training.resumed; i < cc_rank_loop_steps(l); i++) {
        CC_TRY_OUT(begin_step(l, i, e));
        CC_TRY_OUT(cc_step_run(l, i, e));
        l->end[i] = cc_runtime_now() - l->began;
        const double waited_s = cc_runtime_core_time().waited_s;
        l->core_wait[i] = waited_s - l->core_waited_s;
        l->core_waited_s = waited_s;
        if (l->on_step != NULL)
            CC_TRY_OUT(l->on_step(l->callback_arg, i, e));
        CC_TRY_OUT(end_interval(l, i, e));
    }
    CC_TRY_OUT(cc_step_drain(l, e));
out:
    /* Only a training diverges, and its report has the step. */
    if (status == CC_DIVERGED && l->s.job->training.net == NULL)
        status = CC_FAIL;
    if (status == CC_FAIL)
        cc_error_in(e, "%s, step %llu", l->s.row->scheme, (unsigned long long)l->s.step);
    return status;
}
