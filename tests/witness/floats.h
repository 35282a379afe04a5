/* The payload of the plugins here: the values as floats. */
#ifndef CC_TESTS_WITNESS_FLOATS_H
#define CC_TESTS_WITNESS_FLOATS_H

#include <math.h>
#include <schemes/plugin.h>
#include <string.h>

static inline size_t floats_bound(const void *p, const struct cc_shape *s)
{
    return (void)p, 4 * s->n;
}

static inline int floats_decode(const struct cc_codec *c, const uint8_t *in, size_t len,
                                const float *scale, float *y, struct cc_error *e)
{
    if (len != 4 * c->shape.n)
        return cc_bad_length(len, 4 * c->shape.n, e);
    for (size_t i = 0; i < c->shape.n; i++) {
        float v;
        memcpy(&v, in + 4 * i, 4);
        if (!isfinite(v))
            return cc_bad_payload(4 * i, e, "a value that is not finite");
        y[i] = scale == NULL ? v : cc_add_scaled(y[i], *scale, v);
    }
    return CC_OK;
}

#endif
