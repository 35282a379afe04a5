/* Selection for `threshold` and `topk`, in the same pass that adds the gradient to the residual. */
#ifndef CC_SCHEMES_KERNELS_PICK_H
#define CC_SCHEMES_KERNELS_PICK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/isa.h"

#define CC_PICK_BLOCK 2048 /* the most values of one call */
#define CC_PICK_SLACK 32   /* elements that may be written after the last one */
#define CC_PICK_FEW   64

/* The candidates of a bucket. */
struct cc_picked {
    const float *from;     /* the values of the bucket */
    float *x;              /* the same if they are the residual, else NULL */
    const uint16_t *index; /* CC_PICK_SLACK more may be read */
    size_t count;
    uint32_t threshold; /* which all candidates reach */
    uint32_t gap;       /* about the distance between neighbours near the k-th */
};

struct k_pick {
    /* x += g (x NULL: x is g). For each |x[i]| >= tau > 0, writes the u32 2 (base + i) + (1 if
     * x < 0) to out, which has room for n, and subtracts tau with the sign of x[i] from x[i]. Sets
     * *most to the largest bits of |x| before that. Returns the number of codes. */
    size_t (*codes)(const float *g, float *x, size_t n, float tau, uint32_t base, uint8_t *out,
                    uint32_t *most);
    /* x += g (x NULL: x is g). Writes the index i of each |x[i]| with bits >= t, sets *most as
     * above, and returns their number. index has room for n and CC_PICK_SLACK more. */
    size_t (*candidates)(const float *g, float *x, size_t n, uint32_t t, uint16_t *index,
                         uint32_t *most);
    /* The k <= count of largest magnitude among the candidates: writes k x u16 index, then k x f32
     * value to out, sets *least to the bits of the least magnitude, and, unless x is NULL, x to 0
     * there. Returns false and does nothing if ties leave the k open, or if there are more than
     * CC_PICK_FEW. NULL: this instruction set has no quick way to find them. */
    bool (*put)(const struct cc_picked *p, size_t k, uint8_t *out, uint32_t *least);
};
CC_KERNELS(k_pick)

#endif
