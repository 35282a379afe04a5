#include "train/optimizer.h"

#include <math.h>

#include "core/parallel.h"
#include "core/reduce.h"
#include "train/kernels/update.h"
#include "train/math.h"

const char *const cc_optimizer_names[] = {"sgd", "adam", "adamw", "signum", NULL};
const char *const cc_rate_names[] = {"constant", "step", "cosine", NULL};

size_t cc_optimizer_state(const struct cc_optimizer *o, size_t values)
{
    if (o->kind == CC_SGD || o->kind == CC_SIGNUM)
        return o->momentum > 0 ? values : 0;
    return 2 * values;
}

static double power(double x, uint64_t n)
{
    double result = 1;
    for (; n > 0; n >>= 1, x *= x)
        result *= n & 1 ? x : 1;
    return result;
}

static struct cc_update update_of(const struct cc_optimizer *o, double rate, uint64_t step)
{
    struct cc_update u = {.rate = (float)rate,
                          .momentum = o->momentum,
                          .decay = o->decay,
                          .small = o->small,
                          .keep = 1};
    for (int i = 0; i < 2; i++) {
        u.beta[i] = o->beta[i];
        u.rest[i] = (float)(1 - (double)o->beta[i]);
        u.unbias[i] = (float)(1 / (1 - power((double)o->beta[i], step + 1)));
    }
    return u;
}

/* A range of values of one tensor, cut into parts. */
struct range {
    const struct cc_optimizer *optimizer;
    struct cc_update update;
    const float *gradient;
    float *weights, *first, *second; /* second: Adam's */
    size_t values;
    int parts;
};

static void apply_part(void *arg, int part)
{
    const struct range *r = arg;
    size_t from = cc_part_begin(r->values, r->parts, part, 16);
    size_t n = cc_part_begin(r->values, r->parts, part + 1, 16) - from;
    const float *g = r->gradient + from;
    float *w = r->weights + from;
    if (r->optimizer->kind == CC_SIGNUM)
        k_update()->signum(&r->update, g, w, r->first != NULL ? r->first + from : NULL, n);
    else if (r->optimizer->kind != CC_SGD)
        k_update()->adam(&r->update, g, w, r->first + from, r->second + from, n);
    else if (r->optimizer->momentum > 0)
        k_update()->momentum(&r->update, r->optimizer->nesterov, g, w, r->first + from, n);
    else
        k_update()->plain(&r->update, g, w, n);
}

void cc_optimizer_apply(const struct cc_optimizer *o, const struct cc_model_layout *layout,
                        size_t from, size_t to, double rate, uint64_t step, const float *gradient,
                        float *weights, float *state, int threads)
{
    float *first = state != NULL ? state + from : NULL;
    cc_optimizer_apply_part(o, layout, from, to, rate, step, gradient, weights + from, first,
                            first != NULL ? first + layout->values : NULL, threads);
}

void cc_optimizer_apply_part(const struct cc_optimizer *o, const struct cc_model_layout *layout,
                             size_t from, size_t to, double rate, uint64_t step,
                             const float *gradient, float *weights, float *first, float *second,
                             int threads)
{
    const struct cc_update update = update_of(o, rate, step);
    for (size_t t = 0; t < layout->count; t++) {
        const size_t at = from > layout->offset[t] ? from : layout->offset[t];
        const size_t end = to < layout->offset[t + 1] ? to : layout->offset[t + 1];
        if (at >= end)
            continue;
        const size_t values = end - at;
        struct range r = {.optimizer = o,
                          .update = update,
                          .gradient = gradient + (at - from),
                          .weights = weights + (at - from),
                          .values = values,
                          .parts = cc_parts(threads, values, CC_PART_VALUES)};
        size_t states = cc_optimizer_state(o, 1);
        r.first = states > 0 ? first + (at - from) : NULL;
        r.second = states > 1 ? second + (at - from) : NULL;
        if (layout->role[t] != CC_TENSOR_WEIGHT)
            r.update.decay = 0;
        if (o->kind == CC_ADAMW || o->kind == CC_SIGNUM) {
            r.update.keep = (float)(1 - rate * (double)r.update.decay);
            r.update.decay = 0;
        }
        cc_parallel(r.parts, apply_part, &r);
    }
}

double cc_clip_factor(double norm, double clip)
{
    const double by = clip / (norm + 1e-6);
    return by < 1 ? by : 1;
}

void cc_gradient_clip(float *gradient, size_t n, double clip)
{
    if (clip <= 0)
        return;
    const double by = cc_clip_factor(sqrt(k_reduce()->sum_sq(gradient, n)), clip);
    for (size_t i = 0; i < n; i++)
        gradient[i] *= (float)by;
}

double cc_rate_at(const struct cc_rate_schedule *s, uint64_t step)
{
    double rate = s->rate;
    if (step < s->warmup)
        return rate * (double)(step + 1) / (double)s->warmup;
    for (size_t i = 0; s->kind == CC_RATE_STEP && i < s->drop_count; i++)
        rate *= step >= s->drops[i] ? s->factor : 1;
    if (s->kind == CC_RATE_COSINE) {
        double length = s->steps > s->warmup ? (double)(s->steps - s->warmup) : 1;
        double done = (double)(step - s->warmup) / length;
        rate = s->last + (rate - s->last) * 0.5 * (1 + cc_train_cos_pi(done < 1 ? done : 1));
    }
    return rate;
}
