/* What the three schemes of 16 bits a value share: everything but the format. */
#ifndef CC_SCHEMES_HALF_H
#define CC_SCHEMES_HALF_H

#include "core/memory.h"
#include "core/reduce.h"
#include "schemes/kernels/half.h"
#include "schemes/scheme.h"

static inline size_t cc_half_bound(const void *params, const struct cc_shape *shape)
{
    (void)params;
    size_t bytes = SIZE_MAX;
    (void)cc_mul(shape->n, 2, &bytes);
    return bytes;
}

static inline int cc_half_encode(const struct cc_half_format *f, const struct cc_codec *c,
                                 const struct cc_context *ctx, const float *x, uint8_t *out,
                                 size_t *len, struct cc_error *e)
{
    if (!cc_finite_bits(f->encode(x, out, c->shape.n)))
        return cc_refuse(ctx, x, NULL, c->shape.n, e);
    *len = 2 * c->shape.n;
    return CC_OK;
}

static inline int cc_half_decode(const struct cc_half_format *f, const struct cc_codec *c,
                                 const uint8_t *in, size_t len, float *y, struct cc_error *e)
{
    if (len != 2 * c->shape.n)
        return cc_bad_length(len, 2 * c->shape.n, e);
    f->load(in, y, c->shape.n);
    return CC_OK;
}

static inline int cc_half_decode_add(const struct cc_half_format *f, const struct cc_codec *c,
                                     const uint8_t *in, size_t len, float scale, float *y,
                                     struct cc_error *e)
{
    if (len != 2 * c->shape.n)
        return cc_bad_length(len, 2 * c->shape.n, e);
    f->add(in, scale, y, c->shape.n);
    return CC_OK;
}

#endif
