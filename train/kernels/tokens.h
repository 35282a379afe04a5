/* Kernels of language models, on columns (train/layer.h), where each token is a column. */
#ifndef CC_TRAIN_KERNELS_TOKENS_H
#define CC_TRAIN_KERNELS_TOKENS_H

#include <stddef.h>
#include <stdint.h>

#include "core/isa.h"

struct k_tokens {
    /* 16 columns of `rows` scores, rows `row` floats apart. Column l has the rows up to first + l:
     * they become exp(scale x - the largest) by its sum, and the others 0. */
    void (*softmax)(float *x, size_t row, size_t rows, size_t first, float scale);
    /* d, the gradient of `likely`, which is what softmax has left, becomes that of its scores. */
    void (*softmax_back)(const float *likely, float *d, size_t row, size_t rows, float scale);
    /* GELU by its tanh form (D. Hendrycks and K. Gimpel, 2016): x times the sigmoid of 2 sqrt(2/pi)
     * (x + 0.044715 x^3). */
    void (*gelu)(const float *x, float *y, size_t n);
    void (*gelu_back)(const float *x, const float *dy, float *dx, size_t n);
    /* y = gate x sigmoid(gate) x value */
    void (*swiglu)(const float *gate, const float *value, float *y, size_t n);
    void (*swiglu_back)(const float *gate, const float *value, const float *dy, float *dgate,
                        float *dvalue, size_t n);
    /* (x, y) turned by angles of these cosines and sines, in place. */
    void (*turn)(float *x, float *y, const float *cosine, const float *sine, size_t n);
    /* Cross entropy of 16 columns of `classes` outputs, rows `row` floats apart: the largest output
     * of each, its class (the first of equals), and the sum of exp(output - largest). */
    void (*entropy)(const float *x, size_t row, size_t classes, float *top, int32_t *best,
                    float *sum);
    /* dx = by x exp(output - top) / sum, for each class. */
    void (*entropy_back)(const float *x, size_t row, size_t classes, const float *top,
                         const float *sum, float by, float *dx);
};
CC_KERNELS(k_tokens)

#endif
