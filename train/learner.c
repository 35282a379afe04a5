#include "train/learner.h"

#include <stdlib.h>
#include <string.h>

#include "core/memory.h"

int cc_learner_open(struct cc_learner *l, const struct cc_learner_config *config, bool changes,
                    struct cc_error *e)
{
    const size_t values = config->layout->values;
    *l = (struct cc_learner){.config = *config};
    CC_TRY(cc_alloc_floats(cc_optimizer_state(&config->optimizer, values), &l->state, e));
    return changes ? cc_alloc_floats(values, &l->before, e) : CC_OK;
}

void cc_learner_close(struct cc_learner *l)
{
    free(l->state);
    free(l->before);
    *l = (struct cc_learner){.state = NULL};
}

void cc_learner_update(struct cc_learner *l, size_t from, size_t to, uint64_t step,
                       uint64_t updates, float *gradient, float *weights)
{
    const struct cc_learner_config *c = &l->config;
    cc_gradient_clip(gradient, to - from, c->clip);
    cc_optimizer_apply(&c->optimizer, c->layout, from, to, cc_rate_at(&c->rate, step), updates,
                       gradient, weights, l->state, c->threads);
}

void cc_learner_change(struct cc_learner *l, size_t from, size_t to, uint64_t step,
                       uint64_t updates, float *gradient, float *weights)
{
    memcpy(l->before + from, weights + from, (to - from) * sizeof *weights);
    cc_learner_update(l, from, to, step, updates, gradient, weights);
    for (size_t i = from; i < to; i++) {
        gradient[i - from] = weights[i] - l->before[i];
        weights[i] = l->before[i] + gradient[i - from];
    }
}
