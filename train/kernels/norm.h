/* Batch normalization, shortcuts and ReLU of blocks (layer.h): each call works on one image and one
 * group of 16 channels; constants are per channel. */
#ifndef CC_TRAIN_KERNELS_NORM_H
#define CC_TRAIN_KERNELS_NORM_H

#include <stdbool.h>
#include <stddef.h>

#include "core/isa.h"

/* height x width places of 16 channels; rows are `row` floats apart in every array. */
struct cc_norm_area {
    size_t height, width, row;
};

/* A shortcut's origin: of the same area, or of one with twice its places in each direction, of
 * which every second counts. */
struct cc_norm_side {
    const float *x; /* NULL: none */
    size_t row, col;
};

struct k_norm {
    /* The sum of each channel, and the sum of squares about the mean. Each is the sum of four
     * chains, of every fourth column. */
    void (*moments)(const struct cc_norm_area *a, const float *x, float *sum, float *squares);
    /* y = x scale + shift, + side; then max(y, 0) if `relu`. */
    void (*apply)(const struct cc_norm_area *a, const float *x, const float *scale,
                  const float *shift, const struct cc_norm_side *side, bool relu, float *y);
    /* With relu, sets dy to 0 where y is not above 0. The sums of dy, and of dy (x - mean), as
     * `moments` sums. */
    void (*back_sums)(const struct cc_norm_area *a, const float *x, const float *mean,
                      const float *y, bool relu, float *dy, float *sum, float *product);
    /* dx = by_dy dy + by_x (x - mean) + shift */
    void (*back)(const struct cc_norm_area *a, const float *x, const float *mean, const float *dy,
                 const float *by_dy, const float *by_x, const float *shift, float *dx);
};
CC_KERNELS(k_norm)

#endif
