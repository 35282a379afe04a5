/* Reductions over float32 arrays, the same to the last bit on every instruction set.
 *
 * Sums are in double over a fixed tree: the array is cut into blocks of 4,096 values; within a
 * block, lane l (of 16) adds the values 16 i + l in order of i; the 16 lanes are added in order,
 * then the blocks in order. The largest magnitude is an integer maximum over the bits of |x|, so
 * its order does not matter, and it shows non-finite input: see cc_finite_bits. */
#ifndef CC_CORE_REDUCE_H
#define CC_CORE_REDUCE_H

#include <stddef.h>
#include <stdint.h>

#include "core/bytes.h"
#include "core/isa.h"

#define CC_SUM_BLOCK 4096
#define CC_SUM_LANES 16

/* How many blocks. Their sums, taken by several threads, are added in order to what one would
 * give. */
static inline size_t cc_sum_blocks(size_t n)
{
    return n / CC_SUM_BLOCK + (n % CC_SUM_BLOCK != 0);
}

struct cc_moments {
    double sum, sum_sq;
    uint32_t absmax; /* bits */
};

struct k_reduce {
    /* max of the bits of |x[i]|; 0 for n = 0. */
    uint32_t (*absmax)(const float *x, size_t n);
    /* max of the bits of |x[i] + r[i]|. */
    uint32_t (*absmax_add)(const float *x, const float *r, size_t n);
    double (*sum)(const float *x, size_t n);
    double (*sum_sq)(const float *x, size_t n);
    /* All of it in one pass over x + r, or over x where r is NULL; n <= CC_SUM_BLOCK. */
    void (*moments)(const float *x, const float *r, size_t n, struct cc_moments *m);
};
CC_KERNELS(k_reduce)

/* The max of the bits of |x[i] + r[i]|, or of |x[i]| where r is NULL, by so many threads. */
uint32_t cc_absmax(const float *x, const float *r, size_t n, int threads);

/* Whether a maximum of magnitude bits says that every value was finite. */
static inline int cc_finite_bits(uint32_t absmax)
{
    return absmax < CC_F32_INF_BITS;
}

#endif
