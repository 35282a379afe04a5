/* Index-value pairs that are merged, as netsim/exchange/reduce_merge.c does, and ssar_auto.c
 * chooses. Here all values of a sum are in memory, -0 where nobody has sent any: adding -0 changes
 * nothing.
 *
 * Each value is added in the order of the exchange: that of the ranks in a split, and in the others
 * over a power of two of the ranks as a tree, of neighbors first (ssar-recdouble) or last
 * (ssar-rabenseifner); of what is left, each rank is added to its neighbor before. Since a + b is
 * b + a, all ranks have the same bits. dsar-split's second stage encodes each chunk by the second
 * scheme. */
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/memory.h"
#include "core/reduce.h"
#include "netsim/inprocess/reduction.h"

/* A chunk of a split, whose sum its owner quantizes. */
struct chunk {
    struct cc_values values;
    struct cc_pack *encoder, *decoder; /* NULL: no values, or nothing is quantized */
};

struct merge {
    const struct cc_inprocess_ops *ops;
    const struct cc_inprocess_message *message;
    struct cc_job_choices choices; /* of ssar-auto; otherwise none */
    struct cc_pack **pack;         /* of each worker */
    struct chunk *chunk;           /* of each worker */
    uint8_t *bytes;
    struct cc_index_value *pair;
    float **sum;    /* [workers][values]: of a worker's values, and then of several workers' */
    uint64_t pairs; /* of all workers: in the step before, or the most */
};

static int workers_of(const struct merge *x)
{
    return x->message->config->job->workers;
}

static size_t values_of(const struct merge *x)
{
    return x->message->values.to - x->message->values.from;
}

/* The exchange of a step in which all workers have that many pairs. */
static enum cc_exchange chosen(const struct merge *x, uint64_t pairs)
{
    return x->choices.count > 0 ? cc_job_choose(&x->choices, pairs)
                                : x->message->config->job->exchange;
}

static bool is_split(enum cc_exchange x)
{
    return x == CC_SSAR_SPLIT || x == CC_DSAR_SPLIT;
}

/* --- sums --- */

static void add(const struct merge *x, int to, int from)
{
    float *sum = x->sum[to];
    const float *more = x->sum[from];
    for (size_t i = 0; i < values_of(x); i++)
        sum[i] = sum[i] + more[i];
}

/* Ranks by their places in the power of two: the first `rest` have another rank before them. */
static int rank_at(int place, int rest)
{
    return place < rest ? 2 * place + 1 : place + rest;
}

/* Adds all up, and returns where the sum is. */
static const float *add_up(const struct merge *x, enum cc_exchange how)
{
    const int p = workers_of(x);
    int power = 1;
    for (int i = 1; i < p && is_split(how); i++)
        add(x, 0, i);
    if (is_split(how))
        return x->sum[0];
    while (2 * power <= p)
        power *= 2;
    const int rest = p - power;
    for (int i = 0; i < rest; i++)
        add(x, rank_at(i, rest), 2 * i);
    if (how == CC_SSAR_RECDOUBLE)
        for (int d = 1; d < power; d *= 2)
            for (int i = 0; i < power; i += 2 * d)
                add(x, rank_at(i, rest), rank_at(i + d, rest));
    else
        for (int d = power / 2; d > 0; d /= 2)
            for (int i = 0; i < d; i++)
                add(x, rank_at(i, rest), rank_at(i + d, rest));
    return x->sum[rank_at(0, rest)];
}

/* The part of the additions that a rank does: all of its rounds', or those of its chunk. */
static double own_part(const struct merge *x, enum cc_exchange how)
{
    const int p = workers_of(x);
    double rounds = 0;
    for (int power = 1; power < p; power *= 2)
        rounds++;
    return how == CC_SSAR_RECDOUBLE && p > 1 ? rounds / (p - 1) : 1.0 / p;
}

/* --- a step --- */

static int encode(struct merge *x, const struct cc_inprocess_call *c, int worker, uint64_t *pairs,
                  struct cc_error *e)
{
    float *own = x->sum[worker];
    size_t len, count;
    uint64_t payload;
    CC_TRY(cc_inprocess_encode(x->pack[worker], c, c->gradient[worker] + x->message->values.from,
                               x->bytes, &len, &payload, e));
    if (c->silent)
        return CC_OK;
    CC_TRY(cc_pack_to_pairs(x->pack[worker], c->step, x->bytes, len, x->pair, &count, e));
    for (size_t i = 0; i < values_of(x); i++)
        own[i] = -0.0f;
    for (size_t i = 0; i < count; i++)
        own[x->pair[i].index] = x->pair[i].value;
    c->out->push_bytes += payload;
    *pairs += count;
    return CC_OK;
}

/* Adds the mean of the chunks as their owners quantize them, which all workers decode. */
static int apply_quantized(struct merge *x, const struct cc_inprocess_call *c, const float *sum,
                           float *result, struct cc_error *e)
{
    const float scale = 1.0f / (float)workers_of(x);
    size_t len, head;
    for (int i = 0; i < workers_of(x); i++) {
        const struct chunk *k = &x->chunk[i];
        if (k->encoder == NULL)
            continue;
        CC_TRY(cc_pack_encode(k->encoder, c->step, sum, x->bytes, &len, &head, e));
        CC_TRY(cc_pack_decode_add(k->decoder, c->step, x->bytes, len, scale, result, e));
    }
    return CC_OK;
}

static int merge_exchange(void *of, const struct cc_inprocess_call *c, struct cc_error *e)
{
    struct merge *x = of;
    float *result = c->result + x->message->values.from;
    const double since = cc_thread_now(), workers = (double)workers_of(x);
    uint64_t pairs = 0;
    for (int i = 0; i < workers_of(x); i++)
        CC_TRY(encode(x, c, i, &pairs, e));
    const double encoded = cc_thread_now();
    c->out->encode_s += (encoded - since) / workers;
    if (c->silent)
        return CC_OK;
    /* Within a split, the step's own pairs decide about its second stage. */
    const enum cc_exchange how = chosen(x, x->pairs);
    const bool dense = is_split(how) && chosen(x, pairs) == CC_DSAR_SPLIT;
    const float *sum = add_up(x, how);
    const double summed = cc_thread_now();
    c->out->hop_s += (summed - encoded) * own_part(x, how);
    x->pairs = pairs;
    if (dense && x->message->dense != NULL)
        CC_TRY(apply_quantized(x, c, sum, result, e));
    else
        for (size_t i = 0; i < values_of(x); i++)
            result[i] = cc_add_scaled(result[i], 1.0f / (float)workers_of(x), sum[i]);
    c->out->decode_s += cc_thread_now() - summed;
    return CC_OK;
}

/* --- opening --- */

static void merge_close(void *of)
{
    struct merge *x = of;
    for (int i = 0; i < workers_of(x); i++) {
        if (x->pack != NULL)
            cc_pack_free(x->pack[i]);
        if (x->sum != NULL)
            free(x->sum[i]);
        if (x->chunk != NULL) {
            cc_pack_free(x->chunk[i].encoder);
            cc_pack_free(x->chunk[i].decoder);
        }
    }
    free(x->pack);
    free(x->sum);
    free(x->chunk);
    free(x->bytes);
    free(x->pair);
    free(x);
}

static int open_chunk(struct merge *x, int i, struct cc_error *e)
{
    const struct cc_inprocess_message *m = x->message;
    const size_t n = (size_t)workers_of(x), from = m->values.from, to = m->values.to;
    struct chunk *k = &x->chunk[i];
    struct cc_pack_config config = {.seed = m->config->job->seed + 1, .rank = i, .spec = m->dense};
    k->values = (struct cc_values){cc_part_at(from, to, (size_t)i, n),
                                   cc_part_at(from, to, (size_t)i + 1, n)};
    if (config.spec == NULL || k->values.from == k->values.to)
        return CC_OK;
    CC_TRY(cc_inprocess_pack(m, i, k->values, config, &k->encoder, e));
    config.decodes_only = true;
    return cc_inprocess_pack(m, i, k->values, config, &k->decoder, e);
}

static int open_workers(struct merge *x, struct cc_error *e)
{
    const struct cc_inprocess_message *m = x->message;
    size_t bytes = 0;
    for (int i = 0; i < workers_of(x); i++) {
        const struct cc_pack_config config = {.seed = m->config->job->seed, .rank = i};
        CC_TRY(cc_inprocess_pack(m, i, m->values, config, &x->pack[i], e));
        CC_TRY(open_chunk(x, i, e));
        x->sum[i] = cc_alloc(values_of(x) * sizeof(float), e);
        if (x->sum[i] == NULL)
            return CC_FAIL;
        const size_t push = cc_pack_bound(x->pack[i]);
        const size_t dense = x->chunk[i].encoder != NULL ? cc_pack_bound(x->chunk[i].encoder) : 0;
        bytes = push > bytes ? push : bytes;
        bytes = dense > bytes ? dense : bytes;
    }
    const size_t most = cc_pack_pairs_bound(x->pack[0]);
    x->pairs = (uint64_t)workers_of(x) * most;
    x->bytes = cc_alloc(bytes, e);
    x->pair = cc_alloc((most + 1) * sizeof *x->pair, e);
    return x->bytes != NULL && x->pair != NULL ? CC_OK : CC_FAIL;
}

int cc_inprocess_merge_open(const struct cc_inprocess_message *m, void **out, struct cc_error *e)
{
    static const struct cc_inprocess_ops ops = {merge_exchange, merge_close};
    const size_t n = (size_t)m->config->job->workers;
    int status = CC_OK;
    struct merge *x = cc_alloc0(sizeof *x, e);
    if (x == NULL)
        return CC_FAIL;
    x->ops = &ops;
    x->message = m;
    x->choices = cc_job_choices_of(m->config->row, m->index);
    x->pack = cc_alloc0(n * sizeof(struct cc_pack *), e);
    x->sum = cc_alloc0(n * sizeof(float *), e);
    x->chunk = cc_alloc0(n * sizeof *x->chunk, e);
    if (x->pack == NULL || x->sum == NULL || x->chunk == NULL)
        status = CC_FAIL;
    else
        status = open_workers(x, e);
    if (status == CC_OK)
        *out = x;
    else
        merge_close(x);
    return status;
}
