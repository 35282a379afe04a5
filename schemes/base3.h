/* The payload that 3lc and ternary share: f32 m, then trits, five to a byte in five planes, with
 * zero-run encoding as an option (docs/payloads.md, 3lc). Decoders treat the payload as untrusted.
 */
#ifndef CC_SCHEMES_BASE3_H
#define CC_SCHEMES_BASE3_H

#include "schemes/residual.h"

/* The parameters that both have, in the order of residual.h. */
struct cc_base3_params {
    int64_t ef, zre;
};

/* A descriptor's functions; its struct params begins with these parameters. */
size_t cc_base3_bound(const void *params, const struct cc_shape *shape);
int cc_base3_decode(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                    size_t len, const float *scale, float *y, struct cc_error *e);

/* Quantizes values i .. i + count - 1 and adds their trits: bytes[k] += weight * trit of value
 * i + k. */
typedef void cc_base3_quantize(void *arg, size_t i, size_t count, uint8_t weight, uint8_t *bytes);

/* Writes the payload of the codec's values to out, which has room for the bound, and returns its
 * length. `quantize` is called once for every value, in no particular order and from up to
 * c->threads threads at once; most calls begin and end with a line of the cache of x, which it
 * reads, or of the residual r, which it updates, unless r is NULL. */
size_t cc_base3_encode(const struct cc_codec *c, float m, cc_base3_quantize *quantize, void *arg,
                       const float *x, const float *r, uint8_t *out);

#endif
