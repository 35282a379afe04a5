/* Reductions over float32 arrays, with the same bits on every instruction set and any number of
 * threads.
 *
 * Sums are in double over a fixed tree: the array is cut into blocks of 4,096 values; within a
 * block, lane l of 16 adds the values 16 i + l in order of i; then the 16 lanes are added in order,
 * then the blocks in order. The largest magnitude is an integer maximum over the bits of |x|: its
 * order does not matter, and NaN and infinity are larger than all finite values (cc_finite_bits).
 */
#ifndef CC_CORE_REDUCE_H
#define CC_CORE_REDUCE_H

#include <stddef.h>
#include <stdint.h>

#include "core/bytes.h"
#include "core/element.h"
#include "core/isa.h"

#define CC_SUM_BLOCK 4096
#define CC_SUM_LANES 16

/* The number of blocks of n values. Threads may sum different blocks; the sums of the blocks, added
 * in order, are the sum of the array. */
static inline size_t cc_sum_blocks(size_t n)
{
    return n / CC_SUM_BLOCK + (n % CC_SUM_BLOCK != 0);
}

/* Sum, sum of squares and largest magnitude of an array. */
struct cc_moments {
    double sum, sum_sq;
    uint32_t absmax; /* the bits of the largest |x| */
};

struct k_reduce {
    /* The maximum of the bits of |x[i]|; 0 for n = 0. */
    uint32_t (*absmax)(const float *x, size_t n);
    /* The maximum of x[i] without its highest bit, the sign of a number of 16 bits. */
    uint16_t (*absmax_half)(const uint16_t *x, size_t n);
    /* The maximum of the bits of |x[i] + r[i]|, by the type of x. */
    uint32_t (*absmax_add[CC_ELEMENTS])(const void *x, const float *r, size_t n);
    double (*sum)(const float *x, size_t n);
    double (*sum_sq)(const float *x, size_t n);
    /* All three in one pass over x + r, or over x if r is NULL; n <= CC_SUM_BLOCK. */
    void (*moments)(const float *x, const float *r, size_t n, struct cc_moments *m);
};
CC_KERNELS(k_reduce)

/* The maximum of the bits of |x[i] + r[i]|, or of |x[i]| if r is NULL, with several threads. */
uint32_t cc_absmax(const float *x, const float *r, size_t n, int threads);
uint32_t cc_absmax_from(struct cc_elements x, const float *r, size_t n, int threads);

/* Whether all values were finite, by their largest magnitude. */
static inline int cc_finite_bits(size_t absmax)
{
    return absmax < CC_F32_INF_BITS;
}

#endif
