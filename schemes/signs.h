/* The payload of signsgd and efsign: of each block a bit array of signs, then the mean magnitude.
 */
#ifndef CC_SCHEMES_SIGNS_H
#define CC_SCHEMES_SIGNS_H

#include "schemes/scheme.h"

#define CC_SIGNS_LAYOUT                                                                            \
    "per block: a bit a value, 1 = not negative (the last byte padded with 0), f32 mean magnitude"

struct cc_signs_params {
    int64_t block;
};
extern const struct cc_param cc_signs_params[];

/* Descriptor functions; the state, if there is one, is a residual of n floats. */
size_t cc_signs_bound(const void *params, const struct cc_shape *shape);
size_t cc_signs_scratch_bytes(const void *params, const struct cc_shape *shape);
struct cc_traffic cc_signs_traffic(const void *params, unsigned residuals);
int cc_signs_encode(const struct cc_codec *c, const struct cc_context *ctx, struct cc_elements x,
                    uint8_t *out, size_t cap, size_t *len, struct cc_error *e);
int cc_signs_decode(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                    size_t len, const float *scale, float *y, struct cc_error *e);

#endif
