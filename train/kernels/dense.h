/* Products of matrices, for dense layers. */
#ifndef CC_TRAIN_KERNELS_DENSE_H
#define CC_TRAIN_KERNELS_DENSE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/isa.h"

/* c = a b, or c + a b: c has rows x cols values, a rows x depth, b depth x cols. Rows of b and c
 * are b_row and c_row values apart; a may be transposed: a(i, k) is a[i * a_row + k * a_col]. Rows
 * of b are readable up to the next multiple of 16 columns. */
struct cc_product {
    size_t rows, cols, depth;
    const float *a, *b;
    size_t a_row, a_col, b_row, c_row;
    float *c;
    bool add;          /* to what c has; otherwise to `bias` */
    const float *bias; /* by row; NULL: 0 */
};

struct k_dense {
    /* The rows [from, to) of c. Each value is one chain of fused multiply-additions, from what it
     * is added to, over k in order. */
    void (*product)(const struct cc_product *p, size_t from, size_t to);
    /* to[j][i] = from[i][j]; rows are from_row and to_row values apart. */
    void (*transpose)(const float *from, size_t rows, size_t cols, size_t from_row, float *to,
                      size_t to_row);
    /* The sum of n values: 16 sums of every sixteenth value, which are then added in order. */
    float (*sum)(const float *x, size_t n);
    /* x = max(x, 0); NaN stays. */
    void (*relu)(float *x, size_t n);
    /* dy = 0 where y is not above 0. */
    void (*relu_back)(const float *y, float *dy, size_t n);
};
CC_KERNELS(k_dense)

#endif
