/* Selection for `threshold` and `topk`, in the same pass that adds the gradient to the residual. */
#ifndef CC_SCHEMES_KERNELS_PICK_H
#define CC_SCHEMES_KERNELS_PICK_H

#include <stddef.h>
#include <stdint.h>

#include "core/isa.h"

#define CC_PICK_BLOCK 2048 /* the most values of one call */
#define CC_PICK_SLACK 32   /* elements that may be written after the last one */
#define CC_PICK_FEW   64

struct k_pick {
    /* x += g (x NULL: x is g). For each |x[i]| >= tau > 0, writes the u32 2 (base + i) + (1 if
     * x < 0) to out, which has room for n, and subtracts tau with the sign of x[i] from x[i]. Sets
     * *most to the largest bits of |x| before that. Returns the number of codes. */
    size_t (*codes)(const float *g, float *x, size_t n, float tau, uint32_t base, uint8_t *out,
                    uint32_t *most);
    /* x += g (x NULL: x is g). Writes the index i and the value of each |x[i]| with bits >= t, sets
     * *most as above, and returns their number. index and value have room for n and CC_PICK_SLACK
     * more. */
    size_t (*candidates)(const float *g, float *x, size_t n, uint32_t t, uint16_t *index,
                         float *value, uint32_t *most);
    /* A mask of the k < n values of largest magnitude among n <= CC_PICK_FEW; 0 if ties leave it
     * open, or if this instruction set has no quick way to find them. */
    uint64_t (*largest)(const float *x, size_t n, size_t k);
};
CC_KERNELS(k_pick)

#endif
