/* fp32: the values as they are, the baseline that every speedup refers to. */
#include "core/reduce.h"
#include "schemes/kernels/stream.h"
#include "schemes/scheme.h"

struct params {
    char none;
};

static const struct cc_param table[] = {{.name = NULL}};

static size_t bound(const void *params, const struct cc_shape *shape)
{
    (void)params;
    return shape->n * sizeof(float);
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
    if (!cc_finite_bits(k_stream()->copy(x, out, c->shape.n)))
        return cc_refuse(ctx, x, NULL, c->shape.n, e);
    *len = c->shape.n * sizeof(float);
    return CC_OK;
}

static int decode(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                  size_t len, float *y, struct cc_error *e)
{
    (void)ctx;
    if (len != c->shape.n * sizeof(float))
        return cc_bad_length(len, c->shape.n * sizeof(float), e);
    k_stream()->load(in, y, c->shape.n);
    return CC_OK;
}

static int decode_add(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                      size_t len, float scale, float *y, struct cc_error *e)
{
    (void)ctx;
    if (len != c->shape.n * sizeof(float))
        return cc_bad_length(len, c->shape.n * sizeof(float), e);
    k_stream()->add(in, scale, y, c->shape.n);
    return CC_OK;
}

const struct cc_scheme cc_scheme_fp32 = {
    .id = "fp32",
    .title = "32-bit floats",
    .reference = "the baseline",
    .layout = "n x f32",
    .flags = 0,
    .kind = CC_SUM_F32,
    .params = table,
    .params_bytes = sizeof(struct params),
    .bound = bound,
    .traffic = traffic,
    .encode = encode,
    .decode = decode,
    .decode_add = decode_add,
};
