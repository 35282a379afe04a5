/* The payload that 3lc and ternary share: f32 m, then trits, five to a byte in five planes, with
 * zero-run encoding as an option (docs/payloads.md, 3lc). Decoders treat the payload as untrusted.
 */
#ifndef CC_SCHEMES_BASE3_H
#define CC_SCHEMES_BASE3_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

/* The largest payload of n values, in bytes. */
size_t cc_base3_bound(size_t n);

/* Quantizes values i .. i + count - 1 and adds their trits: bytes[k] += weight * trit of value
 * i + k. */
typedef void cc_base3_quantize(void *arg, size_t i, size_t count, uint8_t weight, uint8_t *bytes);

/* Writes the payload of n >= 1 values to out, which has room for the bound, and returns its length.
 * `quantize` is called once for every value, in no particular order and from up to `threads`
 * threads at once; most calls begin and end with a line of the cache of x, which it reads, or of
 * the residual r, which it updates, unless r is NULL. */
size_t cc_base3_encode(float m, cc_base3_quantize *quantize, void *arg, const float *x,
                       const float *r, size_t n, int zre, int threads, uint8_t *out);

/* Sets y to m * trit for n >= 1 values, or if scale is not NULL, adds *scale * (m * trit). CC_FAIL
 * with the offset of the fault if the bytes are not a payload. */
int cc_base3_decode(const uint8_t *in, size_t len, size_t n, int zre, int threads,
                    const float *scale, float *y, struct cc_error *e);

#endif
