/* Evaluating a training: rank 0 scores its own copy of the parameters, which all workers have, with
 * the mean of the workers' running statistics, and where servers send model deltas their copy, too.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/format/crc32.h"
#include "core/memory.h"
#include "netsim/mpi/rank/rank.h"
#include "netsim/mpi/runtime/mpi_check.h"
#include "train/task.h"

/* The numbers that each rank sends to rank 0. */
struct own {
    double loss, crc;
};

/* The workers must have the same parameters. */
static int check_equal(const struct own *all, int workers, struct cc_error *e)
{
    for (int i = 1; i < workers; i++)
        if (all[i].crc != all[0].crc)
            return cc_fail(e, "worker %d has other parameters than worker 0", i);
    return CC_OK;
}

static int gather_losses(struct cc_rank *r, const struct cc_source_learned *learned,
                         struct cc_report_eval *out, struct cc_error *e)
{
    const uint32_t crc = cc_crc32(0, learned->weights, learned->values * sizeof(float));
    const struct own own = {learned->loss, (double)crc};
    struct own *all = cc_alloc0((size_t)r->ranks * sizeof *all, e);
    if (all == NULL)
        return CC_FAIL;
    const int code = MPI_Gather(&own, 2, MPI_DOUBLE, all, 2, MPI_DOUBLE, 0, r->comm);
    int status = cc_mpi_check(code, "MPI_Gather", e);
    out->weights = crc;
    for (int i = 0; i < r->job.workers; i++)
        out->train_loss += all[i].loss / r->job.workers;
    if (status == CC_OK && r->rank == 0)
        status = check_equal(all, r->job.workers, e);
    free(all);
    return status;
}

/* mean[stat_count]: on rank 0 the mean of the workers' statistics. */
static int gather_stats(struct cc_rank *r, const struct cc_source_learned *learned, float *mean,
                        struct cc_error *e)
{
    const size_t ranks = r->rank == 0 ? (size_t)r->ranks : 0;
    const int n = (int)learned->stat_count;
    float *all = cc_alloc(ranks * learned->stat_count * sizeof *all, e);
    if (all == NULL)
        return CC_FAIL;
    const int code = MPI_Gather(learned->stats, n, MPI_FLOAT, all, n, MPI_FLOAT, 0, r->comm);
    const int status = cc_mpi_check(code, "MPI_Gather", e);
    if (status == CC_OK && r->rank == 0)
        cc_mean_stats(all, (size_t)r->job.workers, learned->stat_count, mean);
    free(all);
    return status;
}

/* Puts the servers' parts together on rank 0: each part is 0 where the others are not. */
static int gather_servers(struct cc_rank *r, const struct cc_source_learned *learned, float *out,
                          struct cc_error *e)
{
    const bool part = r->rank == 0 || r->rank >= r->job.workers;
    const int n = (int)learned->values;
    MPI_Comm comm;
    int code = MPI_Comm_split(r->comm, part ? 0 : MPI_UNDEFINED, r->rank, &comm);
    CC_TRY(cc_mpi_check(code, "MPI_Comm_split", e));
    if (!part)
        return CC_OK;
    memset(out, 0, learned->values * sizeof *out);
    code = r->rank == 0 ? MPI_Reduce(MPI_IN_PLACE, out, n, MPI_UINT32_T, MPI_BOR, 0, comm)
                        : MPI_Reduce(learned->weights, out, n, MPI_UINT32_T, MPI_BOR, 0, comm);
    const int status = cc_mpi_check(code, "MPI_Reduce", e);
    (void)MPI_Comm_free(&comm);
    return status;
}

static int score(struct cc_rank *r, const float *workers, const float *servers, const float *stats,
                 size_t values, struct cc_report_eval *out, struct cc_error *e)
{
    struct cc_source_score own, theirs;
    CC_TRY(cc_source_score(r->source, workers, stats, &own, e));
    theirs = own;
    if (servers != NULL && memcmp(servers, workers, values * sizeof *workers) != 0)
        CC_TRY(cc_source_score(r->source, servers, stats, &theirs, e));
    out->worker_loss = own.loss;
    out->worker_accuracy = own.accuracy;
    out->loss = theirs.loss;
    out->accuracy = theirs.accuracy;
    if (isfinite(own.loss) && isfinite(theirs.loss))
        return CC_OK;
    return cc_diverged(e, "a loss on the test samples that is not finite");
}

int cc_rank_evaluate(struct cc_rank *r, size_t row, const struct cc_rank_loop *l,
                     struct cc_error *e)
{
    const struct cc_source_learned learned = cc_source_learned(r->source);
    struct cc_report report = {.kind = CC_REPORT_EVAL, .eval = {.row = row, .step = l->to}};
    struct cc_report_eval *out = &report.eval;
    const bool deltas = r->job.training.deltas;
    int status = CC_OK;
    float *stats = cc_alloc0(learned.stat_count * sizeof *stats, e);
    float *servers = cc_alloc(deltas ? learned.values * sizeof *servers : 0, e);
    if (stats == NULL || servers == NULL) {
        status = CC_FAIL;
        goto out;
    }
    CC_TRY_OUT(gather_losses(r, &learned, out, e));
    CC_TRY_OUT(gather_stats(r, &learned, stats, e));
    if (deltas)
        CC_TRY_OUT(gather_servers(r, &learned, servers, e));
    out->train_loss /= (double)(l->to - l->from);
    if (r->rank == 0)
        CC_TRY_OUT(
            score(r, learned.weights, deltas ? servers : NULL, stats, learned.values, out, e));
    CC_TRY_OUT(cc_rank_report(r, &report, e));
out:
    free(stats);
    free(servers);
    return status;
}
