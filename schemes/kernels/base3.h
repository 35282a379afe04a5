/* Trits in bytes, five to a byte, most significant digit first (base 3^5). The five digits of a
 * byte come from five places of the tensor, so a block of bytes is built, and taken apart, one
 * digit of all its bytes at a time: each step streams over contiguous values while the bytes stay
 * in cache.
 */
#ifndef CC_SCHEMES_KERNELS_BASE3_H
#define CC_SCHEMES_KERNELS_BASE3_H

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
     * the residual, the values are x + r, and r becomes what is left of them; r may be NULL. */

    /* The trit is 0 if |x| < half, else sign(x); half > 0. Decoded: m * trit. */
    void (*round)(const float *x, float *r, float m, float half, uint8_t *bytes, size_t n);
    /* The trit is sign(x) if u < min(|x|, m) / m, else 0; u from key, element i has index + i. */
    void (*draw)(const float *x, float *r, float m, struct cc_key key, uint32_t index,
                 uint8_t *bytes, size_t n);

    /* These take the first digit of each byte (at most CC_BYTE_MAX) and leave the others, times 3,
     * so that the next call takes the next. */

    /* y = m * trit */
    void (*set)(uint8_t *bytes, float m, float *y, size_t n);
    /* y += scale * (m * trit) */
    void (*add)(uint8_t *bytes, float m, float scale, float *y, size_t n);

    /* Copies n bytes; returns the largest. */
    unsigned (*copy)(const uint8_t *in, uint8_t *out, size_t n);
};
CC_KERNELS(k_base3)

#endif
