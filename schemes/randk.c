/* randk: values at random indices that both sides draw alike. */
#include <math.h>

#include "core/memory.h"
#include "core/reduce.h"
#include "schemes/kernels/draw.h"
#include "schemes/kernels/select.h"
#include "schemes/pairs.h"
#include "schemes/scheme.h"
#include "schemes/selection.h"

struct params {
    double density;
    int64_t ef;
};

static const struct cc_param table[] = {
    CC_PARAM_REAL(struct params, density, 0.01, 0, 1, "", "the part of the values that is sent",
                  .min_open = true),
    CC_PARAM_FLAG(
        struct params, ef, 1,
        "error feedback: keep what was not sent in a residual; without, values are scaled "
        "up so that their mean is right"),
    {.name = NULL},
};

#define BATCH 1024

/* Four rounds over fewer bits draw some sets of indices more often than others. */
#define LEAST_B 4

static size_t bound(const void *params, const struct cc_shape *shape)
{
    const struct params *p = params;
    size_t bytes;
    return cc_mul(cc_density_count(p->density, shape->n), sizeof(float), &bytes) ? bytes : SIZE_MAX;
}

static size_t state_bytes(const void *params, const struct cc_shape *shape)
{
    const struct params *p = params;
    size_t bytes;
    if (!p->ef)
        return 0;
    return cc_mul(shape->n, sizeof(float), &bytes) ? bytes : SIZE_MAX;
}

/* --- drawing --- */

struct draw {
    struct cc_key key[CC_DRAW_ROUNDS];
    unsigned b;
    uint64_t n;
};

static struct draw draw_begin(const struct cc_context *ctx, size_t n)
{
    struct draw d = {.b = LEAST_B, .n = n};
    struct cc_context shared = *ctx;
    shared.rank = -1;
    for (unsigned t = 0; t < CC_DRAW_ROUNDS; t++)
        d.key[t] = cc_context_key(&shared, 0, t);
    while (d.b < 31 && UINT64_C(1) << (2 * d.b) < n)
        d.b++;
    return d;
}

/* out[i] = the index drawn as number first + i, for i < count <= BATCH. */
static void draw(const struct draw *d, size_t first, size_t count, uint64_t *out)
{
    uint64_t v[BATCH];
    uint16_t slot[BATCH];
    for (size_t i = 0; i < count; i++) {
        v[i] = first + i;
        slot[i] = (uint16_t)i;
    }
    for (size_t walking = count; walking > 0;) {
        k_draw()->permute(d->key, d->b, v, walking);
        size_t still = 0; /* those beyond n walk on */
        for (size_t i = 0; i < walking; i++) {
            uint64_t at = v[i];
            uint16_t s = slot[i];
            out[s] = at;
            v[still] = at;
            slot[still] = s;
            still += at >= d->n;
        }
        walking = still;
    }
}

static size_t batch_at(size_t first, size_t k)
{
    return k - first < BATCH ? k - first : BATCH;
}

/* --- the scheme --- */

/* residual = x + residual, or a mere look at x: both refuse what is not finite. */
static int load(const struct cc_context *ctx, const float *x, float *residual, size_t n,
                struct cc_error *e)
{
    for (size_t i = 0; i < n; i += CC_SELECT_BLOCK) {
        size_t m = n - i < CC_SELECT_BLOCK ? n - i : CC_SELECT_BLOCK;
        uint32_t most = residual != NULL ? k_select()->add(x + i, residual + i, m)
                                         : k_reduce()->absmax(x + i, m);
        if (!cc_finite_bits(most))
            return cc_refuse_sum(ctx, x + i, residual != NULL ? residual + i : x + i, i, m, e);
    }
    return CC_OK;
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
    const struct params *p = c->params;
    size_t n = c->shape.n, k = cc_density_count(p->density, n);
    float *residual = p->ef ? c->state : NULL;
    float scale = (float)((double)n / (double)k);
    uint64_t index[BATCH];
    if (load(ctx, x, residual, n, e) != CC_OK)
        return CC_FAIL;
    struct draw d = draw_begin(ctx, n);
    for (size_t first = 0; first < k; first += BATCH) {
        size_t m = batch_at(first, k);
        draw(&d, first, m, index);
        for (size_t j = 0; residual != NULL && j < m; j++) {
            cc_put_f32(out + sizeof(float) * (first + j), residual[index[j]]);
            residual[index[j]] = 0;
        }
        for (size_t j = 0; residual == NULL && j < m; j++) {
            float v = x[index[j]] * scale;
            if (!cc_finite(v))
                return cc_fail(e,
                               "tensor '%s', step %llu: the value at index %llu (%g) overflows "
                               "when scaled by %g; use ef=1 or a higher density",
                               ctx->name != NULL ? ctx->name : "?", (unsigned long long)ctx->step,
                               (unsigned long long)(ctx->offset + index[j]), (double)x[index[j]],
                               (double)scale);
            cc_put_f32(out + sizeof(float) * (first + j), v);
        }
    }
    *len = sizeof(float) * k;
    return CC_OK;
}

static int decode(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                  size_t len, float *y, struct cc_error *e)
{
    size_t n = c->shape.n, k = bound(c->params, &c->shape) / sizeof(float);
    uint64_t index[BATCH];
    if (len != sizeof(float) * k)
        return cc_bad_length(len, sizeof(float) * k, e);
    struct draw d = draw_begin(ctx, n);
    memset(y, 0, n * sizeof *y);
    for (size_t first = 0; first < k; first += BATCH) {
        size_t m = batch_at(first, k);
        draw(&d, first, m, index);
        for (size_t j = 0; j < m; j++)
            y[index[j]] = cc_get_f32(in + sizeof(float) * (first + j));
    }
    return CC_OK;
}

static int decode_add(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                      size_t len, float scale, float *y, struct cc_error *e)
{
    size_t n = c->shape.n, k = bound(c->params, &c->shape) / sizeof(float);
    uint64_t index[BATCH];
    if (len != sizeof(float) * k)
        return cc_bad_length(len, sizeof(float) * k, e);
    struct draw d = draw_begin(ctx, n);
    for (size_t first = 0; first < k; first += BATCH) {
        size_t m = batch_at(first, k);
        draw(&d, first, m, index);
        for (size_t j = 0; j < m; j++) {
            float v = cc_get_f32(in + sizeof(float) * (first + j));
            y[index[j]] = cc_add_scaled(y[index[j]], scale, v);
        }
    }
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
    .state_bytes = state_bytes,
    .encode = encode,
    .decode = decode,
    .decode_add = decode_add,
};
