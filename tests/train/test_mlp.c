/* Perceptrons: gradients, names, and that one learns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "tests/lib/trainee.h"

/* Widths around those of vectors and tiles; the batch is not a whole group. */
static const struct cc_model_config small = {.net = "mlp:37-20",
                                             .channels = 1,
                                             .height = 5,
                                             .width = 9,
                                             .classes = 7,
                                             .batch = 19,
                                             .threads = 1};

static double loss_of_small(const struct trainee *t, const double *w)
{
    struct plain a = plain_new(t->count, 1, 5, 9);
    for (size_t i = 0; i < t->count * 45; i++)
        a.x[i] = (double)t->images[i];
    plain_dense(&a, &w, 37);
    plain_relu(&a);
    plain_dense(&a, &w, 20);
    plain_relu(&a);
    plain_dense(&a, &w, 7);
    double loss = plain_loss(&a, t->labels);
    plain_free(&a);
    return loss;
}

static void gradients(void **state)
{
    (void)state;
    trainee_gradients(&small, loss_of_small, 60);
}

/* Depths beyond a block of the kernel, and enough work for three threads. */
static void same_bits(void **state)
{
    (void)state;
    struct cc_model_config large = small;
    trainee_same_bits(&small);
    large.net = "mlp:600-300";
    large.batch = 40;
    trainee_same_bits(&large);
}

static void passes_leave_nothing(void **state)
{
    (void)state;
    trainee_leaves_nothing(&small);
}

static void learns(void **state)
{
    (void)state;
    struct trainee t = trainee_open(&small);
    double first = trainee_pass(&t).loss;
    for (int step = 0; step < 300; step++) {
        (void)trainee_pass(&t);
        for (size_t i = 0; i < t.layout->values; i++)
            t.weights[i] -= 0.1f * t.gradient[i];
    }
    struct cc_model_score score =
        cc_model_evaluate(t.model, t.weights, t.stats, t.images, t.labels, t.count);
    assert_true(score.loss < 0.05 * first);
    assert_int_equal(score.correct, t.count);
    trainee_close(&t);
}

static void refuses(void **state)
{
    (void)state;
    static const char *const wrong[] = {"mlp:", "mlp:0", "mlp:5-", "mlp:5x", "mlp:-5", "nlp", ""};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct cc_model_config config = small;
        struct cc_model *model = NULL;
        struct cc_error e = {""};
        config.net = wrong[i];
        assert_int_equal(cc_model_open(&config, &model, &e), CC_USAGE);
        assert_null(model);
        assert_true(e.text[0] != '\0');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients), cmocka_unit_test(same_bits),
        cmocka_unit_test(learns),    cmocka_unit_test(passes_leave_nothing),
        cmocka_unit_test(refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
