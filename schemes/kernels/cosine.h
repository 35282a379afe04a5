/* The discrete cosine transform of a matrix of up to 64 x 64 values: DCT-II with orthonormal basis,
 * down the columns, then along the rows; and its inverse from some of the coefficients.
 *
 * A basis function of even index is symmetric, one of odd index antisymmetric, so that sums and
 * differences of opposite values halve the products. docs/payloads.md (demo) has the order of all
 * additions, which no instruction set changes. */
#ifndef CC_SCHEMES_KERNELS_COSINE_H
#define CC_SCHEMES_KERNELS_COSINE_H

#include <stddef.h>
#include <stdint.h>

#include "core/isa.h"

/* The longest side. */
#define CC_BASIS      64
#define CC_BASIS_HALF (CC_BASIS / 2)

/* The basis of a length. Unused elements are 0. */
struct cc_basis {
    size_t n;
    float c[CC_BASIS * CC_BASIS]; /* function u at value i: c[CC_BASIS u + i] */
    /* The first half of the values: function 2 j, or 2 j + 1, at value i: [CC_BASIS_HALF i + j] */
    float even[CC_BASIS_HALF * CC_BASIS_HALF], odd[CC_BASIS_HALF * CC_BASIS_HALF];
};

struct k_cosine {
    /* The coefficients y of x; both have down->n rows of across->n. */
    void (*forward)(const struct cc_basis *down, const struct cc_basis *across, const float *x,
                    float *y);
    /* The values y of `count` coefficients q at these places in the matrix, which ascend; the
     * others are 0. */
    void (*inverse)(const struct cc_basis *down, const struct cc_basis *across,
                    const uint16_t *place, const float *q, size_t count, float *y);
};
CC_KERNELS(k_cosine)

#endif
