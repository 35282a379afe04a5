/* Convolutions of blocks (layer.h): a place has 16 channels, the weights of 16 x 16 channels are
 * together. */
#ifndef CC_TRAIN_KERNELS_CONV_H
#define CC_TRAIN_KERNELS_CONV_H

#include <stdbool.h>
#include <stddef.h>

#include "core/isa.h"

/* The weights of 16 inputs and 16 outputs at one tap; outputs vary fastest. */
#define CC_CONV_TILE ((size_t)256)

/* The most taps of a convolution, and rows of a call. */
#define CC_CONV_TAPS 9
#define CC_CONV_ROWS 32

/* out = the sum over input channels and taps of weight x in, for rows of 16 output channels. A tap
 * is an offset in floats from an output's place to the input's that it is multiplied with. */
struct cc_conv {
    size_t channels; /* the input's */
    size_t plane;    /* floats from a group of input channels to the next */
    size_t taps;
    ptrdiff_t tap[CC_CONV_TAPS];
    const float *weights[CC_CONV_TAPS]; /* by tap, for the first group of inputs */
    size_t weights_step;                /* floats to those of the next group */
    size_t in_step, out_step;           /* floats from a column to the next; in: 16 or 32 */
    size_t cols;
    bool add; /* to what `out` has */
};

/* The product of gradients and inputs, summed over places: a weight's gradient. */
struct cc_conv_weights {
    const float *in, *out; /* first place of the input at the tap, and of the output's gradient */
    size_t channels;       /* those of the input's group: 1 to 16 */
    size_t images, rows, cols;
    size_t in_image, in_row, in_col, out_image, out_row; /* floats from one to the next */
};

struct k_conv {
    /* Up to CC_CONV_ROWS rows; in[r] and out[r] are the places of the first columns. Each value is
     * one chain over groups, taps and channels, in this order. */
    void (*rows)(const struct cc_conv *c, const float *const *in, float *const *out, size_t rows);
    /* tile[i * 16 + o], of CC_CONV_TILE values: each is one chain over images, rows and columns. */
    void (*weights)(const struct cc_conv_weights *c, float *tile);
};
CC_KERNELS(k_conv)

#endif
