/* Products of matrices by several threads. */
#ifndef CC_TRAIN_PRODUCT_H
#define CC_TRAIN_PRODUCT_H

#include <stdbool.h>
#include <stddef.h>

#include "train/kernels/dense.h"

void cc_product_run(const struct cc_product *product, int threads);

/* The columns of a dense layer's input and output: rows of features, `row` values apart. */
struct cc_columns {
    size_t in, out; /* features */
    size_t count;   /* columns */
    size_t row;
};

/* dw = dy x transposed(x): the gradient of weights, [out][in]. `turned` has room for x, transposed:
 * `count` rows of cc_train_groups(in) groups. */
void cc_product_weights(const struct cc_columns *c, const float *dy, const float *x, float *turned,
                        float *dw, int threads);

/* dx = transposed(w) x dy, or dx + that: the gradient of the input. */
void cc_product_input(const struct cc_columns *c, const float *w, const float *dy, float *dx,
                      bool add, int threads);

#endif
