/* The payload that 3lc and ternary share: f32 m of each block, then trits, five to a byte in five
 * planes, with zero-run encoding as an option (docs/payloads.md, 3lc). Decoders treat the payload
 * as untrusted. */
#ifndef CC_SCHEMES_BASE3_H
#define CC_SCHEMES_BASE3_H

#include <stdbool.h>

#include "schemes/residual.h"

/* The parameters that both have, in the order of residual.h. */
struct cc_base3_params {
    int64_t ef, zre;
    int64_t block; /* values with a common m; 0: all of the tensor */
};
#define CC_PARAM_BASE3_BLOCK                                                                       \
    CC_PARAM_INT(struct cc_base3_params, block, 0, 0, 1 << 30, "values",                           \
                 "values with a scale of their own; 0 for one scale")

/* A descriptor's functions; its struct params begins with these parameters. */
size_t cc_base3_bound(const void *params, const struct cc_shape *shape);
struct cc_traffic cc_base3_traffic(const void *params);
int cc_base3_decode(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                    size_t len, const float *scale, float *y, struct cc_error *e);

/* Writes the m of each block to the head of the payload: from_most of the largest magnitude of
 * x + r, or of x if r is NULL, in the block. False if a value is not finite. */
bool cc_base3_scales(const struct cc_codec *c, struct cc_elements x, const float *r,
                     float (*from_most)(const void *params, float most), uint8_t *out);

/* Quantizes values i .. i + count - 1, which have the scale m, and adds their trits: bytes[k] +=
 * weight * trit of value i + k. */
typedef void cc_base3_quantize(void *arg, size_t i, size_t count, float m, uint8_t weight,
                               uint8_t *bytes);

/* Writes the payload of the codec's values to out, which has room for the bound and has the scales
 * of the blocks at its head, and returns its length. `quantize` is called once for every value, in
 * no particular order and from up to c->threads threads at once; most calls begin and end with a
 * line of the cache of x, which it reads, or of the residual r, which it updates, unless r is NULL.
 * A call has at most CC_BASE3_MOST values. */
enum { CC_BASE3_MOST = 1024 + 16 };
size_t cc_base3_encode(const struct cc_codec *c, cc_base3_quantize *quantize, void *arg,
                       struct cc_elements x, const float *r, uint8_t *out);

#endif
