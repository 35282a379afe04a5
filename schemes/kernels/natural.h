/* Float32 values as signs and exponents. */
#ifndef CC_SCHEMES_KERNELS_NATURAL_H
#define CC_SCHEMES_KERNELS_NATURAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/isa.h"
#include "core/random.h"

struct k_natural {
    /* Writes (n + 7) / 8 bytes of sign bits and n exponents; x[i] draws the number of index
     * first + i (modulo 2^32). Returns the max of the bits of |x[i]|. */
    uint32_t (*encode)(const float *x, struct cc_key key, uint32_t first, uint8_t *signs,
                       uint8_t *exponents, size_t n);
    /* y = the values; returns whether an exponent was 255. past: write past the cache, where y
     * begins on CC_ALIGN, and leave the fence to the caller. */
    int (*load)(const uint8_t *signs, const uint8_t *exponents, float *y, size_t n,
                bool nontemporal);
    /* y += scale * the values; likewise. */
    int (*add)(const uint8_t *signs, const uint8_t *exponents, float scale, float *y, size_t n);
};
CC_KERNELS(k_natural)

#endif
