/* 3lc: 3-value quantization with sparsity multiplication, base-3^5 encoding, zero-run encoding.
 *
 * With x = gradient + residual and m = s max|x|, every value becomes round(x / m), one of -1, 0, 1,
 * and decodes to m times that; the residual keeps the difference. The sparsity multiplier s, 1 <= s
 * < 2, raises m and so the number of zeros. The division is a comparison: |x| >= m / 2 gives +-1,
 * ties away from zero. No error exceeds m / 2 < max|x|.
 *
 * Five trits make a byte, and runs of bytes of zeros are shortened (base3.c), so that a payload
 * has 1.6 bits a value or less. Two passes: the largest magnitude, then quantization, residual and
 * packing. With block, values in blocks have an m each, as one outlier otherwise holds back a whole
 * tensor (an embedding's largest value is 25 times its root mean square).
 *
 * Source: Lim, Andersen, Kaminsky, 3LC, MLSys 2019, sections 3.1 to 3.3. */
#include <float.h>
#include <math.h>

#include "schemes/base3.h"
#include "schemes/kernels/base3.h"
#include "schemes/residual.h"
#include "schemes/scheme.h"

struct params {
    struct cc_base3_params base3;
    double s;
};

static const struct cc_param table[] = {
    CC_PARAM_REAL(struct params, s, 1.0, 1.0, 2.0, "",
                  "sparsity multiplier: the larger, the more zeros and the smaller the payload",
                  .max_open = true),
    CC_PARAM_FLAG(struct cc_base3_params, zre, 1, "shorten runs of zeros (zero-run encoding)"),
    CC_PARAM_EF(1, "error feedback: send later what was rounded away"),
    CC_PARAM_BASE3_BLOCK,
    {.name = NULL},
};

struct rounding {
    struct cc_elements x;
    float *r;
};

static float scale_of(const void *params, float most)
{
    const struct params *p = params;
    return fminf((float)p->s * most, FLT_MAX);
}

static void quantize(void *arg, size_t i, size_t count, float m, uint8_t weight, uint8_t *bytes)
{
    const struct rounding *q = arg;
    float room[CC_BASE3_MOST];
    const float *x = cc_elements_read(q->x, i, count, room);
    /* Zeros must become trit 0, also if all values are zero or half of m rounds to zero. */
    const float half = m > 0 ? fmaxf(m * 0.5f, FLT_TRUE_MIN) : INFINITY;
    k_base3()->round(x, q->r != NULL ? q->r + i : NULL, m, half, weight, bytes, count);
}

static int encode_from(const struct cc_codec *c, const struct cc_context *ctx, struct cc_elements x,
                       uint8_t *out, size_t cap, size_t *len, struct cc_error *e)
{
    (void)cap;
    float *r = cc_ef_residual(c);
    if (!cc_base3_scales(c, x, r, scale_of, out))
        return cc_refuse_from(ctx, x, r, c->shape.n, e);
    struct rounding q = {.x = x, .r = r};
    *len = cc_base3_encode(c, quantize, &q, x, r, out);
    return CC_OK;
}

const struct cc_scheme cc_scheme_threelc = {
    .id = "3lc",
    .title = "three values, sparsity multiplier, zero runs",
    .reference = "Lim, Andersen, Kaminsky: 3LC, MLSys 2019, section 3",
    .layout = "f32 m of each block, then ceil(n/5) bytes of five trits in five planes; runs of 2 "
              "to 14 zero bytes "
              "(121) as one byte (243 to 255)",
    .flags = CC_LOSSY | CC_FEEDBACK,
    .kind = CC_OPAQUE,
    .params = table,
    .params_bytes = sizeof(struct params),
    .bound = cc_base3_bound,
    .traffic = cc_base3_traffic,
    .state_bytes = cc_ef_state_bytes,
    .encode_from = encode_from,
    .decode = cc_base3_decode,
};
