/* Sets a few values of a tensor that is zero elsewhere, within the cache. Every index of a payload
 * is copied, and the copy checked, before it is used: the payload may be damaged, or change
 * meanwhile. */
#ifndef CC_SCHEMES_KERNELS_SCATTER_H
#define CC_SCHEMES_KERNELS_SCATTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/isa.h"

/* The most values of a bucket. */
#define CC_SCATTER_BUCKET 1024

struct k_scatter {
    /* y[begin, end) = 0, then y[index] = value of `count` pairs (u32 index, f32 value). False, with
     * y[begin, end) unspecified, unless the indices ascend strictly and are in [begin, end). */
    bool (*pairs)(const uint8_t *in, size_t count, size_t begin, size_t end, float *y);
    /* The same of codes (u32 = 2 index + sign); tau: the bits of the magnitude that they share. */
    bool (*codes)(const uint8_t *in, size_t count, uint32_t tau, size_t begin, size_t end,
                  float *y);
    /* The same of values alone (f32), whose indices are known to be such. */
    void (*listed)(const uint32_t *index, const uint8_t *values, size_t count, size_t begin,
                   size_t end, float *y);
    /* y = 0, then y[index] = value, for `count` buckets of n <= CC_SCATTER_BUCKET values, each of k
     * in 1..n u16 indices in the bucket, then k f32. Returns the first bucket whose indices do not
     * ascend strictly or are not below n; count if there is none. */
    size_t (*buckets)(const uint8_t *in, size_t count, size_t n, size_t k, float *y);
};
CC_KERNELS(k_scatter)

#endif
