/* int8: signed bytes and one scale for the tensor. */
#include "core/memory.h"
#include "core/reduce.h"
#include "schemes/kernels/int8.h"
#include "schemes/scheme.h"

#define HEADER sizeof(float)

/* The largest scale that 127 can be multiplied with: FLT_MAX / 127 rounds to one too large. */
#define MAX_SCALE 0x1.020406p+121f

struct params {
    int64_t ef;
};

static const struct cc_param table[] = {
    CC_PARAM_FLAG(struct params, ef, 0, "keep the rounding error for the next step"),
    {.name = NULL},
};

static size_t bound(const void *params, const struct cc_shape *shape)
{
    (void)params;
    size_t bytes;
    return __builtin_add_overflow(shape->n, HEADER, &bytes) ? SIZE_MAX : bytes;
}

static size_t state_bytes(const void *params, const struct cc_shape *shape)
{
    const struct params *p = params;
    size_t bytes = SIZE_MAX;
    if (!p->ef)
        return 0;
    (void)cc_mul(shape->n, sizeof(float), &bytes);
    return bytes;
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
    uint32_t bits = r ? k_reduce()->absmax_add(x, r, n) : k_reduce()->absmax(x, n);
    if (!cc_finite_bits(bits))
        return cc_refuse(ctx, x, r, n, e);
    float scale = cc_bits_f32(bits) / 127.0f;
    scale = scale < MAX_SCALE ? scale : MAX_SCALE;
    /* A scale of 0 stands for values that are all next to nothing: divided by 1 they give 0. */
    float divisor = scale > 0 ? scale : 1.0f;
    cc_put_f32(out, scale);
    if (r)
        k_int8()->quantize_ef(x, r, divisor, scale, out + HEADER, n);
    else
        k_int8()->quantize(x, divisor, out + HEADER, n);
    *len = n + HEADER;
    return CC_OK;
}

static int check(const struct cc_codec *c, const uint8_t *in, size_t len, float *scale,
                 struct cc_error *e)
{
    if (len != c->shape.n + HEADER)
        return cc_bad_length(len, c->shape.n + HEADER, e);
    *scale = cc_get_f32(in);
    if (!cc_finite(*scale) || *scale < 0)
        return cc_bad_payload(0, e, "the scale is %g", (double)*scale);
    return CC_OK;
}

static int bad_code(const uint8_t *in, struct cc_error *e)
{
    size_t at = HEADER;
    while (in[at] != 0x80)
        at++;
    return cc_bad_payload(at, e, "the code -128 is not used");
}

static int decode(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                  size_t len, float *y, struct cc_error *e)
{
    (void)ctx;
    float scale = 0;
    int rc = check(c, in, len, &scale, e);
    if (rc != CC_OK)
        return rc;
    return k_int8()->load(in + HEADER, scale, y, c->shape.n) ? bad_code(in, e) : CC_OK;
}

static int decode_add(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                      size_t len, float scale, float *y, struct cc_error *e)
{
    (void)ctx;
    float own = 0;
    int rc = check(c, in, len, &own, e);
    if (rc != CC_OK)
        return rc;
    return k_int8()->add(in + HEADER, own, scale, y, c->shape.n) ? bad_code(in, e) : CC_OK;
}

const struct cc_scheme cc_scheme_int8 = {
    .id = "int8",
    .title = "8-bit integers",
    .reference = "Lim et al. 2019, 3LC, section 4.2; Li et al. 2018, Pipe-SGD, section 3.2",
    .layout = "f32 scale, n x i8; decoded: i8 * scale",
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
