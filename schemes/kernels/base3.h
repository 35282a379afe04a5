/* Trits in bytes, five to a byte, most significant digit first (base 3^5). The five digits of a
 * byte come from five places of the tensor, so a block of bytes is built, and taken apart, one
 * digit of all its bytes at a time: each step streams over contiguous values while the bytes stay
 * in cache.
 */
#ifndef CC_SCHEMES_KERNELS_BASE3_H
#define CC_SCHEMES_KERNELS_BASE3_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/isa.h"
#include "core/random.h"

/* A trit as a digit. */
#define CC_DIGIT_ZERO 1u

/* A byte of five zero trits. */
#define CC_BYTE_ZERO 121u

/* The largest byte of five digits. */
#define CC_BYTE_MAX 242u

struct k_base3 {
    /* Each of these quantizes n values and appends their digits: bytes = 3 * bytes + digit. With r,
     * the residual, the values are x + r, and r becomes what is left of them; r may be NULL. The
     * next call will take the values at x + next (and r + next): a hint for prefetching. */

    /* The trit is 0 if |x| < half, else sign(x); half > 0. Decoded: m * trit. */
    void (*round)(const float *x, float *r, float m, float half, uint8_t *bytes, size_t n,
                  ptrdiff_t next);
    /* The trit is sign(x) if u * m < |x|, not rounded, else 0; u from key, element i has index + i.
     */
    void (*draw)(const float *x, float *r, float m, struct cc_key key, uint32_t index,
                 uint8_t *bytes, size_t n, ptrdiff_t next);

    /* These take the first digit of each byte (at most CC_BYTE_MAX) and leave the others, times 3,
     * so that the next call takes the next; value[digit] is what a digit stands for. */

    /* y = value; with `past`, around the cache: a fence is the caller's */
    void (*set)(uint8_t *bytes, const float value[3], float *y, size_t n, ptrdiff_t next,
                bool nontemporal);
    /* y += value */
    void (*add)(uint8_t *bytes, const float value[3], float *y, size_t n, ptrdiff_t next);

    /* Copies n bytes; returns the largest. */
    unsigned (*copy)(const uint8_t *in, uint8_t *out, size_t n);
    /* How many bytes of n are CC_BYTE_ZERO before the first that is not. */
    size_t (*zeros)(const uint8_t *bytes, size_t n);
};
CC_KERNELS(k_base3)

#endif
