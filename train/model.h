/* Nets that are trained: an input, layers, and the cross entropy of the classes. A model computes
 * the loss of a batch and its gradient; optimizer.h applies a gradient.
 *
 * Parameters are one flat step, the values of all tensors in the net's order, and belong to the
 * caller, as do gradients and running statistics: several workers can share a model, which holds
 * the layers' values of one batch at a time.
 *
 * The same batch and parameters give the same bits on every instruction set and with any number of
 * threads: each sum is a chain of fused multiply-additions in an order that nothing changes
 * (docs/train.md).
 *
 *   cc_model_begin(m, images, labels, count);
 *   cc_model_forward(m, weights, stats, layout->count);
 *   score = cc_model_score(m);
 *   cc_model_backward(m, weights, gradient, 0);
 *
 * Both passes can be made in parts: forward up to a tensor, as soon as the parameters before it
 * have come, and backward down to a tensor, whose gradient can then be sent. */
#ifndef CC_TRAIN_MODEL_H
#define CC_TRAIN_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/tensor.h"

struct cc_model_config {
    const char *net;                /* one of cc_model_names */
    size_t channels, height, width; /* an image's */
    size_t classes;                 /* 2 or more */
    size_t batch;                   /* the most images of a call, 1 or more */
    int threads;                    /* cc_parallel_check is the caller's */
};

/* The role of a tensor in a net. */
enum cc_tensor_role {
    CC_TENSOR_WEIGHT,
    CC_TENSOR_BIAS,
    CC_TENSOR_SCALE, /* a normalization's; its shift is a bias */
};

/* A net's tensors and the statistics that it keeps. */
struct cc_model_layout {
    const struct cc_tensor_info *tensors; /* from the input to the output */
    const size_t *offset;                 /* each tensor's in a flat step; count + 1 of them */
    const enum cc_tensor_role *role;
    size_t count, values; /* tensors, and the values of all of them */
    /* Running means and variances of batch normalizations, in the net's order. They are not
     * parameters and have no gradient. Workers average them as they are. */
    size_t stats;
    size_t tied;   /* tensors, the first ones, that layers at the end of the net read, too */
    size_t labels; /* of a sample: 1, or those of cc_model_labels */
};

/* Loss and hits of a number of images. */
struct cc_model_score {
    double loss;    /* the mean cross entropy, with natural logarithms */
    size_t correct; /* labels that have the largest output, the first of equals */
};

struct cc_model;

/* The nets' names, for help and messages: "mlp:WIDTH-WIDTH-..., resnet20, ...", and those of linear
 * models (train/linear/linear.h). */
extern const char cc_model_names[];

/* The labels of a sample: a language model's (train/gpt.h) has one for each of its `width` tokens.
 */
size_t cc_model_labels(const char *net, size_t width);

/* Makes the net for these images; an unknown name, and an image that the net cannot take, is
 * CC_USAGE. *out is set on success only. */
int cc_model_open(const struct cc_model_config *config, struct cc_model **out, struct cc_error *e);

/* The same for a language model (train/gpt.h) that takes one sample at a time, on one thread;
 * *context is the length of a sample. */
int cc_model_open_language(const char *net, struct cc_model **out, size_t *context,
                           struct cc_error *e);
void cc_model_close(struct cc_model *m); /* NULL is nothing to close */

/* Belongs to the model. */
const struct cc_model_layout *cc_model_layout(const struct cc_model *m);

/* Bytes that the model holds. */
size_t cc_model_bytes(const struct cc_model *m);

/* Writes initial parameters and statistics, which depend on the net and the seed alone. */
void cc_model_init(const struct cc_model *m, uint64_t seed, float *weights, float *stats);

/* Begins a step on 1 to config.batch images, each channels x height x width values, row by row,
 * which must stay as they are until the backward pass is done; layout->labels labels for each, 0 <=
 * labels[i] < classes. */
void cc_model_begin(struct cc_model *m, const float *images, const int32_t *labels, size_t count);

/* Continues the forward pass by all layers whose parameters are before tensor `end`; with `end` =
 * layout->count to its end. Updates the running statistics by the batch's, with weight 0.1. */
void cc_model_forward(struct cc_model *m, const float *weights, float *stats, size_t end);

/* The score of the step's images, after the whole forward pass. */
struct cc_model_score cc_model_score(const struct cc_model *m);

/* Continues the backward pass until the gradients of the tensors from `first` on are complete; with
 * 0 to its end. Writes (does not add) the gradient of the mean loss to `gradient`, a flat step;
 * values of tensors before `first` may be written, too. The weights must be those of the forward
 * pass. */
void cc_model_backward(struct cc_model *m, const float *weights, float *gradient, size_t first);

/* The score of any number of images, with the running statistics; ends a step that has begun. */
struct cc_model_score cc_model_evaluate(struct cc_model *m, const float *weights,
                                        const float *stats, const float *images,
                                        const int32_t *labels, size_t count);

/* Writes the net's output for each class at one of the step's labels, after the whole forward pass,
 * or after an evaluation of up to config.batch images. */
void cc_model_output(const struct cc_model *m, size_t label, float *out);

#endif
