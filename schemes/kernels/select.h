/* Selection of the values of large magnitude: bit arrays of the selected values, and the values
 * packed one after the other. Magnitudes are compared as the bits of |x|, which have the order of
 * the numbers. To be called for blocks of at most CC_SELECT_BLOCK values, so that functions that
 * run one after the other find their data in the first-level cache. */
#ifndef CC_SCHEMES_KERNELS_SELECT_H
#define CC_SCHEMES_KERNELS_SELECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/isa.h"
#include "schemes/kernels/bitarray.h"

#define CC_SELECT_BLOCK 2048 /* a multiple of 64 */
#define CC_SELECT_SLACK 16   /* elements that pack and indices may write after the last one */

/* The arrays of a block from which values are selected. */
struct cc_rows {
    const float *g; /* the gradient; NULL: x is up to date */
    float *x;       /* the residual: x += g first; NULL: values of g itself are selected */
    float *u;       /* the momentum: u = factor u + g, then x += u; NULL: none */
    float factor;
    size_t ahead; /* how many bytes ahead AVX-512 prefetches the arrays; 0: not at all */
};

struct k_select {
    /* In one pass: brings a block up to date, marks and packs it as below with threshold t > 0, and
     * if `clear`, sets x (not u) to 0 where it is marked. Sets *most to the largest bits of |x| and
     * |u| before that. Returns the number of marked values. */
    size_t (*take)(const struct cc_rows *rows, size_t n, uint32_t t, bool clear, uint8_t *bits,
                   float *packed, uint32_t *most);
    /* x += g; returns the largest bits of |x|, which show values that are not finite. */
    uint32_t (*add)(const float *g, float *x, size_t n);
    /* u = factor * u + g, x += u; returns the largest bits of |x| and |u|. */
    uint32_t (*add_momentum)(const float *g, float factor, float *u, float *x, size_t n);
    /* The number of |x| with bits >= t. */
    size_t (*count)(const float *x, size_t n, uint32_t t);
    /* bits[i] = whether the bits of |x[i]| are >= t; returns the number of set bits. */
    size_t (*mark)(const float *x, size_t n, uint32_t t, uint8_t *bits);
    /* The least bits of |x| that are >= t; UINT32_MAX if there are none. */
    uint32_t (*least)(const float *x, size_t n, uint32_t t);
    /* Raises the threshold of a block that was marked and packed: its set bits stand for the next
     * of *candidates, which is advanced. Keeps those with bits > t, and of those equal to t the
     * first *ties, which is counted down (SIZE_MAX: keeps all). Clears the bits of the others, and
     * packs the kept ones as below. Returns the number kept. */
    size_t (*prune)(uint8_t *bits, size_t n, const float **candidates, uint32_t t, size_t *ties,
                    float *packed);
    /* Copies the 4-byte elements of x whose bit is set; returns their number. out has room for
     * CC_SELECT_SLACK more. */
    size_t (*pack)(const void *x, const uint8_t *bits, size_t n, void *out);
    /* Writes base + i for each set bit i; returns their number. out has room for CC_SELECT_SLACK
     * more. */
    size_t (*indices)(const uint8_t *bits, size_t n, uint32_t base, uint32_t *out);
    /* x[i] = 0 where the bit is set. */
    void (*clear)(const uint8_t *bits, size_t n, float *x);
    /* x[i] -= t with the sign of x[i] where |x[i]| >= t, for a finite t > 0. */
    void (*shrink)(float *x, size_t n, float t);
};
CC_KERNELS(k_select)

#endif
