/* Products of a matrix with thin factors, for powersgd. m is a matrix of rows x cols, row by row. p
 * has rows x r values; q has cols x r values and is kept transposed, as r rows of cols.
 *
 * Sums are in double and in an order that no instruction set changes. The product of two floats is
 * exact in double, so it does not matter whether multiplication and addition are fused. */
#ifndef CC_SCHEMES_KERNELS_LOWRANK_H
#define CC_SCHEMES_KERNELS_LOWRANK_H

#include <stddef.h>
#include <stdint.h>

#include "core/isa.h"

enum cc_lowrank_mode {
    CC_LOWRANK_SET,      /* y = p q */
    CC_LOWRANK_ADD,      /* y += scale * (p q) */
    CC_LOWRANK_SUBTRACT, /* y -= p q */
};

struct k_lowrank {
    /* p[k][i] = sum over j of m[i][j] * q[k][j], over the tree of core/reduce.h. The values of q
     * are floats times a power of two, held as doubles. The rows of p are p_stride values apart. */
    void (*project)(const float *m, size_t rows, size_t cols, const double *q, size_t r, double *p,
                    size_t p_stride);
    /* q[k][j] += m[i][j] * p[i][k] for all i in order, for the columns j in [from, to); p is row by
     * row. */
    void (*back)(const float *m, size_t rows, size_t cols, size_t from, size_t to, const float *p,
                 size_t r, double *q);
    /* The dot product, over the tree of core/reduce.h. */
    double (*dot)(const double *a, const double *b, size_t n);
    /* a -= c * b */
    void (*subtract)(double *a, double c, const double *b, size_t n);
    /* Puts the product of the factors, sum over k in order of p[i][k] * q[k][j], all in float, into
     * y as `mode` says. Returns the largest bits of |y|, which show values that are not finite. */
    uint32_t (*product)(const float *p, const float *q, size_t rows, size_t cols, size_t r,
                        enum cc_lowrank_mode mode, float scale, float *y);
};
CC_KERNELS(k_lowrank)

#endif
