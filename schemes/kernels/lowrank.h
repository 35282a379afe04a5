/* Products with a tall and a wide factor of few columns, for powersgd. m is a matrix of `cols`
 * columns, row by row; a factor of cols x r is kept transposed, as r rows of cols.
 *
 * Sums are in double and in an order that no instruction set changes. The product of two floats is
 * exact in double, so it does not matter whether a multiplication and an addition are fused. */
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
    /* p[k][i] = the sum over j of m[i][j] * q[k][j], over the tree of core/reduce.h. The values of
     * q are floats times a power of two, held as doubles. p has a stride of p_stride values. */
    void (*project)(const float *m, size_t rows, size_t cols, const double *q, size_t r, double *p,
                    size_t p_stride);
    /* q[k][j] += m[i][j] * p[i][k], for i in order and the columns j from `from` to `to` - 1; p is
     * row by row. */
    void (*back)(const float *m, size_t rows, size_t cols, size_t from, size_t to, const float *p,
                 size_t r, double *q);
    /* As in core/reduce.h, for doubles. */
    double (*dot)(const double *a, const double *b, size_t n);
    /* a -= c * b */
    void (*subtract)(double *a, double c, const double *b, size_t n);
    /* (p q)[i][j] = the sum over k, in order, of p[i][k] * q[k][j], all in float. Returns the max
     * of the bits of |y|. */
    uint32_t (*product)(const float *p, const float *q, size_t rows, size_t cols, size_t r,
                        enum cc_lowrank_mode mode, float scale, float *y);
};
CC_KERNELS(k_lowrank)

#endif
