/* The AlexNet-like net: gradients, bits, names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "tests/lib/tier.h"
#include "tests/lib/trainee.h"

/* Odd sides: the last row and column of an image are in no square. */
static const struct cc_model_config small = {.net = "convnet:width=6",
                                             .channels = 2,
                                             .height = 9,
                                             .width = 13,
                                             .classes = 4,
                                             .batch = 3,
                                             .threads = 1};

static double loss_of_small(const struct trainee *t, const double *w)
{
    static const size_t channels[] = {6, 18, 36, 24, 24};
    struct plain a = plain_new(t->count, 2, 9, 13);
    for (size_t i = 0; i < t->count * 2 * 9 * 13; i++)
        a.x[i] = (double)t->images[i];
    for (size_t i = 0; i < 5; i++) {
        plain_conv(&a, &w, channels[i], 1);
        plain_bias(&a, &w);
        plain_relu(&a);
        if (i != 2 && i != 3)
            plain_max_pool(&a);
    }
    for (size_t i = 0; i < 2; i++) {
        plain_dense(&a, &w, 96);
        plain_relu(&a);
    }
    plain_dense(&a, &w, 4);
    double loss = plain_loss(&a, t->labels);
    plain_free(&a);
    return loss;
}

static void gradients(void **state)
{
    (void)state;
    trainee_gradients(&small, loss_of_small, tier_pick(8, 4, 30));
}

static void same_bits(void **state)
{
    (void)state;
    struct cc_model_config more = small;
    trainee_same_bits(&small);
    more.net = "convnet:width=16";
    more.batch = 20;
    trainee_same_bits(&more);
}

static void passes_leave_nothing(void **state)
{
    (void)state;
    trainee_leaves_nothing(&small);
}

static void refuses(void **state)
{
    (void)state;
    static const char *const wrong[] = {"convnet:", "convnet:width=3", "convnet:width=0",
                                        "convnet:width=8x", "convnetx"};
    struct cc_model *model = NULL;
    struct cc_model_config config = small;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        config.net = wrong[i];
        assert_int_equal(cc_model_open(&config, &model, NULL), CC_USAGE);
    }
    config.net = "convnet";
    config.width = 7;
    assert_int_equal(cc_model_open(&config, &model, NULL), CC_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients),
        cmocka_unit_test(same_bits),
        cmocka_unit_test(passes_leave_nothing),
        cmocka_unit_test(refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
