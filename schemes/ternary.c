/* ternary: -m, 0 or m for each value, drawn so that the expectation is the value.
 *
 * m is the largest magnitude of the tensor. A value becomes sign(x) m with probability |x| / m,
 * else 0. With clip > 0 values are first limited to clip standard deviations (TernGrad's gradient
 * clipping, 2.5), which lowers m and with it the variance. Trits are packed five to a byte, with
 * zero-run encoding if zre=1 (base3.c). Unbiased without a residual; ef=1 adds one.
 *
 * Two passes: the largest magnitude (with clipping also mean and variance, over a fixed sum tree in
 * scratch memory), then drawing and packing.
 *
 * Source: Wen et al., TernGrad, NIPS 2017, section 3; as "Stoch 3-value b-3-5" in 3LC, section 4.2.
 */
#include <math.h>

#include "core/parallel.h"
#include "core/reduce.h"
#include "schemes/base3.h"
#include "schemes/kernels/base3.h"
#include "schemes/residual.h"
#include "schemes/scheme.h"

struct params {
    struct cc_base3_params base3;
    double clip;
};

static const struct cc_param table[] = {
    CC_PARAM_EF(0, "error feedback: send later what was rounded away"),
    CC_PARAM_REAL(struct params, clip, 0, 0, 1e6, "sigmas",
                  "first limit values to this many standard deviations (TernGrad: 2.5), 0 for no "
                  "limit"),
    CC_PARAM_FLAG(struct cc_base3_params, zre, 0, "shorten runs of zeros (zero-run encoding)"),
    {.name = NULL},
};

static size_t scratch_bytes(const void *params, const struct cc_shape *shape)
{
    const struct params *p = params;
    return p->clip > 0 ? cc_sum_blocks(shape->n) * sizeof(struct cc_moments) : 0;
}

struct reading {
    const float *x, *r;        /* r may be NULL */
    struct cc_moments *blocks; /* by CC_SUM_BLOCK */
};

static size_t moments_range(void *arg, size_t begin, size_t end)
{
    const struct reading *w = arg;
    for (size_t i = begin, m; i < end; i += m) {
        m = end - i < CC_SUM_BLOCK ? end - i : CC_SUM_BLOCK;
        k_reduce()->moments(w->x + i, w->r == NULL ? NULL : w->r + i, m,
                            &w->blocks[i / CC_SUM_BLOCK]);
    }
    return 0;
}

/* The bits of the largest magnitude of x + r, and its standard deviation, in one pass. */
static uint32_t moments(const struct cc_codec *c, const float *x, const float *r, double *sigma)
{
    size_t n = c->shape.n;
    struct reading w = {.x = x, .r = r, .blocks = c->scratch};
    (void)cc_parallel_values(c->threads, n, CC_SUM_BLOCK, moments_range, &w);
    struct cc_moments all = {0};
    for (size_t b = 0; b < cc_sum_blocks(n); b++) {
        all.sum += w.blocks[b].sum;
        all.sum_sq += w.blocks[b].sum_sq;
        all.absmax = w.blocks[b].absmax > all.absmax ? w.blocks[b].absmax : all.absmax;
    }
    double mean = all.sum / (double)n;
    *sigma = sqrt(fmax(0, all.sum_sq / (double)n - mean * mean));
    return all.absmax;
}

/* The bits of m, the largest magnitude after clipping; not finite if a value is not. */
static uint32_t scale_bits(const struct cc_codec *c, const float *x, const float *r)
{
    const struct params *p = c->params;
    if (p->clip <= 0)
        return cc_absmax(x, r, c->shape.n, c->threads);
    double sigma;
    uint32_t most = moments(c, x, r, &sigma);
    float limit = (float)(p->clip * sigma);
    if (!cc_finite_bits(most) || !(limit > 0))
        return most;
    return cc_f32_bits(fminf(limit, cc_bits_f32(most)));
}

struct drawing {
    const struct cc_context *ctx;
    struct cc_key key; /* the first value's, and most others' */
    const float *x;
    float *r;
    float m;
};

static void quantize(void *arg, size_t i, size_t count, uint8_t weight, uint8_t *bytes)
{
    const struct drawing *q = arg;
    for (size_t done = 0, batch; done < count; done += batch) {
        /* The key changes where the index passes a multiple of 2^32. */
        uint64_t index = q->ctx->offset + i + done;
        uint64_t room = cc_same_key(index);
        batch = count - done < room ? count - done : (size_t)room;
        k_base3()->draw(q->x + i + done, q->r != NULL ? q->r + i + done : NULL, q->m,
                        cc_context_key_near(q->ctx, q->key, index), (uint32_t)index, weight,
                        bytes + done, batch);
    }
}

static int encode(const struct cc_codec *c, const struct cc_context *ctx, const float *x,
                  uint8_t *out, size_t cap, size_t *len, struct cc_error *e)
{
    (void)cap;
    size_t n = c->shape.n;
    float *r = cc_ef_residual(c);
    uint32_t bits = scale_bits(c, x, r);
    if (!cc_finite_bits(bits))
        return cc_refuse(ctx, x, r, n, e);
    struct drawing q = {.ctx = ctx,
                        .key = cc_context_key(ctx, ctx->offset, 0),
                        .x = x,
                        .r = r,
                        .m = cc_bits_f32(bits)};
    *len = cc_base3_encode(c, q.m, quantize, &q, x, r, out);
    return CC_OK;
}

const struct cc_scheme cc_scheme_ternary = {
    .id = "ternary",
    .title = "three values, drawn at random",
    .reference = "Wen et al.: TernGrad, NIPS 2017, section 3; packed as in 3LC, section 3.2",
    .layout = "f32 m, then ceil(n/5) bytes of five trits in five planes; with zre=1 runs of zero "
              "bytes as in 3lc",
    .flags = CC_LOSSY | CC_STOCHASTIC | CC_FEEDBACK | CC_UNBIASED,
    .kind = CC_OPAQUE,
    .params = table,
    .params_bytes = sizeof(struct params),
    .bound = cc_base3_bound,
    .traffic = cc_ef_twice,
    .state_bytes = cc_ef_state_bytes,
    .scratch_bytes = scratch_bytes,
    .encode = encode,
    .decode = cc_base3_decode,
};
