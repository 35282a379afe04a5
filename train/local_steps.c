#include "train/local_steps.h"

#include <string.h>

#include "core/random.h"

enum { STREAM = 0x71 }; /* of random numbers */

struct cc_learner_config cc_local_outer(const struct cc_local_config *c,
                                        const struct cc_model_layout *layout, int threads)
{
    return (struct cc_learner_config){
        .optimizer = c->outer,
        .rate = {.kind = CC_RATE_CONSTANT, .rate = c->outer_rate, .factor = 1},
        .layout = layout,
        .threads = threads};
}

/* The workers in the order of a random number of each; equal ones by their place. */
bool cc_local_sends(const struct cc_local_config *c, uint64_t seed, uint64_t exchange,
                    size_t worker, size_t workers)
{
    const struct cc_random_id id = {.seed = seed, .rank = -1, .step = exchange, .stream = STREAM};
    const struct cc_key key = cc_key(&id, 0);
    const uint32_t own = cc_random(key, (uint32_t)worker);
    size_t before = 0;
    for (size_t i = 0; i < workers && c->quorum > 0; i++) {
        const uint32_t other = cc_random(key, (uint32_t)i);
        before += other < own || (other == own && i < worker);
    }
    return c->quorum == 0 || before < c->quorum;
}

size_t cc_local_floats(const struct cc_local_steps *l)
{
    const size_t values = l->inner.layout->values;
    return values + cc_optimizer_state(&l->inner.optimizer, values) +
           (l->config.quorum > 0 ? values : 0);
}

struct cc_model_score cc_local_step(const struct cc_local_steps *l, struct cc_task *task,
                                    size_t step, size_t worker, float *own, float *stats,
                                    float *gradient)
{
    const struct cc_learner_config *c = &l->inner;
    const size_t values = c->layout->values;
    const struct cc_model_score score = cc_task_gradient(task, step, worker, own, stats, gradient);
    cc_gradient_clip(gradient, values, c->clip);
    cc_optimizer_apply(&c->optimizer, c->layout, 0, values, cc_rate_at(&c->rate, step), step,
                       gradient, own, own + values, c->threads);
    return score;
}

void cc_local_difference(size_t from, size_t to, const float *shared, const float *own, float *out)
{
    for (size_t i = from; i < to; i++)
        out[i] = shared[i] - own[i];
}

void cc_local_keep(const struct cc_local_steps *l, bool sends, float *own, float *difference)
{
    const size_t values = l->inner.layout->values;
    const float beta = (float)l->config.beta;
    float *kept = own + cc_local_floats(l) - values;
    for (size_t i = 0; i < values && l->config.quorum > 0; i++) {
        const float sum = difference[i] + beta * kept[i];
        kept[i] = sends ? 0 : sum;
        difference[i] = sends ? sum : 0;
    }
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
