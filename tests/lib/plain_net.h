/* Nets in double, value by value, as slow as can be: what the nets of train/ are compared with.
 * Only forward passes; gradients come from differences of the loss. */
#ifndef CC_TESTS_LIB_PLAIN_NET_H
#define CC_TESTS_LIB_PLAIN_NET_H

#include <stddef.h>
#include <stdint.h>

/* A batch of arrays of channels x height x width values; a vector has height and width 1. */
struct plain {
    size_t count, channels, height, width;
    double *x; /* image by image, channel by channel, row by row */
};

struct plain plain_new(size_t count, size_t channels, size_t height, size_t width);
void plain_free(struct plain *a);

/* Each replaces *a by its result, and moves *w, the parameters, past its own. */
void plain_dense(struct plain *a, const double **w, size_t out);
void plain_relu(struct plain *a);
void plain_conv(struct plain *a, const double **w, size_t out, size_t stride); /* 3 x 3, no bias */
void plain_norm(struct plain *a, const double **w);                            /* over the batch */
void plain_mean(struct plain *a); /* a value for each channel */

void plain_bias(struct plain *a, const double **w); /* a value for each channel */
void plain_max_pool(struct plain *a);               /* over 2 x 2 places */

/* a += side; every second place of a side with twice the height, and zeros for channels that it
 * does not have. */
void plain_shortcut(struct plain *a, const struct plain *side);

struct plain plain_copy(const struct plain *a);

/* The mean cross entropy of the batch. */
double plain_loss(const struct plain *a, const int32_t *labels);

#endif
