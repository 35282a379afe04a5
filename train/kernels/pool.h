/* Pooling of blocks (layer.h): each call works on a row of places of 16 channels. */
#ifndef CC_TRAIN_KERNELS_POOL_H
#define CC_TRAIN_KERNELS_POOL_H

#include <stddef.h>

#include "core/isa.h"

struct k_pool {
    /* y[c] = the largest of x[2 c], x[2 c + 1] and the same places of the next row. */
    void (*largest)(const float *x, size_t row, size_t cols, float *y);
    /* dx = dy at the first of the four places that has the largest value, and 0 at the others. */
    void (*largest_back)(const float *x, size_t row, size_t cols, const float *y, const float *dy,
                         float *dx);
};
CC_KERNELS(k_pool)

#endif
