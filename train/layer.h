/* Layers, for the files of train/ alone.
 *
 * A layer computes the values of its output from those of its input, and in the backward pass the
 * gradient of its input from that of its output, and the gradients of its own tensors. Values stand
 * in activations, in one of two layouts:
 *
 * columns  a row for each feature, a column for each image (and for each place of a sequence: place
 *          p of image n is column p * stride + n). `stride` is the batch, rounded up to whole
 *          groups; columns of images that are not there hold anything. Their gradients are zeros,
 *          of a place without sequence (places 1) in whole groups of those that are there.
 * blocks   for each image and each group of 16 channels, height + 2 rows of width + 2 places of 16
 *          channels: a border of zeros around the image, so that convolutions need no cases.
 *          Channels beyond the last hold zeros.
 *
 * Gradients take their memory in turn: build.c gives an activation's gradient a buffer from the
 * layer that writes it first in the backward pass to the layer that has made the activation. */
#ifndef CC_TRAIN_LAYER_H
#define CC_TRAIN_LAYER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "train/model.h"

/* The images or channels that are laid out together. */
#define CC_TRAIN_GROUP ((size_t)16)

static inline size_t cc_train_groups(size_t n)
{
    return (n + CC_TRAIN_GROUP - 1) / CC_TRAIN_GROUP;
}

struct cc_act {
    size_t channels, height, width;
    bool blocks;   /* the layout; columns: channels * height * width features */
    size_t places; /* columns: of a sequence; otherwise 1 */
    size_t size;   /* floats */
    float *value, *grad;
};

/* Floats of a row, a group of channels and an image of blocks. */
static inline size_t cc_act_row(const struct cc_act *a)
{
    return (a->width + 2) * CC_TRAIN_GROUP;
}

static inline size_t cc_act_plane(const struct cc_act *a)
{
    return (a->height + 2) * cc_act_row(a);
}

static inline size_t cc_act_image(const struct cc_act *a)
{
    return cc_train_groups(a->channels) * cc_act_plane(a);
}

/* The place of an image, not of its border. */
static inline size_t cc_act_at(const struct cc_act *a, size_t y, size_t x)
{
    return (y + 1) * cc_act_row(a) + (x + 1) * CC_TRAIN_GROUP;
}

/* An image's channel, from its border on, in values or gradients. */
static inline size_t cc_act_channel(const struct cc_act *a, size_t image, size_t channel)
{
    return image * cc_act_image(a) + channel / CC_TRAIN_GROUP * cc_act_plane(a) +
           channel % CC_TRAIN_GROUP;
}

/* The values of an image's group of channels, from its border on. */
static inline float *cc_act_group(const struct cc_act *a, size_t image, size_t group)
{
    return a->value + image * cc_act_image(a) + group * cc_act_plane(a);
}

/* Common to all layers of a pass. */
struct cc_pass {
    const float *images;
    const int32_t *labels;
    size_t count;  /* images */
    size_t stride; /* columns of a place: the model's batch in whole groups */
    int threads;
    bool training; /* otherwise running statistics stand for the batch's */
    const float *weights;
    float *stats;         /* training: running statistics, which the layers update */
    const float *running; /* evaluating: those that they use */
    float *gradient;
    float *scratch; /* as much as the layers asked for, between calls free */
    struct cc_model_score *score;
};

/* Columns of a place that are computed: the images in whole groups. */
static inline size_t cc_pass_columns(const struct cc_pass *p)
{
    return cc_train_groups(p->count) * CC_TRAIN_GROUP;
}

struct cc_layer;

struct cc_layer_ops {
    void (*forward)(struct cc_layer *l, const struct cc_pass *p);
    void (*backward)(struct cc_layer *l, const struct cc_pass *p); /* NULL: none */
    /* In their place: the same for some images of blocks, which threads share. */
    void (*forward_images)(struct cc_layer *l, const struct cc_pass *p, size_t from, size_t to);
    void (*backward_images)(struct cc_layer *l, const struct cc_pass *p, size_t from, size_t to);
    bool adds; /* the backward pass heeds in_adds; for others, building a net that needs it fails */
};

/* The head of every layer. */
struct cc_layer {
    const struct cc_layer_ops *ops;
    struct cc_act *in, *out; /* the same for layers that work in place; in is NULL for the first */
    struct cc_act *side;     /* a shortcut's origin, or NULL */
    size_t tensor, tensors;  /* the layer's tensors: the first one, their number */
    const size_t *offset;    /* these tensors', and one more */
    size_t stats;            /* the layer's running statistics begin here */
    /* In the backward pass: whether the gradient of `in`, or of `side`, is added to what is there;
     * whether that of `side` is the same array as that of `out`, so that nothing is to be done; and
     * whether anyone asks for that of `in`. */
    bool in_adds, side_adds, side_shares, in_wanted;
};

#endif
