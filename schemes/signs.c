#include "schemes/signs.h"

#include "core/bytes.h"
#include "schemes/kernels/onebit.h"

size_t cc_signs_bound(const void *params, const struct cc_shape *shape)
{
    (void)params;
    return shape->n / 8 + (shape->n % 8 != 0) + sizeof(float);
}

int cc_signs_encode(const struct cc_codec *c, const struct cc_context *ctx, const float *x,
                    float *residual, uint8_t *out, size_t *len, struct cc_error *e)
{
    size_t n = c->shape.n;
    double sum = k_onebit()->magnitude(x, residual, n);
    if (!__builtin_isfinite(sum))
        return cc_refuse(ctx, x, residual, n, e);
    float mean = (float)(sum / (double)n);
    k_onebit()->pack(x, residual, -mean, mean, n, out);
    *len = cc_signs_bound(c->params, &c->shape);
    cc_put_f32(out + *len - sizeof mean, mean);
    return CC_OK;
}

static int read_mean(const struct cc_codec *c, const uint8_t *in, size_t len, float *mean,
                     struct cc_error *e)
{
    size_t want = cc_signs_bound(c->params, &c->shape);
    if (len != want)
        return cc_bad_length(len, want, e);
    size_t at = len - sizeof *mean;
    *mean = cc_get_f32(in + at);
    if (!cc_finite(*mean) || *mean < 0)
        return cc_bad_payload(at, e, "the mean magnitude is %g", (double)*mean);
    return CC_OK;
}

int cc_signs_decode(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                    size_t len, float *y, struct cc_error *e)
{
    (void)ctx;
    float mean = 0;
    int status = read_mean(c, in, len, &mean, e);
    if (status == CC_OK)
        k_onebit()->unpack(in, -mean, mean, y, c->shape.n);
    return status;
}

int cc_signs_decode_add(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                        size_t len, float scale, float *y, struct cc_error *e)
{
    (void)ctx;
    float mean = 0;
    int status = read_mean(c, in, len, &mean, e);
    if (status == CC_OK)
        k_onebit()->add(in, scale * -mean, scale * mean, y, c->shape.n);
    return status;
}
