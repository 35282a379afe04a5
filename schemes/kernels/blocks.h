/* Values in blocks with a common scale, as codes of 4 or 8 bits; one code a byte here. A call takes
 * n values, at most CC_TILE, in blocks of `block` values, of which the last may be shorter;
 * scale[i] and divisor[i] are those of block i. */
#ifndef CC_SCHEMES_KERNELS_BLOCKS_H
#define CC_SCHEMES_KERNELS_BLOCKS_H

#include <stddef.h>
#include <stdint.h>

#include "core/element.h"
#include "core/isa.h"
#include "core/random.h"

/* A number format of codes. */
struct k_block_codes {
    /* x / divisor, rounded to the nearest code, ties to even, limited to the largest. */
    void (*nearest)(const float *x, size_t n, size_t block, const float *divisor, uint8_t *codes);
    /* x / divisor, rounded up or down at random; value i draws cc_random(key, first + i). Divisors
     * of e2m1 and e3m0 are powers of two. */
    void (*random)(const float *x, size_t n, size_t block, const float *divisor, struct cc_key key,
                   uint32_t first, uint8_t *codes);
    /* y = code * scale; returns whether there is a code that is not used. */
    int (*load)(const uint8_t *codes, size_t n, size_t block, const float *scale, float *y);
    /* y += factor * (code * scale). */
    int (*add)(const uint8_t *codes, size_t n, size_t block, const float *scale, float factor,
               float *y);
    /* r = v - code * scale. */
    void (*rest)(const float *v, const uint8_t *codes, size_t n, size_t block, const float *scale,
                 float *r);
};

struct k_blocks {
    struct k_block_codes e4m3, e5m2, e2m1, e3m0, int4, int8; /* int8 has no `random` */
    /* v = x + r, by the type of x. */
    void (*sum[CC_ELEMENTS])(const void *x, const float *r, float *v, size_t n);
    /* most[i] = the largest bits of |x| in block i; returns the largest of all. */
    uint32_t (*absmax)(const float *x, size_t n, size_t block, uint32_t *most);
    /* Two codes of 4 bits a byte, the first one in the lower half; a last half without a code is 0.
     * split writes an even number of codes. */
    void (*join)(const uint8_t *codes, size_t n, uint8_t *out);
    void (*split)(const uint8_t *in, size_t n, uint8_t *codes);
};
CC_KERNELS(k_blocks)

#endif
