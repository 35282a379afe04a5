/* ternary: three values, drawn so that their expectation is the gradient; with clipping, TernGrad.
 */
#include <math.h>

#include "core/reduce.h"
#include "schemes/base3.h"
#include "schemes/kernels/base3.h"
#include "schemes/scheme.h"

struct params {
    int64_t ef;
    double clip;
    int64_t zre;
};

static const struct cc_param table[] = {
    CC_PARAM_FLAG(struct params, ef, 0, "error feedback: send later what was rounded away"),
    CC_PARAM_REAL(struct params, clip, 0, 0, 1e6, "sigmas",
                  "limit values to so many standard deviations first (2.5 is TernGrad's), 0 for no "
                  "limit"),
    CC_PARAM_FLAG(struct params, zre, 0, "shorten runs of zeros (zero-run encoding)"),
    {.name = NULL},
};

static size_t bound(const void *params, const struct cc_shape *shape)
{
    (void)params;
    return cc_base3_bound(shape->n);
}

static size_t state_bytes(const void *params, const struct cc_shape *shape)
{
    const struct params *p = params;
    return p->ef ? cc_base3_residual(shape->n) : 0;
}

/* The largest magnitude's bits, and sigma, of x + r in one pass over memory. */
static uint32_t moments(const float *x, const float *r, size_t n, double *sigma)
{
    float both[CC_SUM_BLOCK];
    double sum = 0, squares = 0;
    uint32_t most = 0;
    for (size_t i = 0, count; i < n; i += count) {
        count = n - i < CC_SUM_BLOCK ? n - i : CC_SUM_BLOCK;
        const float *v = x + i;
        if (r != NULL) {
            for (size_t k = 0; k < count; k++)
                both[k] = x[i + k] + r[i + k];
            v = both;
        }
        uint32_t bits = k_reduce()->absmax(v, count);
        most = bits > most ? bits : most;
        sum += k_reduce()->sum(v, count);
        squares += k_reduce()->sum_sq(v, count);
    }
    double mean = sum / (double)n;
    *sigma = sqrt(fmax(0, squares / (double)n - mean * mean));
    return most;
}

/* The bits of m: the largest magnitude after clipping. Not finite if a value is not. */
static uint32_t scale_bits(const struct params *p, const float *x, const float *r, size_t n,
                           int threads)
{
    if (p->clip <= 0)
        return cc_absmax(x, r, n, threads);
    double sigma;
    uint32_t most = moments(x, r, n, &sigma);
    float limit = (float)(p->clip * sigma);
    if (!cc_finite_bits(most) || !(limit > 0))
        return most;
    return cc_f32_bits(fminf(limit, cc_bits_f32(most)));
}

struct drawing {
    const struct cc_context *ctx;
    const float *x;
    float *r;
    float m;
};

static void quantize(void *arg, size_t i, size_t count, ptrdiff_t next, uint8_t *bytes)
{
    const struct drawing *q = arg;
    for (size_t done = 0, piece; done < count; done += piece) {
        /* A key holds for the indices with the same upper 32 bits. */
        uint64_t index = q->ctx->offset + i + done;
        uint64_t room = (UINT64_C(1) << 32) - (uint32_t)index;
        piece = count - done < room ? count - done : (size_t)room;
        k_base3()->draw(q->x + i + done, q->r != NULL ? q->r + i + done : NULL, q->m,
                        cc_context_key(q->ctx, index, 0), (uint32_t)index, bytes + done, piece,
                        next - (ptrdiff_t)done);
    }
}

static struct cc_traffic traffic(const void *params)
{
    const struct params *p = params;
    return cc_traffic_two(p->ef != 0);
}

static int encode(const struct cc_codec *c, const struct cc_context *ctx, const float *x,
                  uint8_t *out, size_t cap, size_t *len, struct cc_error *e)
{
    (void)cap;
    const struct params *p = c->params;
    size_t n = c->shape.n;
    float *r = p->ef ? c->state : NULL;
    uint32_t bits = scale_bits(p, x, r, n, c->threads);
    if (!cc_finite_bits(bits))
        return cc_refuse(ctx, x, r, n, e);
    struct drawing q = {.ctx = ctx, .x = x, .r = r, .m = cc_bits_f32(bits)};
    *len = cc_base3_encode(q.m, quantize, &q, n, p->zre != 0, c->threads, out);
    return CC_OK;
}

static int decode(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                  size_t len, float *y, struct cc_error *e)
{
    (void)ctx;
    const struct params *p = c->params;
    return cc_base3_decode(in, len, c->shape.n, p->zre != 0, c->threads, y, e);
}

static int decode_add(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                      size_t len, float scale, float *y, struct cc_error *e)
{
    (void)ctx;
    const struct params *p = c->params;
    return cc_base3_decode_add(in, len, c->shape.n, p->zre != 0, c->threads, scale, y, e);
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
    .bound = bound,
    .traffic = traffic,
    .state_bytes = state_bytes,
    .encode = encode,
    .decode = decode,
    .decode_add = decode_add,
};
