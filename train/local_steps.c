#include "train/local_steps.h"

#include <string.h>

struct cc_learner_config cc_local_outer(const struct cc_local_config *c,
                                        const struct cc_model_layout *layout, int threads)
{
    return (struct cc_learner_config){
        .optimizer = c->outer,
        .rate = {.kind = CC_RATE_CONSTANT, .rate = c->outer_rate, .factor = 1},
        .layout = layout,
        .threads = threads};
}

size_t cc_local_floats(const struct cc_local_steps *l)
{
    const size_t values = l->inner.layout->values;
    return values + cc_optimizer_state(&l->inner.optimizer, values);
}

struct cc_model_score cc_local_step(const struct cc_local_steps *l, struct cc_task *task,
                                    size_t step, size_t worker, float *own, float *stats,
                                    float *gradient)
{
    const struct cc_learner_config *c = &l->inner;
    const size_t values = c->layout->values;
    const struct cc_model_score score = cc_task_gradient(task, step, worker, own, stats, gradient);
    cc_optimizer_apply(&c->optimizer, c->layout, 0, values, cc_rate_at(&c->rate, step), step,
                       gradient, own, own + values, c->threads);
    return score;
}

void cc_local_difference(size_t from, size_t to, const float *shared, const float *own, float *out)
{
    for (size_t i = from; i < to; i++)
        out[i] = shared[i] - own[i];
}

void cc_local_take(const struct cc_local_steps *l, size_t from, size_t to, const float *shared,
                   float *own)
{
    const float mix = l->config.delay > 0 ? (float)l->config.mix : 0;
    if (mix > 0)
        for (size_t i = from; i < to; i++)
            own[i] = mix * own[i] + (1 - mix) * shared[i];
    else
        memcpy(own + from, shared + from, (to - from) * sizeof *own);
}
