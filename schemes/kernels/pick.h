/* Selection for `threshold` and `topk`, in the same pass that adds the gradient to the residual. */
#ifndef CC_SCHEMES_KERNELS_PICK_H
#define CC_SCHEMES_KERNELS_PICK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/isa.h"
#include "core/tile.h"

#define CC_PICK_BLOCK 2048 /* the most values of one call */
#define CC_PICK_SLACK 32   /* elements that may be written after the last one */
#define CC_PICK_TOP   16

/* The distance, in bytes, at which `collect` prefetches streams of `bytes` bytes. Measured out of
 * cache: a Zen 4 encodes topk at 12.8 GB/s with three quarters of a bucket of 512 values, at 10.4
 * without, and at 9.8 with a whole bucket, when more lines are on their way than the second-level
 * cache waits for. A Zen 5 encodes at 13.3 without and at 11.0 to 11.7 with any distance; 16.3 and
 * 12.8 where k is 4. */
static inline size_t cc_pick_ahead(size_t bytes)
{
    return !cc_pages_ahead && cc_use_nontemporal(bytes) ? 1536 : 0;
}

/* ahead: how many bytes ahead AVX-512 prefetches g and x; 0: not at all. */
struct k_pick {
    /* x += g (x NULL: x is g). For each |x[i]| >= tau > 0, writes the u32 2 (base + i) + (1 if
     * x < 0) to out, which has room for n, and subtracts tau with the sign of x[i] from x[i]. Sets
     * *most to the largest bits of |x| before that. Returns the number of codes. */
    size_t (*codes)(const float *g, float *x, size_t n, size_t ahead, float tau, uint32_t base,
                    uint8_t *out, uint32_t *most);
    /* x += g (x NULL: x is g). Writes the index i of each |x[i]| with bits >= t, sets *most as
     * above, and returns their number. index has room for n and CC_PICK_SLACK more. */
    size_t (*candidates)(const float *g, float *x, size_t n, size_t ahead, uint32_t t,
                         uint16_t *index, uint32_t *most);
    /* The same with a threshold that at least k <= CC_PICK_TOP of the values reach, and seldom many
     * more, which is stored; k <= n. The 15 lowest bits of *most are ones. NULL: this instruction
     * set has no quick way to find it. */
    size_t (*collect)(const float *g, float *x, size_t n, size_t ahead, size_t k, uint16_t *index,
                      uint32_t *threshold, uint32_t *most);
    /* Selects k of the c candidates of `collect` in from[0, n), those of largest magnitude; the
     * candidates' indices have room for CC_PICK_SLACK more. Writes k x u16 index, then k x f32
     * value to out, and unless x is NULL sets x to 0 there. Returns false and does nothing if there
     * are too many candidates, or values that are equal or nearly so. NULL as above. */
    bool (*put)(const float *from, float *x, const uint16_t *index, size_t c, size_t k,
                uint32_t threshold, uint8_t *out);
};
CC_KERNELS(k_pick)

#endif
