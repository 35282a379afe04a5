/* randk: values at k = ceil(density n) random indices, which all workers draw alike.
 *
 * As everyone draws the same indices, the payload is the k values alone, in the order of drawing,
 * and payloads of different workers may be summed by any allreduce.
 *
 * Drawing without repetition, memory or order: index number j is the image of j under a keyed
 * permutation of [0, n). The permutation is a Feistel network of eight rounds over 2b bits, the
 * smallest even number of bits that holds n; images beyond n are mapped again until they fall below
 * (cycle walking). The key leaves out the rank. So threads can share the draws, and to_pairs only
 * has to sort. Within a part, indices come in any order, each with its number.
 *
 * The indices of a batch are computed while the values of the batch before arrive from memory.
 *
 * With ef=1 the rest stays in the residual; with ef=0 values are scaled up by n / k, so that their
 * expectation is the gradient.
 *
 * Source: Stich et al., Sparsified SGD with Memory, NeurIPS 2018, section 2 (rand_k). */
#include <math.h>
#include <string.h>

#include "core/cache.h"
#include "core/memory.h"
#include "core/parallel.h"
#include "core/reduce.h"
#include "schemes/kernels/draw.h"
#include "schemes/kernels/select.h"
#include "schemes/pairs.h"
#include "schemes/residual.h"
#include "schemes/selection.h"
#include "schemes/zeros.h"

struct params {
    int64_t ef;
    double density;
};

static const struct cc_param table[] = {
    CC_PARAM_REAL(struct params, density, 0.01, 0, 1, "", "the share of the values that is sent",
                  .min_open = true),
    CC_PARAM_EF(1,
                "error feedback: keep what was not sent in a residual; without, values are scaled "
                "up so that their expectation is right"),
    {.name = NULL},
};

/* Bits of half an index, at least: with fewer there are so few permutations that some sets of
 * indices would be drawn more often than others. */
#define LEAST_B 4

static size_t bound(const void *params, const struct cc_shape *shape)
{
    const struct params *p = params;
    return cc_float_bytes(cc_density_count(p->density, shape->n));
}

/* --- drawing --- */

/* Numbers first .. end - 1. */
static struct cc_drawing draw_begin(const struct cc_context *ctx, size_t n, size_t first,
                                    size_t end)
{
    struct cc_drawing d = {.b = LEAST_B, .n = n, .next = first, .end = end};
    struct cc_context shared = *ctx;
    shared.rank = -1;
    for (unsigned t = 0; t < CC_DRAW_ROUNDS; t++)
        d.key[t] = cc_context_key(&shared, 0, t);
    while (d.b < 31 && UINT64_C(1) << (2 * d.b) < n)
        d.b++;
    return d;
}

/* --- parts --- */

struct job {
    const struct cc_context *ctx;
    size_t n, k;
    int threads, draw_parts; /* passes over the draws have parts of their own */
    /* encode */
    const float *x;
    float *residual;
    uint8_t *out;
    float factor;
    size_t bad[CC_PARTS_MAX]; /* by part of the draws: the lowest index whose value overflows; n:
                                 none */
    /* decode */
    const uint8_t *in;
    const float *scale; /* NULL: values are set, not added */
    float *y;
};

#define LEAST_DRAWS ((size_t)8192) /* a thread's least share: it would not pay for fewer */

static struct job make_job(const struct cc_codec *c, const struct cc_context *ctx)
{
    size_t n = c->shape.n, k = bound(c->params, &c->shape) / sizeof(float);
    return (struct job){.ctx = ctx,
                        .n = n,
                        .k = k,
                        .threads = c->threads,
                        .draw_parts = cc_parts(c->threads, k, LEAST_DRAWS)};
}

/* Batches that are drawn before the first one is used, while its values arrive. */
#define AHEAD 2

/* Draws the indices of a part in batches and calls use() for each, with the numbers of its draws.
 * The places in `values` are prefetched. */
static void for_draws(struct job *j, int part, const float *values,
                      void (*use)(struct job *j, int part, const uint64_t *index,
                                  const uint64_t *number, size_t count))
{
    struct {
        uint64_t index[CC_DRAW_POOL], number[CC_DRAW_POOL];
        size_t count;
    } batch[AHEAD + 1];
    const size_t first = cc_part_begin(j->k, j->draw_parts, part, 1);
    const size_t end = cc_part_begin(j->k, j->draw_parts, part + 1, 1);
    struct cc_drawing d = draw_begin(j->ctx, j->n, first, end);
    d.values = values;
    for (size_t i = 0; i <= AHEAD; i++)
        batch[i].count = k_draw()->draw(&d, batch[i].index, batch[i].number);
    for (size_t i = 0; batch[i].count > 0; i = (i + 1) % (AHEAD + 1)) {
        use(j, part, batch[i].index, batch[i].number, batch[i].count);
        batch[i].count = k_draw()->draw(&d, batch[i].index, batch[i].number);
    }
}

/* --- encoding --- */

/* Adds x to the residual, if there is one. Returns the number of values from the first block on in
 * which one is not finite. */
static size_t add_range(void *arg, size_t i, size_t end)
{
    const struct job *j = arg;
    for (; i < end; i += CC_SELECT_BLOCK) {
        size_t m = end - i < CC_SELECT_BLOCK ? end - i : CC_SELECT_BLOCK;
        uint32_t most = j->residual != NULL ? k_select()->add(j->x + i, j->residual + i, m)
                                            : k_reduce()->absmax(j->x + i, m);
        if (!cc_finite_bits(most))
            return j->n - i;
    }
    return 0;
}

static void encode_batch(struct job *j, int part, const uint64_t *index, const uint64_t *number,
                         size_t count)
{
    for (size_t i = 0; j->residual != NULL && i < count; i++) {
        cc_put_f32(j->out + sizeof(float) * number[i], j->residual[index[i]]);
        j->residual[index[i]] = 0;
    }
    for (size_t i = 0; j->residual == NULL && i < count; i++) {
        float v = j->x[index[i]] * j->factor;
        cc_put_f32(j->out + sizeof(float) * number[i], v);
        if (!cc_finite(v) && index[i] < j->bad[part])
            j->bad[part] = index[i];
    }
}

static void draw_values_part(void *arg, int part)
{
    struct job *j = arg;
    j->bad[part] = j->n;
    for_draws(j, part, j->residual != NULL ? j->residual : j->x, encode_batch);
}

static struct cc_traffic traffic(const void *params)
{
    const struct params *p = params;
    return p->ef != 0 ? cc_traffic_one(1) : (struct cc_traffic){.passes = 0};
}

static int encode(const struct cc_codec *c, const struct cc_context *ctx, const float *x,
                  uint8_t *out, size_t cap, size_t *len, struct cc_error *e)
{
    (void)cap;
    struct job j = make_job(c, ctx);
    j.x = x;
    j.residual = cc_ef_residual(c);
    j.out = out;
    j.factor = (float)((double)j.n / (double)j.k);
    size_t left = cc_parallel_values(j.threads, j.n, CC_SELECT_BLOCK, add_range, &j),
           bad = j.n - left;
    if (left > 0) {
        size_t m = left < CC_SELECT_BLOCK ? left : CC_SELECT_BLOCK;
        return cc_refuse_sum(ctx, x + bad, (j.residual != NULL ? j.residual : x) + bad, bad, m, e);
    }
    cc_parallel(j.draw_parts, draw_values_part, &j);
    for (int d = 0; d < j.draw_parts; d++)
        bad = j.bad[d] < bad ? j.bad[d] : bad;
    if (bad < j.n)
        return cc_fail(e,
                       "tensor '%s', step %llu: the value at index %llu (%g) overflows when scaled "
                       "by %g; use ef=1 or a higher density",
                       ctx->name != NULL ? ctx->name : "?", (unsigned long long)ctx->step,
                       (unsigned long long)(ctx->offset + bad), (double)x[bad], (double)j.factor);
    *len = sizeof(float) * j.k;
    return CC_OK;
}

/* --- decoding --- */

static size_t clear_range(void *arg, size_t i, size_t end)
{
    const struct job *j = arg;
    if (!cc_use_nontemporal(j->n * sizeof(float))) {
        memset(j->y + i, 0, (end - i) * sizeof(float));
        return 0;
    }
    struct cc_zeros z;
    cc_zeros_open(&z, j->y + i, j->n * sizeof(float), 0);
    for (; i < end; i += CC_ZEROS_BLOCK)
        (void)cc_zeros_next(&z, end - i < CC_ZEROS_BLOCK ? end - i : CC_ZEROS_BLOCK);
    cc_zeros_close(&z);
    return 0;
}

static void decode_batch(struct job *j, int part, const uint64_t *index, const uint64_t *number,
                         size_t count)
{
    (void)part;
    for (size_t i = 0; j->scale == NULL && i < count; i++)
        j->y[index[i]] = cc_get_f32(j->in + sizeof(float) * number[i]);
    for (size_t i = 0; j->scale != NULL && i < count; i++)
        j->y[index[i]] =
            cc_add_scaled(j->y[index[i]], *j->scale, cc_get_f32(j->in + sizeof(float) * number[i]));
}

static void decode_part(void *arg, int part)
{
    struct job *j = arg;
    for_draws(j, part, j->y, decode_batch);
}

static int decode(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                  size_t len, const float *scale, float *y, struct cc_error *e)
{
    struct job j = make_job(c, ctx);
    if (len != sizeof(float) * j.k)
        return cc_bad_length(len, sizeof(float) * j.k, e);
    j.in = in;
    j.scale = scale;
    j.y = y;
    if (scale == NULL)
        (void)cc_parallel_values(j.threads, j.n, CC_ZEROS_BLOCK, clear_range, &j);
    cc_parallel(j.draw_parts, decode_part, &j);
    return CC_OK;
}

/* --- reading as pairs: both sides know the indices, so that only the values take room --- */

static struct cc_pair_cost pair_cost(const void *params)
{
    (void)params;
    return (struct cc_pair_cost){.pair_bits = 8 * sizeof(float)};
}

static int to_pairs(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                    size_t len, uint32_t base, struct cc_index_value *out, size_t cap,
                    size_t *count, struct cc_error *e)
{
    const struct job j = make_job(c, ctx);
    if (len != sizeof(float) * j.k)
        return cc_bad_length(len, sizeof(float) * j.k, e);
    CC_TRY(cc_check_pairs_room(j.k, cap, e));
    struct cc_drawing d = draw_begin(ctx, j.n, 0, j.k);
    uint64_t index[CC_DRAW_POOL], number[CC_DRAW_POOL];
    for (size_t m, first = 0; (m = k_draw()->draw(&d, index, number)) > 0; first += m)
        for (size_t i = 0; i < m; i++)
            out[first + i] = (struct cc_index_value){(uint32_t)index[i],
                                                     cc_get_f32(in + sizeof(float) * number[i])};
    cc_pairs_sort(out, j.k, j.n);
    for (size_t i = 0; i < j.k; i++)
        out[i].index += base;
    *count = j.k;
    return CC_OK;
}

const struct cc_scheme cc_scheme_randk = {
    .id = "randk",
    .title = "random sparsification",
    .reference = "Stich et al., Sparsified SGD with Memory, NeurIPS 2018, section 2",
    .layout = "k x f32, at indices that both sides draw",
    .flags = CC_LOSSY | CC_STOCHASTIC | CC_FEEDBACK | CC_UNBIASED | CC_SPARSE,
    .kind = CC_SUM_F32,
    .params = table,
    .params_bytes = sizeof(struct params),
    .bound = bound,
    .traffic = traffic,
    .state_bytes = cc_ef_state_bytes,
    .encode = encode,
    .decode = decode,
    .pair_cost = pair_cost,
    .to_pairs = to_pairs,
};
