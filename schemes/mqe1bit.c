/* mqe1bit: one bit a value; each of the two classes is sent as its mean, which makes the squared
 * error as small as it can be. */
#include "core/bytes.h"
#include "schemes/kernels/onebit.h"
#include "schemes/scheme.h"

struct params {
    int64_t ef, block;
};

static const struct cc_param table[] = {
    CC_PARAM_FLAG(struct params, ef, 1, "error feedback: keep what was not sent in a residual"),
    CC_PARAM_INT(struct params, block, 0, 0, 1e9, "values",
                 "how many values share two means (0: the whole tensor)"),
    {.name = NULL},
};

static size_t bit_bytes(size_t n)
{
    return n / 8 + (n % 8 != 0);
}

static size_t block_length(const struct params *p, size_t n)
{
    return p->block == 0 || (size_t)p->block > n ? n : (size_t)p->block;
}

static size_t bound(const void *params, const struct cc_shape *shape)
{
    if (shape->n == 0)
        return 0;
    size_t block = block_length(params, shape->n), bytes;
    if (__builtin_mul_overflow(shape->n / block, 2 * sizeof(float) + bit_bytes(block), &bytes))
        return SIZE_MAX;
    size_t rest = shape->n % block;
    if (rest > 0 && __builtin_add_overflow(bytes, 2 * sizeof(float) + bit_bytes(rest), &bytes))
        return SIZE_MAX;
    return bytes;
}

static size_t state_bytes(const void *params, const struct cc_shape *shape)
{
    const struct params *p = params;
    return p->ef ? shape->n * sizeof(float) : 0;
}

static float mean(double sum, size_t count)
{
    return count == 0 ? 0 : (float)(sum / (double)count);
}

static struct cc_traffic traffic(const void *params)
{
    const struct params *p = params;
    return p->block == 0 ? cc_traffic_two(p->ef != 0) : cc_traffic_one(p->ef != 0);
}

static int encode(const struct cc_codec *c, const struct cc_context *ctx, const float *x,
                  uint8_t *out, size_t cap, size_t *len, struct cc_error *e)
{
    (void)cap;
    const struct params *p = c->params;
    size_t n = c->shape.n, block = block_length(p, n);
    float *residual = p->ef ? c->state : NULL;
    uint8_t *to = out;
    for (size_t i = 0, m; i < n; i += m) {
        m = n - i < block ? n - i : block;
        float *r = residual == NULL ? NULL : residual + i;
        struct cc_classes sums;
        k_onebit()->classes(x + i, r, m, &sums);
        if (!__builtin_isfinite(sums.minus) || !__builtin_isfinite(sums.plus)) {
            struct cc_context at = *ctx;
            at.offset += i;
            return cc_refuse(&at, x + i, r, m, e);
        }
        float minus = mean(sums.minus, sums.negatives);
        float plus = mean(sums.plus, m - sums.negatives);
        cc_put_f32(to, minus);
        cc_put_f32(to + 4, plus);
        k_onebit()->pack(x + i, r, minus, plus, m, to + 8);
        to += 8 + bit_bytes(m);
    }
    *len = (size_t)(to - out);
    return CC_OK;
}

static int read_means(const uint8_t *in, size_t at, float *minus, float *plus, struct cc_error *e)
{
    *minus = cc_get_f32(in + at);
    *plus = cc_get_f32(in + at + 4);
    if (!cc_finite(*minus) || *minus > 0)
        return cc_bad_payload(at, e, "the mean of the negative values is %g", (double)*minus);
    if (!cc_finite(*plus) || *plus < 0)
        return cc_bad_payload(at + 4, e, "the mean of the values that are not negative is %g",
                              (double)*plus);
    return CC_OK;
}

/* y = decoded, or y += *scale * decoded. */
static int decode_blocks(const struct cc_codec *c, const uint8_t *in, size_t len,
                         const float *scale, float *y, struct cc_error *e)
{
    size_t n = c->shape.n, block = block_length(c->params, n), want = bound(c->params, &c->shape);
    if (len != want)
        return cc_bad_length(len, want, e);
    for (size_t i = 0, at = 0, m; i < n; i += m, at += 8 + bit_bytes(m)) {
        m = n - i < block ? n - i : block;
        float minus, plus;
        int status = read_means(in, at, &minus, &plus, e);
        if (status != CC_OK)
            return status;
        if (scale == NULL)
            k_onebit()->unpack(in + at + 8, minus, plus, y + i, m);
        else
            k_onebit()->add(in + at + 8, *scale * minus, *scale * plus, y + i, m);
    }
    return CC_OK;
}

static int decode(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                  size_t len, float *y, struct cc_error *e)
{
    (void)ctx;
    return decode_blocks(c, in, len, NULL, y, e);
}

static int decode_add(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                      size_t len, float scale, float *y, struct cc_error *e)
{
    (void)ctx;
    return decode_blocks(c, in, len, &scale, y, e);
}

const struct cc_scheme cc_scheme_mqe1bit = {
    .id = "mqe1bit",
    .title = "1 bit, least squared error",
    .reference = "Seide et al., 1-Bit SGD, Interspeech 2014; 3LC, section 4.2 (MQE 1-bit int)",
    .layout = "per block: f32 mean of x < 0, f32 mean of x >= 0, a bit a value (1 = x >= 0)",
    .flags = CC_LOSSY | CC_FEEDBACK,
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
