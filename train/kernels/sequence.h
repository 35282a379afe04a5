/* Kernels of layers on sequences: LSTM, attention, layer normalization. All work on columns
 * (layer.h), 16 images at a time: `stride` floats are between the same image's values at a place
 * and the next, `row` between features. */
#ifndef CC_TRAIN_KERNELS_SEQUENCE_H
#define CC_TRAIN_KERNELS_SEQUENCE_H

#include <stddef.h>

#include "core/isa.h"

/* The most places that attention takes. */
#define CC_ATTENTION_PLACES 256

/* One unit of an LSTM at one place, for n columns: arrays of n values. */
struct cc_lstm_unit {
    float *gate[4];      /* input, forget, cell, output: the sums, then their sigmoid, or tanh */
    const float *before; /* the cell at the place before; NULL: zeros */
    float *cell, *squashed, *out; /* the cell, its tanh, and output x tanh */
};

/* Its gradients. */
struct cc_lstm_back {
    float *gate[4];   /* with respect to the sums; written */
    float *cell;      /* in: of this place's cell, from the place after; out: of the one
                         before */
    const float *out; /* the output's */
};

/* One head's queries, keys and values: `features` rows each, T places; and what comes out. */
struct cc_attention {
    size_t features, places, stride, row;
    const float *q, *k, *v;
    float *likely; /* for each pair of places, 16 values: query's place first */
    float *out;
};

struct k_sequence {
    void (*lstm)(const struct cc_lstm_unit *u, size_t n);
    void (*lstm_back)(const struct cc_lstm_unit *u, const struct cc_lstm_back *b, size_t n);

    /* out = softmax(q k / sqrt(features)) v */
    void (*attention)(const struct cc_attention *a);
    /* dq, dk, dv laid out as q, k, v. */
    void (*attention_back)(const struct cc_attention *a, const float *dout, float *dq, float *dk,
                           float *dv);

    /* Normalizes 16 columns over their features: mean and inverse deviation of each are written.
     * shift: NULL for none. */
    void (*norm)(const float *x, size_t features, size_t row, const float *scale,
                 const float *shift, float *mean, float *inverse, float *y);
    /* The gradient of x, which is added to dx if `add`. */
    void (*norm_back)(const float *x, size_t features, size_t row, const float *scale,
                      const float *mean, const float *inverse, const float *dy, int add, float *dx);
    /* The sum over n columns of dy (x - mean) inverse, as k_dense's sum. */
    float (*norm_product)(const float *x, const float *mean, const float *inverse, const float *dy,
                          size_t n);
};
CC_KERNELS(k_sequence)

#endif
