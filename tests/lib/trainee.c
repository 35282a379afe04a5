#include "tests/lib/trainee.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "core/isa.h"
#include "core/memory.h"
#include "tests/lib/data.h"

static float *floats(size_t n)
{
    float *p = cc_alloc0(n * sizeof *p, NULL);
    assert_non_null(p);
    return p;
}

struct trainee trainee_open(const struct cc_model_config *config)
{
    struct trainee t = {.config = *config, .count = config->batch};
    struct cc_error e = {""};
    if (cc_model_open(config, &t.model, &e) != CC_OK)
        fail_msg("%s: %s", config->net, e.text);
    t.layout = cc_model_layout(t.model);
    size_t values = config->channels * config->height * config->width;
    uint64_t random = 7;
    t.weights = floats(t.layout->values);
    t.gradient = floats(t.layout->values);
    t.stats = floats(t.layout->stats);
    t.images = floats(t.count * values);
    const size_t labels = t.count * t.layout->labels;
    t.labels = cc_alloc0(labels * sizeof *t.labels, NULL);
    assert_non_null(t.labels);
    cc_model_init(t.model, 3, t.weights, t.stats);
    for (size_t i = 0; i < t.layout->values; i++)
        t.weights[i] += 0.2f * (float)(data_unit(&random) - 0.5);
    for (size_t i = 0; i < t.count * values; i++)
        t.images[i] = t.layout->labels > 1 ? (float)(data_random(&random) % config->classes)
                                           : (float)(2 * data_unit(&random) - 1);
    for (size_t i = 0; i < labels; i++)
        t.labels[i] = (int32_t)(data_random(&random) % config->classes);
    return t;
}

void trainee_close(struct trainee *t)
{
    cc_model_close(t->model);
    free(t->weights);
    free(t->stats);
    free(t->gradient);
    free(t->images);
    free(t->labels);
}

struct cc_model_score trainee_pass(struct trainee *t)
{
    cc_model_begin(t->model, t->images, t->labels, t->count);
    cc_model_forward(t->model, t->weights, t->stats, t->layout->count);
    cc_model_backward(t->model, t->weights, t->gradient, 0);
    return cc_model_score(t->model);
}

void trainee_same_bits(const struct cc_model_config *config)
{
    struct trainee first = trainee_open(config);
    struct cc_model_score score = trainee_pass(&first);
    enum cc_isa before = cc_isa();
    for (int isa = 0; isa < CC_ISAS; isa++)
        for (int threads = 1; threads <= 3; threads++) {
            struct cc_model_config other = *config;
            if (!cc_isa_has((enum cc_isa)isa))
                continue;
            cc_isa_force((enum cc_isa)isa);
            other.threads = threads;
            struct trainee t = trainee_open(&other);
            struct cc_model_score again = trainee_pass(&t);
            assert_true(again.loss == score.loss && again.correct == score.correct);
            for (size_t i = 0; i < t.layout->count; i++) {
                size_t at = t.layout->offset[i];
                if (memcmp(t.gradient + at, first.gradient + at,
                           t.layout->tensors[i].shape.n * sizeof(float)) != 0)
                    fail_msg("%s: the gradient of %s differs on %s with %d threads", config->net,
                             t.layout->tensors[i].name, cc_isa_name((enum cc_isa)isa), threads);
            }
            assert_memory_equal(t.stats, first.stats, t.layout->stats * sizeof(float));
            trainee_close(&t);
        }
    cc_isa_force(before);
    trainee_close(&first);
}

void trainee_leaves_nothing(const struct cc_model_config *config)
{
    struct trainee t = trainee_open(config), fresh = trainee_open(config);
    fresh.count = 1;
    (void)trainee_pass(&fresh);
    (void)trainee_pass(&t);
    assert_memory_not_equal(t.gradient, fresh.gradient, t.layout->values * sizeof(float));
    (void)cc_model_evaluate(t.model, t.weights, t.stats, t.images, t.labels, t.count);
    t.count = 1;
    (void)trainee_pass(&t);
    assert_memory_equal(t.gradient, fresh.gradient, t.layout->values * sizeof(float));
    trainee_close(&t);
    trainee_close(&fresh);
}

void trainee_gradients(const struct cc_model_config *config, trainee_loss *loss, size_t probes)
{
    struct trainee t = trainee_open(config);
    double *w = calloc(t.layout->values, sizeof *w), step = 1e-6;
    assert_non_null(w);
    for (size_t i = 0; i < t.layout->values; i++)
        w[i] = (double)t.weights[i];
    double is = trainee_pass(&t).loss, should = loss(&t, w);
    if (!(fabs(is - should) <= 1e-5 * should))
        fail_msg("%s: the loss is %.9g, not %.9g", config->net, is, should);
    for (size_t k = 0; k < t.layout->count; k++) {
        size_t n = t.layout->tensors[k].shape.n, some = n < probes ? n : probes;
        double error = 0, norm = 0;
        for (size_t i = 0; i < some; i++) {
            size_t at = t.layout->offset[k] + i * n / some;
            double here = w[at];
            w[at] = here + step;
            double above = loss(&t, w);
            w[at] = here - step;
            double slope = (above - loss(&t, w)) / (2 * step);
            w[at] = here;
            error += (slope - (double)t.gradient[at]) * (slope - (double)t.gradient[at]);
            norm += slope * slope;
        }
        if (!(sqrt(error) <= 1e-4 * sqrt(norm) + 1e-8))
            fail_msg("%s: the gradient of %s is off by %.3g, with norm %.3g", config->net,
                     t.layout->tensors[k].name, sqrt(error), sqrt(norm));
    }
    free(w);
    trainee_close(&t);
}
