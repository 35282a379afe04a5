/* A learner applies mean gradients to a copy of the parameters: an optimizer with its schedule and
 * its state. Every worker has one, or, where servers send model deltas, every server. */
#ifndef CC_TRAIN_LEARNER_H
#define CC_TRAIN_LEARNER_H

#include "core/error.h"
#include "train/optimizer.h"

struct cc_learner_config {
    struct cc_optimizer optimizer;
    struct cc_rate_schedule rate;
    const struct cc_model_layout *layout; /* must outlive the learner */
    /* Gradients are clipped to this norm (cc_gradient_clip) before the optimizer has them, so that
     * an update takes all values at once; 0: they are not. */
    double clip;
    int threads;
};

struct cc_learner {
    struct cc_learner_config config;
    float *state;
    float *before; /* parameters before an update; NULL: cc_learner_change is not used */
};

/* `changes`: cc_learner_change will be used. Close it also after an error; all zeros are nothing to
 * close. */
int cc_learner_open(struct cc_learner *l, const struct cc_learner_config *config, bool changes,
                    struct cc_error *e);
void cc_learner_close(struct cc_learner *l);

/* Updates weights [from, to) by their mean gradient, which begins with value `from`, and may change
 * it. `step` counts
 * the training's steps, `updates` those in which these values were updated, both from 0. Values
 * may be updated in any parts and order. */
void cc_learner_update(struct cc_learner *l, size_t from, size_t to, uint64_t step,
                       uint64_t updates, float *gradient, float *weights);

/* The same, and turns the mean gradient into the weights' change. Whoever adds that change to equal
 * weights gets the same ones: they are rounded as a sum. */
void cc_learner_change(struct cc_learner *l, size_t from, size_t to, uint64_t step,
                       uint64_t updates, float *gradient, float *weights);

#endif
