/* natural: signs and exponents, rounded at random to one of the two neighbouring powers of two. */
#include <string.h>

#include "core/reduce.h"
#include "schemes/kernels/natural.h"
#include "schemes/scheme.h"

struct params {
    char none;
};

static const struct cc_param table[] = {{.name = NULL}};

static size_t sign_bytes(size_t n)
{
    return n / 8 + (n % 8 != 0);
}

static size_t bound(const void *params, const struct cc_shape *shape)
{
    (void)params;
    size_t bytes;
    return __builtin_add_overflow(shape->n, sign_bytes(shape->n), &bytes) ? SIZE_MAX : bytes;
}

static struct cc_traffic traffic(const void *params)
{
    (void)params;
    return cc_traffic_one(0);
}

static int encode(const struct cc_codec *c, const struct cc_context *ctx, const float *x,
                  uint8_t *out, size_t cap, size_t *len, struct cc_error *e)
{
    (void)cap;
    size_t n = c->shape.n;
    uint8_t *exponents = out + sign_bytes(n);
    for (size_t i = 0; i < n;) {
        /* One key serves 2^32 indices. Where it changes within a byte of signs, the kernel goes
         * over that byte's values again; their exponents under the old key stay. */
        uint64_t index = ctx->offset + i, left = (UINT64_C(1) << 32) - (uint32_t)index;
        size_t m = n - i < left ? n - i : (size_t)left, again = i % 8, start = i - again;
        uint8_t keep[8];
        memcpy(keep, exponents + start, again);
        uint32_t most =
            k_natural()->encode(x + start, cc_context_key(ctx, index, 0), (uint32_t)(index - again),
                                out + start / 8, exponents + start, again + m);
        if (!cc_finite_bits(most))
            return cc_refuse(ctx, x, NULL, n, e);
        memcpy(exponents + start, keep, again);
        i += m;
    }
    *len = sign_bytes(n) + n;
    return CC_OK;
}

static int bad_exponent(const uint8_t *exponents, size_t n, struct cc_error *e)
{
    size_t at = 0;
    while (exponents[at] != 255)
        at++;
    return cc_bad_payload(sign_bytes(n) + at, e, "the exponent 255 is not used");
}

static int decode(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                  size_t len, float *y, struct cc_error *e)
{
    (void)ctx;
    size_t n = c->shape.n, signs = sign_bytes(n);
    if (len != signs + n)
        return cc_bad_length(len, signs + n, e);
    return k_natural()->load(in, in + signs, y, n) ? bad_exponent(in + signs, n, e) : CC_OK;
}

static int decode_add(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                      size_t len, float scale, float *y, struct cc_error *e)
{
    (void)ctx;
    size_t n = c->shape.n, signs = sign_bytes(n);
    if (len != signs + n)
        return cc_bad_length(len, signs + n, e);
    return k_natural()->add(in, in + signs, scale, y, n) ? bad_exponent(in + signs, n, e) : CC_OK;
}

const struct cc_scheme cc_scheme_natural = {
    .id = "natural",
    .title = "powers of two",
    .reference = "Horvath et al. 2019, natural compression, section 2",
    .layout = "n sign bits (1 = x < 0), n x u8 exponent; decoded: +-2^(exponent - 127)",
    .flags = CC_LOSSY | CC_STOCHASTIC | CC_UNBIASED,
    .kind = CC_OPAQUE,
    .params = table,
    .params_bytes = sizeof(struct params),
    .bound = bound,
    .traffic = traffic,
    .encode = encode,
    .decode = decode,
    .decode_add = decode_add,
};
