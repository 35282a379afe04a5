/* Natural compression: float32 values as signs and powers of two. */
#ifndef CC_SCHEMES_KERNELS_NATURAL_H
#define CC_SCHEMES_KERNELS_NATURAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/isa.h"
#include "core/random.h"

struct k_natural {
    /* Writes (n + 7) / 8 bytes of sign bits and n exponents. x[i] is rounded by the random number
     * of index first + i (modulo 2^32). Returns the largest bits of |x[i]|, which show values that
     * are not finite. nontemporal, only if `streams`: writes the exponents around the cache; they
     * must begin on CC_ALIGN, and the fence is the caller's. */
    uint32_t (*encode)(const float *x, struct cc_key key, uint32_t first, uint8_t *signs,
                       uint8_t *exponents, size_t n, bool nontemporal);
    bool streams;
    /* y = the values; returns 1 if an exponent is 255, which is an error, else 0. nontemporal:
     * writes around the cache; y must begin on CC_ALIGN, and the fence is the caller's. */
    int (*load)(const uint8_t *signs, const uint8_t *exponents, float *y, size_t n,
                bool nontemporal);
    /* y += scale * the values; returns the same. */
    int (*add)(const uint8_t *signs, const uint8_t *exponents, float scale, float *y, size_t n);
};
CC_KERNELS(k_natural)

#endif
