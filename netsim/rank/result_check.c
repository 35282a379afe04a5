#include "netsim/rank/result_check.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/bytes.h"
#include "core/memory.h"
#include "netsim/exchange/pack/sum_check.h"
#include "netsim/exchange/message_pack.h"
#include "netsim/transport/mpi.h"
#include "netsim/transport/mpi_calls.h"

bool cc_result_check_possible(const struct cc_job *job, const struct cc_job_row *row,
                              const struct cc_spec *spec)
{
    const bool again = job->servers > 0 || cc_job_row_hops(job, row);
    const bool lossy = (spec->scheme->flags & CC_LOSSY) != 0 && !cc_job_row_plain(job, row);
    const bool quantizes = row->reduction == CC_REDUCE_PAIRS &&
                           cc_exchange_has(job->exchange, CC_X_DENSE_STAGE) && job->dense_bits < 32;
    return row->period == 1 && cc_sum_rounds(spec->scheme, spec->params) <= 1 &&
           !(again && lossy) && !quantizes;
}

/* Encodes the gradient and decodes it to c->own. */
static int decode_own(struct cc_result_check *c, const struct cc_rank_state *s,
                      const float *gradient, struct cc_error *e)
{
    const struct cc_pack_config config = {.seed = s->job->seed, .rank = s->rank};
    const struct cc_range all = {0, c->values};
    struct cc_pack *pack = NULL;
    uint8_t *payload = NULL;
    size_t len, head;
    int status = CC_OK;
    CC_TRY(cc_message_pack_make(s, all, 0, config, &pack, e));
    CC_TRY_OUT(CC_NEW(payload, cc_pack_bound(pack), e));
    CC_TRY_OUT(cc_pack_encode(pack, 0, gradient, payload, &len, &head, e));
    CC_TRY_OUT(cc_pack_decode(pack, 0, payload, len, c->own, e));
out:
    free(payload);
    cc_pack_free(pack);
    return status;
}

int cc_result_check_open(struct cc_result_check *c, const struct cc_rank_state *s,
                         const float *gradient, struct cc_error *e)
{
    const size_t n = cc_job_values(s->job);
    *c = (struct cc_result_check){.workers = MPI_COMM_NULL,
                                  .values = n,
                                  .op = s->job->op,
                                  .type = cc_job_row_plain(s->job, s->row) ? s->job->dtype
                                                                           : CC_ELEMENT_FP32};
    if (n > INT_MAX)
        return cc_fail(e, "a sum of %zu values is too long for MPI_Allreduce: leave out --check",
                       n);
    const int code = MPI_Comm_split(cc_mpi_of(s->transport)->comm, s->server ? MPI_UNDEFINED : 0,
                                    s->rank, &c->workers);
    CC_TRY(cc_mpi_check(code, "MPI_Comm_split", e));
    if (s->server)
        return CC_OK;
    CC_TRY(CC_NEW(c->own, n, e));
    CC_TRY(CC_NEW(c->sum, n, e));
    CC_TRY(CC_NEW(c->magnitude, n, e));
    CC_TRY(decode_own(c, s, gradient, e));
    for (size_t i = 0; i < n; i++) {
        c->sum[i] = c->own[i];
        c->magnitude[i] = fabsf(c->own[i]);
    }
    CC_TRY(cc_mpi_allreduce(c->workers, c->sum, n, MPI_FLOAT, MPI_SUM, e));
    return cc_mpi_allreduce(c->workers, c->magnitude, n, MPI_FLOAT, MPI_SUM, e);
}

/* Parts end on multiples of 512 values, and the first are longer. */
enum { UNEVEN = 1024 };

/* Puts all parts together, as every value is on one rank and zero on the others. */
static int check_scattered(struct cc_result_check *c, const float *mean, struct cc_sum_check *sums,
                           struct cc_error *e)
{
    const size_t most = c->values / (size_t)sums->workers + UNEVEN;
    size_t held = 0;
    for (size_t i = 0; i < c->values; i++)
        held += mean[i] != 0;
    memcpy(c->own, mean, c->values * sizeof *mean);
    CC_TRY(cc_mpi_allreduce(c->workers, c->own, c->values, MPI_FLOAT, MPI_SUM, e));
    if (cc_sum_check(sums, c->own, c->wrong, sizeof c->wrong) && held > most)
        (void)snprintf(c->wrong, sizeof c->wrong, "%zu values of %zu, and a part has at most %zu",
                       held, c->values, most);
    return CC_OK;
}

/* Each value is that of a rank, and each rank's gradient is there in one part. */
static int check_gathered(struct cc_result_check *c, const float *all, int workers,
                          struct cc_error *e)
{
    const size_t part = c->values / (size_t)workers, least = part > UNEVEN ? part - UNEVEN : 0;
    size_t of_own = 0;
    for (size_t i = 0; i < c->values; i++) {
        c->own[i] = c->own[i] == all[i];
        of_own += c->own[i] == 1;
    }
    CC_TRY(cc_mpi_allreduce(c->workers, c->own, c->values, MPI_FLOAT, MPI_SUM, e));
    if (of_own < least)
        (void)snprintf(c->wrong, sizeof c->wrong,
                       "of %zu values %zu are this rank's, and its part has at least %zu",
                       c->values, of_own, least);
    for (size_t i = 0; i < c->values && c->wrong[0] == '\0'; i++)
        if (c->own[i] == 0)
            (void)snprintf(c->wrong, sizeof c->wrong, "value %zu is %.9g, which no rank has there",
                           i, (double)all[i]);
    return CC_OK;
}

int cc_result_check_sum(struct cc_result_check *c, const float *mean, struct cc_error *e)
{
    struct cc_sum_check sums = {
        .sum = c->sum, .magnitude = c->magnitude, .n = c->values, .type = c->type};
    if (c->workers == MPI_COMM_NULL)
        return CC_OK;
    MPI_Comm_size(c->workers, &sums.workers);
    if (c->op == CC_REDUCE_SCATTER)
        return check_scattered(c, mean, &sums, e);
    if (c->op == CC_ALL_GATHER)
        return check_gathered(c, mean, sums.workers, e);
    (void)cc_sum_check(&sums, mean, c->wrong, sizeof c->wrong);
    return CC_OK;
}

int cc_result_check_equal(struct cc_result_check *c, const float *model, struct cc_error *e)
{
    if (c->workers == MPI_COMM_NULL || c->op == CC_REDUCE_SCATTER)
        return CC_OK;
    memcpy(c->own, model, c->values * sizeof *model);
    CC_TRY(cc_mpi_broadcast(c->workers, c->own, c->values, MPI_FLOAT, e));
    for (size_t i = 0; i < c->values && c->wrong[0] == '\0'; i++)
        if (cc_f32_bits(c->own[i]) != cc_f32_bits(model[i]))
            (void)snprintf(c->wrong, sizeof c->wrong,
                           "after all calls value %zu is %.9g, and %.9g on rank 0", i,
                           (double)model[i], (double)c->own[i]);
    return CC_OK;
}

void cc_result_check_close(struct cc_result_check *c)
{
    if (c->workers != MPI_COMM_NULL)
        MPI_Comm_free(&c->workers);
    free(c->own);
    free(c->sum);
    free(c->magnitude);
    *c = (struct cc_result_check){.workers = MPI_COMM_NULL};
}
