/* Residual nets: gradients, bits, parts of passes, running statistics, and that one learns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "models/net.h"
#include "tests/lib/number.h"
#include "tests/lib/tier.h"
#include "tests/lib/trainee.h"
#include "train/task.h"

static size_t width_of; /* the width of loss_of_resnet8's net */

static double loss_of_resnet8(const struct trainee *t, const double *w)
{
    const struct cc_model_config *c = &t->config;
    struct plain a = plain_new(t->count, c->channels, c->height, c->width);
    for (size_t i = 0; i < t->count * c->channels * c->height * c->width; i++)
        a.x[i] = (double)t->images[i];
    plain_conv(&a, &w, width_of, 1);
    plain_norm(&a, &w);
    plain_relu(&a);
    for (size_t stage = 0; stage < 3; stage++) {
        struct plain side = plain_copy(&a);
        plain_conv(&a, &w, width_of << stage, stage > 0 ? 2 : 1);
        plain_norm(&a, &w);
        plain_relu(&a);
        plain_conv(&a, &w, width_of << stage, 1);
        plain_norm(&a, &w);
        plain_shortcut(&a, &side);
        plain_relu(&a);
        plain_free(&side);
    }
    plain_mean(&a);
    plain_dense(&a, &w, c->classes);
    double loss = plain_loss(&a, t->labels);
    plain_free(&a);
    return loss;
}

static const struct cc_model_config small = {.net = "resnet8:width=5",
                                             .channels = 3,
                                             .height = 9,
                                             .width = 7,
                                             .classes = 4,
                                             .batch = 5,
                                             .threads = 1};
static const struct cc_model_config wide = {.net = "resnet8:width=20",
                                            .channels = 1,
                                            .height = 8,
                                            .width = 8,
                                            .classes = 3,
                                            .batch = 2,
                                            .threads = 1};

static void gradients(void **state)
{
    (void)state;
    width_of = 5;
    trainee_gradients(&small, loss_of_resnet8, tier_pick(5, 2, 20));
    width_of = 20;
    trainee_gradients(&wide, loss_of_resnet8, tier_pick(2, 1, 4));
}

/* Images and rows beyond what a call of the kernels takes, and enough work for three threads. */
static void same_bits(void **state)
{
    (void)state;
    struct cc_model_config more = small;
    trainee_same_bits(&small);
    more.net = "resnet8";
    more.batch = 19;
    more.height = 12;
    more.width = 22;
    trainee_same_bits(&more);
}

/* The tensors are those of the net that `model` lists. */
static void tensors_are_the_listed_ones(void **state)
{
    (void)state;
    static const char *const names[] = {"resnet20", "resnet110"};
    for (size_t k = 0; k < 2; k++) {
        struct cc_model_config config = {names[k], 3, 32, 32, 10, 1, 1};
        struct cc_model *model;
        struct cc_net *net;
        assert_int_equal(cc_net_open(names[k], &net, NULL), CC_OK);
        assert_int_equal(cc_model_open(&config, &model, NULL), CC_OK);
        const struct cc_model_layout *layout = cc_model_layout(model);
        assert_int_equal(layout->count, net->count);
        assert_int_equal(layout->values, net->values);
        for (size_t i = 0; i < net->count; i++) {
            char is[192], should[192];
            cc_shape_print(&layout->tensors[i].shape, is, sizeof is);
            cc_shape_print(&net->tensors[i].shape, should, sizeof should);
            assert_string_equal(is, should);
            assert_string_equal(layout->tensors[i].name, net->tensors[i].name);
        }
        cc_model_close(model);
        cc_net_free(net);
    }
}

/* Passes in parts give the same gradient; a part leaves those behind it complete. */
static void passes_in_parts(void **state)
{
    (void)state;
    struct trainee t = trainee_open(&small);
    struct cc_model_score score = trainee_pass(&t);
    size_t bytes = t.layout->values * sizeof(float);
    float *parts = cc_alloc0(bytes, NULL);
    assert_non_null(parts);
    cc_model_begin(t.model, t.images, t.labels, t.count);
    for (size_t i = 0; i <= t.layout->count; i++)
        cc_model_forward(t.model, t.weights, t.stats, i);
    assert_true(cc_model_score(t.model).loss == score.loss);
    for (size_t i = t.layout->count; i-- > 0;) {
        size_t at = t.layout->offset[i];
        cc_model_backward(t.model, t.weights, parts, i);
        assert_memory_equal(parts + at, t.gradient + at, (t.layout->values - at) * sizeof(float));
    }
    free(parts);
    trainee_close(&t);
}

static void passes_leave_nothing(void **state)
{
    (void)state;
    trainee_leaves_nothing(&small);
}

/* Running statistics move by a tenth towards the batch's, with the unbiased variance; when they
 * have come near enough, evaluation gives the training's loss. */
static void running_statistics(void **state)
{
    (void)state;
    struct trainee t = trainee_open(&small);
    for (size_t i = 0; i < t.layout->stats; i++)
        assert_true(t.stats[i] == 0 || t.stats[i] == 1);
    (void)trainee_pass(&t);
    float first = t.stats[0], variance = t.stats[5] - 0.9f;
    (void)trainee_pass(&t);
    assert_true(first != 0 && fabsf(t.stats[0] - 1.9f * first) < 1e-5f);
    assert_true(variance > 0 && fabsf(t.stats[5] - 0.81f - 1.9f * variance) < 1e-5f);
    double loss = 0;
    for (int i = 0; i < 200; i++)
        loss = trainee_pass(&t).loss;
    struct cc_model_score score =
        cc_model_evaluate(t.model, t.weights, t.stats, t.images, t.labels, t.count);
    assert_true(fabs(score.loss - loss) < 0.2 * loss); /* biased variance there, unbiased here */
    trainee_close(&t);
}

/* The first convolution's outputs, of 5 images of 9 x 7: the running mean of a channel is a tenth
 * of their mean, and the running variance 0.9 and a tenth of the squares over 315 - 1. */
static void unbiased_variances(void **state)
{
    (void)state;
    enum { PLANE = 9 * 7, CHANNELS = 5 };
    struct trainee t = trainee_open(&small);
    const double places = (double)(t.count * PLANE);
    struct plain a = plain_new(t.count, 3, 9, 7);
    double *weights = calloc(t.layout->values, sizeof *weights);
    assert_non_null(weights);
    for (size_t i = 0; i < t.layout->values; i++)
        weights[i] = (double)t.weights[i];
    for (size_t i = 0; i < t.count * 3 * PLANE; i++)
        a.x[i] = (double)t.images[i];
    const double *w = weights;
    plain_conv(&a, &w, CHANNELS, 1);
    (void)trainee_pass(&t);
    for (size_t c = 0; c < CHANNELS; c++) {
        double mean = 0, squares = 0;
        for (size_t n = 0; n < t.count; n++)
            for (size_t i = 0; i < PLANE; i++)
                mean += a.x[(n * CHANNELS + c) * PLANE + i] / places;
        for (size_t n = 0; n < t.count; n++)
            for (size_t i = 0; i < PLANE; i++)
                squares += pow(a.x[(n * CHANNELS + c) * PLANE + i] - mean, 2);
        close_to(t.stats[c], 0.1 * mean, 1e-4, "mean");
        close_to(t.stats[CHANNELS + c] - 0.9, 0.1 * squares / (places - 1), 1e-4, "variance");
    }
    free(weights);
    plain_free(&a);
    trainee_close(&t);
}

/* Initial weights of a convolution lie evenly between -sqrt(6 / fan-in) and that, where fan-in is 9
 * times its input's channels; they depend on the seed, and differ between tensors of one shape. */
static void initial_weights(void **state)
{
    (void)state;
    struct trainee t = trainee_open(&small);
    const size_t n = t.layout->values;
    float *first = calloc(2 * n, sizeof *first), *second = first + n;
    const float *before = NULL;
    size_t elements = 0, alike = 0;
    assert_non_null(first);
    cc_model_init(t.model, 1, first, t.stats);
    cc_model_init(t.model, 2, second, t.stats);
    for (size_t i = 0; i < t.layout->count; i++) {
        const struct cc_shape *shape = &t.layout->tensors[i].shape;
        const float *w = first + t.layout->offset[i];
        if (shape->ndim != 4)
            continue;
        double most = 0, bound = sqrt(6 / (9 * (double)shape->dim[1]));
        for (size_t k = 0; k < shape->n; k++)
            most = fmax(most, fabs((double)w[k]));
        assert_true(most <= bound * (1 + 1e-6) && most > 0.95 * bound);
        assert_memory_not_equal(w, second + t.layout->offset[i], shape->n * sizeof *w);
        if (elements == shape->n) {
            assert_memory_not_equal(w, before, shape->n * sizeof *w);
            alike++;
        }
        elements = shape->n;
        before = w;
    }
    assert_int_equal(alike, 1); /* of the first stage */
    free(first);
    trainee_close(&t);
}

static void workers_statistics_are_averaged(void **state)
{
    (void)state;
    static const float all[] = {1, 2, 5, 3, 6, 8};
    float mean[3];
    cc_mean_stats(all, 2, 3, mean);
    assert_true(mean[0] == 2 && mean[1] == 4 && mean[2] == 6.5f);
}

/* The initial loss of the default net is near that of chance, and training learns the batch. */
static void learns(void **state)
{
    (void)state;
    struct cc_model_config config = {"resnet8", 1, 8, 8, 5, 16, 1};
    struct trainee t = trainee_open(&config);
    cc_model_init(t.model, 1, t.weights, t.stats);
    double first = trainee_pass(&t).loss;
    assert_true(first > 0.5 * log(5) && first < 3 * log(5));
    for (int step = 0; step < 60; step++) {
        (void)trainee_pass(&t);
        for (size_t i = 0; i < t.layout->values; i++)
            t.weights[i] -= 0.05f * t.gradient[i];
    }
    assert_true(trainee_pass(&t).loss < 0.1 * first);
    trainee_close(&t);
}

static void refuses(void **state)
{
    (void)state;
    static const char *const wrong[] = {"resnet",          "resnet21",        "resnet2",
                                        "resnet8:",        "resnet8:width=",  "resnet8:width=0",
                                        "resnet8:width=x", "resnet8:width=1x"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct cc_model_config config = small;
        struct cc_model *model = NULL;
        config.net = wrong[i];
        assert_int_equal(cc_model_open(&config, &model, NULL), CC_USAGE);
    }
    struct cc_model_config config = small;
    struct cc_model *model = NULL;
    struct cc_error e = {""};
    config.height = 3;
    assert_int_equal(cc_model_open(&config, &model, &e), CC_USAGE);
    assert_non_null(strstr(e.text, "3 x 7"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients),
        cmocka_unit_test(same_bits),
        cmocka_unit_test(tensors_are_the_listed_ones),
        cmocka_unit_test(passes_in_parts),
        cmocka_unit_test(passes_leave_nothing),
        cmocka_unit_test(running_statistics),
        cmocka_unit_test(unbiased_variances),
        cmocka_unit_test(initial_weights),
        cmocka_unit_test(workers_statistics_are_averaged),
        cmocka_unit_test(learns),
        cmocka_unit_test(refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
