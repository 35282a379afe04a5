/* What `threshold` and `topk` send, found as the residual is brought up to date. */
#ifndef CC_SCHEMES_KERNELS_PICK_H
#define CC_SCHEMES_KERNELS_PICK_H

#include <stddef.h>
#include <stdint.h>

#include "core/isa.h"

#define CC_PICK_BLOCK 2048 /* the most values of one call */
#define CC_PICK_SLACK 32   /* elements that may be written after the last one */
#define CC_PICK_FEW   64

struct k_pick {
    /* x += g (x NULL: x is g). For each |x[i]| >= tau > 0: u32 = 2 (base + i) + (1 if x < 0) to
     * out, which has room for n, and x[i] -= tau with its sign. *most: the largest bits of |x|
     * before that. Returns how many. */
    size_t (*codes)(const float *g, float *x, size_t n, float tau, uint32_t base, uint8_t *out,
                    uint32_t *most);
    /* x += g (x NULL: x is g). The index i and the value of each |x[i]| with bits >= t; returns how
     * many. index and value have room for n and CC_PICK_SLACK more. */
    size_t (*candidates)(const float *g, float *x, size_t n, uint32_t t, uint16_t *index,
                         float *value, uint32_t *most);
    /* Which of n <= CC_PICK_FEW values are the k < n of largest magnitude; 0 if that is not settled
     * without ties, or there is no quick way to tell. */
    uint64_t (*largest)(const float *x, size_t n, size_t k);
};
CC_KERNELS(k_pick)

#endif
