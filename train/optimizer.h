/* Optimizers and schedules of the learning rate. */
#ifndef CC_TRAIN_OPTIMIZER_H
#define CC_TRAIN_OPTIMIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "train/model.h"

enum cc_optimizer_kind {
    CC_SGD,   /* with momentum: v = momentum v + g, w -= rate v; Nesterov's: w -= rate (g + momentum
                 v). B. Polyak, 1964; I. Sutskever et al., 2013, in PyTorch's form */
    CC_ADAM,  /* D. Kingma and J. Ba, Adam, 2015, algorithm 1; decay is added to the gradient */
    CC_ADAMW, /* I. Loshchilov and F. Hutter, Decoupled weight decay regularization, 2019: decay
                 takes rate x decay of the weights */
};

extern const char *const cc_optimizer_names[]; /* by kind; ends with NULL */

struct cc_optimizer {
    enum cc_optimizer_kind kind;
    float momentum; /* SGD */
    bool nesterov;
    float decay;          /* for tensors of role CC_TENSOR_WEIGHT only */
    float beta[2], small; /* Adam: 0.9, 0.999 and 1e-8 are usual; small is the paper's epsilon */
};

/* Floats of state for a net of `values` values: 0, 1 or 2 for each. The state begins as zeros. */
size_t cc_optimizer_state(const struct cc_optimizer *o, size_t values);

/* Applies a gradient to the values [from, to) of the flat step, by up to `threads` threads. Weights
 * and state are those of the whole net; the gradient begins with value `from`. `step` counts from
 * 0, for each value. */
void cc_optimizer_apply(const struct cc_optimizer *o, const struct cc_model_layout *layout,
                        size_t from, size_t to, double rate, uint64_t step, const float *gradient,
                        float *weights, float *state, int threads);

enum cc_rate_kind {
    CC_RATE_CONSTANT,
    CC_RATE_STEP,   /* times `factor` from each of `drops` on */
    CC_RATE_COSINE, /* half a period, from `rate` down to `last`; I. Loshchilov and F. Hutter,
                           SGDR, 2017, without restarts */
};

extern const char *const cc_rate_names[]; /* by kind; ends with NULL */

#define CC_RATE_DROPS 8

struct cc_rate_schedule {
    enum cc_rate_kind kind;
    double rate, last, factor;
    uint64_t steps;  /* the training's */
    uint64_t warmup; /* steps at the beginning in which the rate grows linearly */
    uint64_t drops[CC_RATE_DROPS];
    size_t drop_count;
};

/* The rate of a step, which counts from 0. */
double cc_rate_at(const struct cc_rate_schedule *s, uint64_t step);

#endif
