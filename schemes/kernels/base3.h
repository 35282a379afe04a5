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

struct k_base3 {
    /* round and draw quantize n values v and append their digits: bytes = 3 * bytes + digit. v is
     * x + r, and the residual r becomes v - m * trit; or v is x if r is NULL. The next call will
     * work on x + next (and r + next): a hint for prefetching. */

    /* The trit is 0 if |v| < half, else sign(v); half > 0. */
    void (*round)(const float *x, float *r, float m, float half, uint8_t *bytes, size_t n,
                  ptrdiff_t next);
    /* The trit is sign(v) if u * m < |v| (the product is not rounded), else 0. u is drawn from key;
     * element i has the index `index` + i. */
    void (*draw)(const float *x, float *r, float m, struct cc_key key, uint32_t index,
                 uint8_t *bytes, size_t n, ptrdiff_t next);

    /* set and add remove the first digit of each of n bytes (at most CC_BYTE_MAX) and leave the
     * others, times 3, so that the next call finds the next digit in front. A digit stands for
     * value[digit]. */

    /* y = value; nontemporal: stores around the cache, which the caller ends with a fence. */
    void (*set)(uint8_t *bytes, const float value[3], float *y, size_t n, ptrdiff_t next,
                bool nontemporal);
    /* y += value */
    void (*add)(uint8_t *bytes, const float value[3], float *y, size_t n, ptrdiff_t next);

    /* Copies n bytes; returns the largest. */
    unsigned (*copy)(const uint8_t *in, uint8_t *out, size_t n);
    /* The number of bytes before the first that is not CC_BYTE_ZERO; n if there is none. */
    size_t (*zeros)(const uint8_t *bytes, size_t n);
};
CC_KERNELS(k_base3)

#endif
