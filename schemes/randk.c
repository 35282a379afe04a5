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
 * With draw=strata the tensor is cut into k strata of nearly equal length instead, one index is
 * drawn in each, and all are shifted cyclically by one random distance, so that every value is
 * equally likely although lengths differ by one. Such indices ascend (but for the one place where
 * the shift passes the end), take a tenth of the time, and lie more evenly.
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
#include "schemes/kernels/scatter.h"
#include "schemes/kernels/select.h"
#include "schemes/pairs.h"
#include "schemes/residual.h"
#include "schemes/selection.h"
#include "schemes/zeros.h"

struct params {
    int64_t ef;
    double density;
    int64_t draw;
};

enum { DRAW_ANY, DRAW_STRATA };
static const char *const draw_names[] = {"any", "strata", NULL};

static const struct cc_param table[] = {
    CC_PARAM_REAL(struct params, density, 0.01, 0, 1, "", "the share of the values that is sent",
                  .min_open = true),
    CC_PARAM_EF(1,
                "error feedback: keep what was not sent in a residual; without, values are scaled "
                "up so that their expectation is right"),
    CC_PARAM_CHOICE(
        struct params, draw, DRAW_ANY, draw_names,
        "which sets of indices: any, or strata: one index in each n/k values, in order, "
        "which is faster"),
    {.name = NULL},
};

/* Bits of half an index, at least: with fewer there are so few permutations that some sets of
 * indices would be drawn more often than others. */
#define LEAST_B 4

/* The least density of strata, which then have at most 2^20 values. */
#define LEAST_STRATA 1e-6

/* Strata are drawn in by 32 bits. */
static int check(const void *params, struct cc_error *e)
{
    const struct params *p = params;
    if (p->draw == DRAW_STRATA && p->density < LEAST_STRATA)
        return cc_usage(e, "density=%g with draw=strata: at least %g", p->density, LEAST_STRATA);
    return CC_OK;
}

static size_t bound(const void *params, const struct cc_shape *shape)
{
    const struct params *p = params;
    return cc_float_bytes(cc_density_count(p->density, shape->n));
}

/* --- drawing --- */

/* Draws do not depend on the rank. */
static struct cc_key shared_key(const struct cc_context *ctx, uint64_t number, uint64_t stream)
{
    struct cc_context shared = *ctx;
    shared.rank = -1;
    return cc_context_key(&shared, number, stream);
}

/* Numbers first .. end - 1. */
static struct cc_drawing draw_begin(const struct cc_context *ctx, size_t n, size_t first,
                                    size_t end)
{
    struct cc_drawing d = {.b = LEAST_B, .n = n, .next = first, .end = end};
    for (unsigned t = 0; t < CC_DRAW_ROUNDS; t++)
        d.key[t] = shared_key(ctx, 0, t);
    while (d.b < 31 && UINT64_C(1) << (2 * d.b) < n)
        d.b++;
    return d;
}

/* The strata of n values, k <= n of them; the key is that of the numbers below 2^32. */
static struct cc_strata strata_of(const struct cc_context *ctx, size_t n, size_t k)
{
    const struct cc_key key = shared_key(ctx, 0, 1);
    const uint64_t random = (uint64_t)cc_random(key, 0) << 32 | cc_random(key, 1);
    return (struct cc_strata){.key = shared_key(ctx, 0, 0),
                              .n = n,
                              .length = n / k,
                              .longer = n % k,
                              .shift = (uint64_t)((unsigned __int128)random * n >> 64)};
}

/* The numbers first .. end - 1, drawn either way. */
struct draws {
    bool strata;
    const struct cc_context *ctx;
    const float *values; /* prefetched at the indices, unless NULL */
    struct cc_drawing any;
    struct cc_strata each;
    uint64_t next, end; /* of strata */
};

static struct draws draws_of(const struct cc_context *ctx, bool strata, size_t n, size_t k,
                             size_t first, size_t end, const float *values)
{
    struct draws d = {.strata = strata, .ctx = ctx, .values = values, .next = first, .end = end};
    if (strata)
        d.each = strata_of(ctx, n, k);
    else
        d.any = draw_begin(ctx, n, first, end);
    d.any.values = values;
    return d;
}

/* Lists up to CC_DRAW_POOL more indices, and beside each its number; returns how many. The key of
 * strata changes where the number passes a multiple of 2^32. */
static size_t draw_more(struct draws *d, uint64_t *index, uint64_t *number)
{
    if (!d->strata)
        return k_draw()->draw(&d->any, index, number);
    const uint64_t left = d->end - d->next, same_key = cc_same_key(d->next);
    size_t m = left < CC_DRAW_POOL ? (size_t)left : CC_DRAW_POOL;
    m = m < same_key ? m : (size_t)same_key;
    if (d->next >> 32 != 0)
        d->each.key = shared_key(d->ctx, d->next, 0);
    k_draw()->strata(&d->each, d->next, m, d->values, index);
    for (size_t i = 0; i < m; i++)
        number[i] = d->next + i;
    d->next += m;
    return m;
}

/* --- parts --- */

struct job {
    const struct cc_context *ctx;
    size_t n, k;
    bool strata;
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
                        .strata = ((const struct params *)c->params)->draw == DRAW_STRATA,
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
    struct draws d = draws_of(j->ctx, j->strata, j->n, j->k, first, end, values);
    for (size_t i = 0; i <= AHEAD; i++)
        batch[i].count = draw_more(&d, batch[i].index, batch[i].number);
    for (size_t i = 0; batch[i].count > 0; i = (i + 1) % (AHEAD + 1)) {
        use(j, part, batch[i].index, batch[i].number, batch[i].count);
        batch[i].count = draw_more(&d, batch[i].index, batch[i].number);
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
        return cc_refuse_sum(ctx, cc_elements_f32(x + bad),
                             j.residual != NULL ? j.residual + bad : NULL, bad, m, e);
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
        k_scatter()->listed(NULL, NULL, 0, i, end, j->y);
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

/* Where stratum i <= k begins, after the shift, unless that passes n. */
static uint64_t stratum_begin(const struct cc_strata *s, uint64_t i)
{
    return i * s->length + (i < s->longer ? i : s->longer) + s->shift;
}

/* Sets the values of strata i .. i + m - 1, and clears the rest of them; `index` has theirs. */
static void set_strata(const struct job *j, const struct cc_strata *s, size_t i, size_t m,
                       const uint32_t *index)
{
    const uint8_t *values = j->in + sizeof(float) * i;
    size_t begin = stratum_begin(s, i), end = stratum_begin(s, i + m), low = 0, high = m;
    if (begin >= j->n) {
        begin -= j->n;
        end -= j->n;
    }
    if (end <= j->n) {
        k_scatter()->listed(index, values, m, begin, end, j->y);
        return;
    }
    while (low < high) { /* the first index that is shifted beyond the end */
        const size_t middle = low + (high - low) / 2;
        low = index[middle] >= begin ? middle + 1 : low;
        high = index[middle] >= begin ? high : middle;
    }
    k_scatter()->listed(index, values, low, begin, j->n, j->y);
    k_scatter()->listed(index + low, values + sizeof(float) * low, m - low, 0, end - j->n, j->y);
}

/* Strata whose indices are drawn together: in the first-level cache, and enough to pay for the
 * beginning and the end of a range of values. */
#define STRATA 2048

/* Within the cache, of strata: each part sets and clears its own. */
static void decode_strata_part(void *arg, int part)
{
    struct job *j = arg;
    const size_t first = cc_part_begin(j->k, j->draw_parts, part, 1);
    const size_t end = cc_part_begin(j->k, j->draw_parts, part + 1, 1);
    const struct cc_strata s = strata_of(j->ctx, j->n, j->k);
    uint32_t index[STRATA];
    for (size_t i = first, m; i < end; i += m) {
        m = cc_smaller(end - i, STRATA);
        k_draw()->strata_small(&s, (uint32_t)i, m, index);
        set_strata(j, &s, i, m, index);
    }
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
    if (scale == NULL && j.strata && j.n <= CC_STRATA_SMALL &&
        !cc_use_nontemporal(j.n * sizeof(float))) {
        cc_parallel(j.draw_parts, decode_strata_part, &j);
        return CC_OK;
    }
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
    struct draws d = draws_of(ctx, j.strata, j.n, j.k, 0, j.k, NULL);
    uint64_t index[CC_DRAW_POOL], number[CC_DRAW_POOL];
    for (size_t m, first = 0; (m = draw_more(&d, index, number)) > 0; first += m)
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
    .check = check,
    .bound = bound,
    .traffic = traffic,
    .state_bytes = cc_ef_state_bytes,
    .encode = encode,
    .decode = decode,
    .pair_cost = pair_cost,
    .to_pairs = to_pairs,
};
