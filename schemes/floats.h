/* Everything but the number format of fp32 and of the three schemes of 16 bits a value: values are
 * converted one by one, and the payload is an array of them. */
#ifndef CC_SCHEMES_FLOATS_H
#define CC_SCHEMES_FLOATS_H

#include "core/memory.h"
#include "schemes/kernels/half.h"
#include "schemes/plain.h"

/* `width`: bytes of a value in the payload. Refuses values that are not finite (but cc_passes). */
int cc_floats_encode(const struct k_stream *format, size_t width, const struct cc_codec *c,
                     const struct cc_context *ctx, struct cc_elements x, uint8_t *out, size_t *len,
                     struct cc_error *e);
/* As decode of struct cc_scheme. */
int cc_floats_decode(const struct k_stream *format, size_t width, const struct cc_codec *c,
                     const uint8_t *in, size_t len, const float *scale, float *y,
                     struct cc_error *e);

/* Defines the descriptor's functions for a format, an expression of type const struct k_stream *.
 */
#define CC_FLOATS(format, width)                                                                   \
    static size_t bound(const void *params, const struct cc_shape *shape)                          \
    {                                                                                              \
        (void)params;                                                                              \
        return cc_bytes_product(shape->n, width);                                                  \
    }                                                                                              \
    static int encode_from(const struct cc_codec *c, const struct cc_context *ctx,                 \
                           struct cc_elements x, uint8_t *out, size_t cap, size_t *len,            \
                           struct cc_error *e)                                                     \
    {                                                                                              \
        (void)cap;                                                                                 \
        return cc_floats_encode(format, width, c, ctx, x, out, len, e);                            \
    }                                                                                              \
    static int decode(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,   \
                      size_t len, const float *scale, float *y, struct cc_error *e)                \
    {                                                                                              \
        (void)ctx;                                                                                 \
        return cc_floats_decode(format, width, c, in, len, scale, y, e);                           \
    }

/* These functions as members of the descriptor, which has no parameters. */
#define CC_FLOATS_MEMBERS                                                                          \
    CC_NO_PARAMS, .bound = bound, .traffic = cc_reads_once, .encode_from = encode_from,            \
                  .decode = decode

#endif
