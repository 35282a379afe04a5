/* ternary: -m, 0 or m for each value, drawn so that the expectation is the value.
 *
 * m is the largest magnitude of the tensor. A value becomes sign(x) m with probability |x| / m,
 * else 0. With clip > 0 values are first limited to clip standard deviations (TernGrad's gradient
 * clipping, 2.5), which lowers m and with it the variance. Trits are packed five to a byte, with
 * zero-run encoding if zre=1 (base3.c). With block, values in blocks have an m each. Unbiased
 * without a residual; ef=1 adds one.
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
    CC_PARAM_BASE3_BLOCK,
    {.name = NULL},
};

static size_t scratch_bytes(const void *params, const struct cc_shape *shape)
{
    const struct params *p = params;
    return p->clip > 0 ? cc_sum_blocks(shape->n) * sizeof(struct cc_moments) : 0;
}

static int check(const void *params, struct cc_error *e)
{
    const struct params *p = params;
    return p->clip > 0 && p->base3.block > 0
               ? cc_usage(e, "clip limits to deviations of the whole tensor: it goes with block=0")
               : CC_OK;
}

static float largest(const void *params, float most)
{
    (void)params;
    return most;
}

struct reading {
    struct cc_elements x;
    const float *r;            /* may be NULL */
    struct cc_moments *blocks; /* by CC_SUM_BLOCK */
};

static size_t moments_range(void *arg, size_t begin, size_t end)
{
    const struct reading *w = arg;
    float room[CC_SUM_BLOCK];
    for (size_t i = begin, m; i < end; i += m) {
        m = end - i < CC_SUM_BLOCK ? end - i : CC_SUM_BLOCK;
        k_reduce()->moments(cc_elements_read(w->x, i, m, room), w->r == NULL ? NULL : w->r + i, m,
                            &w->blocks[i / CC_SUM_BLOCK]);
    }
    return 0;
}

/* The bits of the largest magnitude of x + r, and its standard deviation, in one pass. */
static uint32_t moments(const struct cc_codec *c, struct cc_elements x, const float *r,
                        double *sigma)
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

/* Writes m, the largest magnitude of each block, or of the tensor after clipping; false if a value
 * is not finite. */
static bool put_scales(const struct cc_codec *c, struct cc_elements x, const float *r, uint8_t *out)
{
    const struct params *p = c->params;
    if (p->clip <= 0)
        return cc_base3_scales(c, x, r, largest, out);
    double sigma;
    const uint32_t most = moments(c, x, r, &sigma);
    const float limit = (float)(p->clip * sigma), m = cc_bits_f32(most);
    if (!cc_finite_bits(most))
        return false;
    cc_put_f32(out, limit > 0 ? fminf(limit, m) : m);
    return true;
}

struct drawing {
    const struct cc_context *ctx;
    struct cc_key key; /* the first value's, and most others' */
    struct cc_elements x;
    float *r;
};

static void quantize(void *arg, size_t i, size_t count, float m, uint8_t weight, uint8_t *bytes)
{
    const struct drawing *q = arg;
    float wide[CC_BASE3_MOST];
    const float *x = cc_elements_read(q->x, i, count, wide);
    for (size_t done = 0, batch; done < count; done += batch) {
        /* The key changes where the index passes a multiple of 2^32. */
        uint64_t index = q->ctx->offset + i + done;
        uint64_t room = cc_same_key(index);
        batch = count - done < room ? count - done : (size_t)room;
        k_base3()->draw(x + done, q->r != NULL ? q->r + i + done : NULL, m,
                        cc_context_key_near(q->ctx, q->key, index), (uint32_t)index, weight,
                        bytes + done, batch);
    }
}

static int encode_from(const struct cc_codec *c, const struct cc_context *ctx, struct cc_elements x,
                       uint8_t *out, size_t cap, size_t *len, struct cc_error *e)
{
    (void)cap;
    float *r = cc_ef_residual(c);
    if (!put_scales(c, x, r, out))
        return cc_refuse_from(ctx, x, r, c->shape.n, e);
    struct drawing q = {.ctx = ctx, .key = cc_context_key(ctx, ctx->offset, 0), .x = x, .r = r};
    *len = cc_base3_encode(c, quantize, &q, x, r, out);
    return CC_OK;
}

const struct cc_scheme cc_scheme_ternary = {
    .id = "ternary",
    .title = "three values, drawn at random",
    .reference = "Wen et al.: TernGrad, NIPS 2017, section 3; packed as in 3LC, section 3.2",
    .layout = "f32 m of each block, then ceil(n/5) bytes of five trits in five planes; with zre=1 "
              "runs of zero "
              "bytes as in 3lc",
    .flags = CC_LOSSY | CC_STOCHASTIC | CC_FEEDBACK | CC_UNBIASED,
    .kind = CC_OPAQUE,
    .params = table,
    .params_bytes = sizeof(struct params),
    .check = check,
    .bound = cc_base3_bound,
    .traffic = cc_base3_traffic,
    .state_bytes = cc_ef_state_bytes,
    .scratch_bytes = scratch_bytes,
    .encode_from = encode_from,
    .decode = cc_base3_decode,
};
