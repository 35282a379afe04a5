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
    CC_SIGNUM, /* J. Bernstein et al., signSGD, 2018, algorithm 2: v = momentum v + g, w -= rate
                  (sign(v) + decay w), with sign(0) = 0. Without momentum it is the update of DeMo
                  (Peng, Quesnelle, Kingma, 2024, algorithm 1), whose momentum the scheme keeps */
};

extern const char *const cc_optimizer_names[]; /* by kind; ends with NULL */

struct cc_optimizer {
    enum cc_optimizer_kind kind;
    float momentum; /* SGD, signum */
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

/* The same, where weights and both arrays of state begin with value `from`, too; arrays that the
 * optimizer does not have are not read. */
void cc_optimizer_apply_part(const struct cc_optimizer *o, const struct cc_model_layout *layout,
                             size_t from, size_t to, double rate, uint64_t step,
                             const float *gradient, float *weights, float *first, float *second,
                             int threads);

/* The factor for a gradient of that norm: clip / (norm + 1e-6) if the norm is above clip, or 1. */
double cc_clip_factor(double norm, double clip);

/* Scales a gradient of n values by clip / (its norm + 1e-6) if its norm is above clip: R. Pascanu
 * et al., On the difficulty of training recurrent neural networks, 2013, algorithm 1. The sum of
 * squares is in double (core/reduce.h). clip 0: leaves it as it is. */
void cc_gradient_clip(float *gradient, size_t n, double clip);

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
