/* Evaluating a training: rank 0 scores its own copy of the parameters, which all workers have
 * unless they need not be in the same step, with the mean of the workers' running statistics, and
 * where servers send model deltas their copy, too. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/format/crc32.h"
#include "core/memory.h"
#include "netsim/exchange/pack/clocks.h"
#include "netsim/rank/training.h"
#include "netsim/transport/mpi_calls.h"
#include "train/task.h"

/* --- gathering --- */

int cc_rank_gather_servers(struct cc_rank *r, const float *own, size_t n, float *out,
                           struct cc_error *e)
{
    const bool part = r->rank == 0 || r->rank >= r->job.workers;
    MPI_Comm comm;
    int code = MPI_Comm_split(r->comm, part ? 0 : MPI_UNDEFINED, r->rank, &comm);
    CC_TRY(cc_mpi_check(code, "MPI_Comm_split", e));
    if (!part)
        return CC_OK;
    if (r->rank == 0)
        memset(out, 0, n * sizeof *out);
    code =
        MPI_Reduce(r->rank == 0 ? MPI_IN_PLACE : own, out, (int)n, MPI_UINT32_T, MPI_BOR, 0, comm);
    const int status = cc_mpi_check(code, "MPI_Reduce", e);
    (void)MPI_Comm_free(&comm);
    return status;
}

/* The labels of a worker's batch. */
static size_t batch_labels(const struct cc_job_training *t)
{
    return t->task.batch * cc_model_labels(t->net, t->task.width);
}

/* Adds the loss and the accuracy of each of the latest steps, the means over the workers, to the
 * log: in the order in which a training in one process does, which so has the same bits. */
static int add_batches(struct cc_rank *r, const struct cc_rank_loop *l,
                       const struct cc_source_learned *learned, struct cc_training_log *log,
                       struct cc_error *e)
{
    const size_t steps = l->to - l->from, workers = (size_t)r->job.workers;
    struct cc_source_batch *all;
    const int status = CC_MPI_GATHER(r->comm, learned->batch + l->from, steps, all, e);
    for (size_t i = 0; i < steps && r->rank == 0 && status == CC_OK; i++) {
        struct cc_source_batch sum = {0, 0};
        for (size_t k = 0; k < workers; k++) {
            sum.loss += all[k * steps + i].loss;
            sum.correct += all[k * steps + i].correct;
        }
        log->sum.train_loss += sum.loss / (double)workers;
        log->sum.train_accuracy += sum.correct / (double)(workers * batch_labels(&r->job.training));
    }
    free(all);
    return status;
}

/* *crc: the checksum of the parameters of worker 0. After bulk synchronous steps, the workers
 * must have the same. */
static int check_equal(struct cc_rank *r, const struct cc_source_learned *learned, uint32_t *crc,
                       struct cc_error *e)
{
    uint32_t *all;
    *crc = cc_crc32(0, learned->weights, learned->values * sizeof(float));
    int status = CC_MPI_GATHER(r->comm, crc, 1, all, e);
    for (int i = 1; i < r->job.workers && r->rank == 0 && status == CC_OK; i++)
        if (all[i] != all[0] && cc_job_bulk(&r->job))
            status = cc_fail(e, "worker %d has other parameters than worker 0", i);
    free(all);
    return status;
}

/* --- figures --- */

/* Means become sums, and those of bytes whole numbers again. */
static void add_figures(const struct cc_rank *r, const struct cc_rank_loop *l,
                        const struct cc_report_row *x, struct cc_training_log *log)
{
    const double n = (double)(l->to - l->from);
    struct cc_evaluation *sum = &log->sum;
    sum->push_bytes += nearbyint(x->push_bytes * n * r->job.workers);
    sum->pull_bytes += nearbyint(x->pull_bytes * n);
    sum->encode_s += x->encode_s * n;
    sum->hop_s += x->hop_s * n;
    sum->server_s += x->server_s * n;
    sum->decode_s += x->decode_s * n;
    sum->compute_s += x->compute_s * n;
    sum->update_s += x->update_s * n;
    sum->wait_s += x->held_s * n;
    sum->updates += x->updates * n;
    for (size_t i = 0; i < x->steps; i++)
        log->wall_s += x->step_s[i];
    log->since += l->to - l->from;
    log->step = l->to;
}

/* The staleness of all updates until now. */
static int take_staleness(struct cc_rank *r, const struct cc_rank_loop *l, struct cc_evaluation *v,
                          struct cc_error *e)
{
    uint64_t *age;
    const int status = cc_rank_ages(r, l, &age, e);
    if (status == CC_OK) {
        v->staleness = cc_ages_mean(age);
        v->staleness_p95 = cc_ages_quantile(age, 0.95);
    }
    free(age);
    return status;
}

/* --- scores --- */

static int evaluate(struct cc_rank *r, const struct cc_rank_loop *l,
                    const struct cc_source_learned *learned, struct cc_training_log *log,
                    struct cc_error *e)
{
    struct cc_report report = {.kind = CC_REPORT_EVAL,
                               .eval = {.row = (size_t)(l->s.row - r->job.row)}};
    struct cc_evaluation *v = &report.eval.of;
    const bool shards = learned->shard != NULL, deltas = r->job.training.deltas || shards;
    int status = CC_OK;
    float *all = NULL, *mean = NULL, *servers = NULL;
    CC_TRY_OUT(CC_NEW(mean, learned->stat_count, e));
    CC_TRY_OUT(CC_NEW(servers, deltas && r->rank == 0 ? learned->values : 0, e));
    CC_TRY_OUT(check_equal(r, learned, &report.eval.weights, e));
    CC_TRY_OUT(CC_MPI_GATHER(r->comm, learned->stats, learned->stat_count, all, e));
    struct cc_evaluation stale = {.staleness = 0};
    if (!cc_job_bulk(&r->job))
        CC_TRY_OUT(take_staleness(r, l, &stale, e));
    if (shards)
        CC_TRY_OUT(cc_rank_gather_shards(r, l->s.row, learned->shard, false, servers, NULL, e));
    else if (deltas)
        CC_TRY_OUT(cc_rank_gather_servers(r, learned->weights, learned->values, servers, e));
    if (r->rank != 0)
        goto out;
    cc_mean_stats(all, (size_t)r->job.workers, learned->stat_count, mean);
    *v = cc_training_log_end(log, (size_t)r->job.workers);
    v->residual = v->pull_residual = v->distance = NAN;
    v->staleness = stale.staleness;
    v->staleness_p95 = stale.staleness_p95;
    CC_TRY_OUT(cc_source_score(r->source, learned->weights, deltas ? servers : NULL, mean, v, e));
    CC_TRY_OUT(cc_training_log_add(log, v, e));
    CC_TRY_OUT(cc_rank_report(r, &report, e));
out:
    free(all);
    free(mean);
    free(servers);
    return status;
}

/* The same where parameters are divided: the workers' copy is gathered for it. */
static int evaluate_divided(struct cc_rank *r, struct cc_rank_loop *l,
                            struct cc_source_learned *learned, struct cc_training_log *log,
                            struct cc_error *e)
{
    CC_TRY(cc_rank_gather_copy(l, e));
    learned->weights = cc_source_copy(r->source);
    CC_TRY(evaluate(r, l, learned, log, e));
    cc_source_forget(r->source);
    return CC_OK;
}

int cc_rank_train_interval(struct cc_rank *r, struct cc_rank_loop *l,
                           const struct cc_report_row *figures, struct cc_training_log *log,
                           struct cc_error *e)
{
    const struct cc_job_training *t = &r->job.training;
    struct cc_source_learned learned = cc_source_learned(r->source);
    const bool last = l->to == cc_rank_loop_steps(l);
    CC_TRY(add_batches(r, l, &learned, log, e));
    add_figures(r, l, figures, log);
    if (!last && l->to % t->eval_every != 0)
        return CC_OK;
    return r->job.sharded.collectives > 0 ? evaluate_divided(r, l, &learned, log, e)
                                          : evaluate(r, l, &learned, log, e);
}
