/* Base-3 bytes: values quantized to trits (-1, 0, 1), five of which make a byte. The overview is in
 * base3.k.c. */
#ifndef CC_SCHEMES_KERNELS_BASE3_H
#define CC_SCHEMES_KERNELS_BASE3_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/isa.h"
#include "core/random.h"

/* The digit of trit 0: a digit is its trit plus this. */
#define CC_DIGIT_ZERO 1u

/* A byte of five zero trits. */
#define CC_BYTE_ZERO 121u

/* The largest byte of five digits. */
#define CC_BYTE_MAX 242u

/* The digits of bytes, in three arrays of bytes: digit 0 in bits 0 and 1 of the first, digits 1 and
 * 2 in bits 0 to 3 of the second, 3 and 4 in those of the third. Other bits may be anything. */
#define CC_DIGIT_ARRAYS   3u
#define CC_DIGIT_ARRAY(p) (((p) + 1) / 2)
#define CC_DIGIT_SHIFT(p) ((p) > 0 && (p) % 2 == 0 ? 2u : 0u)

struct k_base3 {
    /* round and draw quantize n values v and add their trits: bytes += weight * trit, weight one of
     * 81, 27, 9, 3, 1. v is x + r, and the residual r becomes v - m * trit; or v is x if r is NULL.
     */

    /* The trit is 0 if |v| < half, else sign(v); half > 0. */
    void (*round)(const float *x, float *r, float m, float half, uint8_t weight, uint8_t *bytes,
                  size_t n);
    /* The trit is sign(v) if u * m < |v| (the product is not rounded), else 0. u is drawn from key;
     * element i has the index `index` + i. */
    void (*draw)(const float *x, float *r, float m, struct cc_key key, uint32_t index,
                 uint8_t weight, uint8_t *bytes, size_t n);

    /* Finds the digits of n bytes. Up to CC_ALIGN more elements of each array may be written.
     * Returns the largest byte; over CC_BYTE_MAX, digits are arbitrary. */
    unsigned (*split)(const uint8_t *bytes, uint8_t *const digits[CC_DIGIT_ARRAYS], size_t n);

    /* y = value[digit] for n digits, each in bits `shift` (0 or 2) and above of its byte;
     * nontemporal: stores around the cache, which the caller ends with a fence. */
    void (*set)(const uint8_t *digits, unsigned shift, const float value[3], float *y, size_t n,
                bool nontemporal);
    /* y += value[digit] */
    void (*add)(const uint8_t *digits, unsigned shift, const float value[3], float *y, size_t n);

    /* The number of bytes before the first that is not CC_BYTE_ZERO; n if there is none. */
    size_t (*zeros)(const uint8_t *bytes, size_t n);
};
CC_KERNELS(k_base3)

#endif
