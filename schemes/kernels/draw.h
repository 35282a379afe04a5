/* The indices of randk (docs/payloads.md): by a keyed permutation, or one in each stratum. */
#ifndef CC_SCHEMES_KERNELS_DRAW_H
#define CC_SCHEMES_KERNELS_DRAW_H

#include <stddef.h>
#include <stdint.h>

#include "core/isa.h"
#include "core/random.h"

#define CC_DRAW_ROUNDS 8
#define CC_DRAW_POOL   128

/* Draws index number i, for all i from `next` to end - 1. The members above `walking` are set
 * first, and the others are 0. */
struct cc_drawing {
    struct cc_key key[CC_DRAW_ROUNDS];
    unsigned b; /* 4^b >= n, 1 <= b <= 31 */
    uint64_t n, next, end;
    const float *values; /* if not NULL, values[i] is prefetched for each index i that is listed, by
                            the next call at the latest */
    size_t walking;      /* numbers that are below 4^b but not yet below n */
    size_t pending;      /* indices that are to be prefetched */
    union {
        struct {
            uint32_t v[CC_DRAW_POOL], number[CC_DRAW_POOL], pending[CC_DRAW_POOL];
        } small; /* b <= 16 */
        struct {
            uint64_t v[CC_DRAW_POOL], number[CC_DRAW_POOL];
        } wide;
    } pool;
};

/* n values cut into strata, the first `longer` of which have `length` + 1 values and the others
 * `length` each. Number j is drawn in stratum j, and all are then shifted cyclically. */
struct cc_strata {
    struct cc_key key;
    uint64_t n, length, longer, shift; /* shift < n */
};

/* The most values of which sums of two indices fit in 32 bits. */
#define CC_STRATA_SMALL (UINT64_C(1) << 31)

struct k_draw {
    /* Lists up to CC_DRAW_POOL indices that are not listed yet, in any order, and beside each its
     * number. Returns how many; 0: all are listed. */
    size_t (*draw)(struct cc_drawing *d, uint64_t *index, uint64_t *number);
    /* The indices of numbers first .. first + count - 1, whose upper 32 bits are those of the key;
     * the values there are prefetched unless `values` is NULL. */
    void (*strata)(const struct cc_strata *s, uint64_t first, size_t count, const float *values,
                   uint64_t *index);
    /* The same of n <= CC_STRATA_SMALL values, without prefetching. */
    void (*strata_small)(const struct cc_strata *s, uint32_t first, size_t count, uint32_t *index);
};
CC_KERNELS(k_draw)

#endif
