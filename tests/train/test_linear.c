/* Linear models on sparse rows: objectives and gradients against values computed by hand, against
 * differences of the objective, and against the definition in double; the rows and the generator by
 * their properties. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/isa.h"
#include "tests/lib/data_set.h"
#include "tests/lib/scratch.h"
#include "tests/lib/text.h"
#include "train/data/data.h"
#include "train/linear/objective.h"

/* Three rows of four features, of which the second is empty. */
static struct cc_data *by_hand(void **state)
{
    static const char text[] = "-1 1:0.5 3:2\n+1\n+1 2:-1 3:1 4:3\n";
    char set[512];
    const char *path = scratch_write(state, "x.libsvm", text, sizeof text - 1);
    (void)snprintf(set, sizeof set, "%s:test=%s", path, path);
    return data_set_open_rows(set);
}

static struct cc_linear_objective objective(const struct cc_data *d, enum cc_linear_loss loss,
                                            double l2)
{
    return (struct cc_linear_objective){
        .loss = loss, .samples = &d->train, .features = d->channels, .l2 = l2};
}

/* w = (2, 1, -1, 0.5): products -1, 0 and -0.5, with the classes' signs 1, 0 and -0.5. */
static const float weights[] = {2, 1, -1, 0.5f};

static void values(void **state)
{
    struct cc_data *d = by_hand(state);
    const struct cc_linear_objective hinge = objective(d, CC_HINGE, 0.1);
    const struct cc_linear_objective logistic = objective(d, CC_LOGISTIC, 0.1);
    assert_int_equal(d->train.rows.count, 3);
    assert_int_equal(cc_rows_nonzeros(&d->train.rows), 5);
    assert_int_equal(d->channels, 4);
    /* hinge: (0 + 1 + 1.5) / 3; the norm's square is 6.25 */
    assert_true(fabs(cc_linear_value(&hinge, weights, 1) - (2.5 / 3 + 0.3125)) < 1e-15);
    /* log(1 + e^-1) = 0.31326168751822286, log 2, log(1 + e^0.5) = 0.974076984180107 */
    const double losses = 0.31326168751822286 + 0.6931471805599453 + 0.974076984180107;
    assert_true(fabs(cc_linear_value(&logistic, weights, 1) - (losses / 3 + 0.3125)) < 1e-14);
    /* A product of 0 is taken for class 0. */
    assert_int_equal(cc_linear_score_all(&hinge, weights, 1).correct, 1);
    cc_data_free(d);
}

static void slopes(void **state)
{
    struct cc_data *d = by_hand(state);
    const struct cc_linear_objective hinge = objective(d, CC_HINGE, 0);
    const uint32_t row[] = {2, 0};
    float slope[3], sum[4] = {1, 0, 0, 0};
    const struct cc_model_score all = cc_linear_slopes(&hinge, NULL, 3, weights, slope);
    assert_true(fabs(all.loss - 2.5 / 3) < 1e-15);
    assert_true(slope[0] == 0 && slope[1] == -1 && slope[2] == -1);
    const struct cc_model_score two = cc_linear_slopes(&hinge, row, 2, weights, slope);
    assert_true(fabs(two.loss - 0.75) < 1e-15);
    assert_int_equal(two.correct, 1);
    slope[1] = 2;
    cc_linear_add(&hinge, row, 2, 0.5f, slope, sum);
    assert_true(sum[0] == 1.5f && sum[1] == 0.5f && sum[2] == 1.5f && sum[3] == -1.5f);
    cc_data_free(d);
}

/* Far beyond where exp overflows. */
static void extremes(void **state)
{
    (void)state;
    const struct cc_linear_point wrong = cc_linear_point(CC_LOGISTIC, 1e5, 0);
    const struct cc_linear_point right = cc_linear_point(CC_LOGISTIC, 1e5, 1);
    assert_true(wrong.loss == 1e5 && wrong.slope == 1);
    assert_true(right.loss >= 0 && right.loss < 1e-300 && right.slope <= 0);
    assert_true(cc_linear_point(CC_HINGE, 1, 1).slope == 0);
}

/* The gradient of all rows, against differences of F along random directions. */
static void gradient(void **state)
{
    enum { FEATURES = 300, ROWS = 200 };
    (void)state;
    struct cc_data *d =
        data_set_open_rows("synthetic-sparse:features=300,train=200,test=10,nonzeros=40");
    const struct cc_linear_objective f = objective(d, CC_LOGISTIC, 0);
    float w[FEATURES], slope[ROWS], sum[FEATURES] = {0}, moved[FEATURES];
    for (int j = 0; j < FEATURES; j++)
        w[j] = (float)sin(j);
    cc_linear_slopes(&f, NULL, ROWS, w, slope);
    cc_linear_add(&f, NULL, ROWS, 1.0f / ROWS, slope, sum);
    for (int direction = 1; direction <= 5; direction++) {
        double along = 0, value[2];
        for (int side = 0; side < 2; side++) {
            for (int j = 0; j < FEATURES; j++)
                moved[j] = w[j] + (side == 0 ? -1 : 1) * 0x1p-7f * (float)cos(direction * j);
            value[side] = cc_linear_value(&f, moved, 1);
        }
        for (int j = 0; j < FEATURES; j++)
            along += (double)sum[j] * (double)(float)cos(direction * j);
        /* The third derivative is below 1, and rows have norm 1. */
        assert_true(fabs((value[1] - value[0]) * 64 - along) < 2e-5);
    }
    cc_data_free(d);
}

/* The same bits on every instruction set and with threads, near the sum in long double. */
static void same_bits(void **state)
{
    (void)state;
    struct cc_data *d =
        data_set_open_rows("synthetic-sparse:features=5000,train=300,test=10,nonzeros=77");
    const struct cc_linear_objective f = objective(d, CC_LOGISTIC, 0.5);
    const struct cc_sparse_rows *r = &d->train.rows;
    float *w = calloc(5000, sizeof *w), *sum = calloc(5000, sizeof *sum);
    float slope[300];
    double first = 0;
    uint32_t bits[5000];
    assert_true(w != NULL && sum != NULL);
    for (int j = 0; j < 5000; j++)
        w[j] = (float)sin(j);
    long double want = 0;
    for (size_t i = 0; i < 300; i++) {
        long double z = 0;
        for (size_t k = r->begin[i]; k < r->begin[i + 1]; k++)
            z += (long double)w[r->index[k]] * (long double)r->value[k];
        want += log1pl(expl(d->train.label[i] > 0 ? -z : z)) / 300;
    }
    for (int j = 0; j < 5000; j++)
        want += 0.25L * (long double)w[j] * (long double)w[j];
    for (int isa = 0; isa < CC_ISAS; isa++) {
        cc_isa_force((enum cc_isa)isa);
        const double value = cc_linear_value(&f, w, 1 + isa);
        cc_linear_slopes(&f, NULL, 300, w, slope);
        memset(sum, 0, 5000 * sizeof *sum);
        cc_linear_add(&f, NULL, 300, 1, slope, sum);
        assert_true(fabs(value - (double)want) < 1e-12 * value);
        if (isa == 0) {
            first = value;
            memcpy(bits, sum, sizeof bits);
        }
        assert_true(value == first);
        assert_memory_equal(bits, sum, sizeof bits);
    }
    free(w);
    free(sum);
    cc_data_free(d);
}

/* --- rows --- */

static void transposed(void **state)
{
    struct cc_data *d = by_hand(state);
    struct cc_sparse_rows columns = {.count = 0}, back = {.count = 0};
    static const uint32_t index[] = {0, 2, 0, 2, 2};
    static const float value[] = {0.5f, -1, 2, 1, 3};
    static const size_t begin[] = {0, 1, 2, 4, 5};
    assert_int_equal(cc_rows_transpose(&d->train.rows, 4, &columns, NULL), CC_OK);
    assert_int_equal(columns.count, 4);
    assert_memory_equal(columns.begin, begin, sizeof begin);
    assert_memory_equal(columns.index, index, sizeof index);
    assert_memory_equal(columns.value, value, sizeof value);
    assert_int_equal(cc_rows_transpose(&columns, 3, &back, NULL), CC_OK);
    assert_memory_equal(back.begin, d->train.rows.begin, 4 * sizeof *back.begin);
    assert_memory_equal(back.index, d->train.rows.index, sizeof index);
    assert_memory_equal(back.value, d->train.rows.value, sizeof value);
    cc_rows_free(&columns);
    cc_rows_free(&back);
    cc_data_free(d);
}

/* Without a file to test with, every fifth row is for testing: the same as of all values. */
static void split(void **state)
{
    char text[2048] = "";
    size_t n = 0;
    for (int i = 0; i < 23; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%d %d:%d 9:1\n", i % 2, i % 7 + 1, i + 1);
    const char *path = scratch_write(state, "x.svm", text, n);
    struct cc_data *rows = data_set_open_rows(path), *all = NULL;
    assert_int_equal(cc_data_open(path, &all, NULL), CC_OK);
    const struct cc_samples *part[] = {&rows->train, &all->train, &rows->test, &all->test};
    for (int i = 0; i < 4; i += 2) {
        assert_int_equal(part[i]->count, part[i + 1]->count);
        assert_int_equal(part[i]->rows.count, part[i]->count);
        assert_memory_equal(part[i]->label, part[i + 1]->label,
                            part[i]->count * sizeof *part[i]->label);
        for (size_t row = 0; row < part[i]->count; row++) {
            const struct cc_sparse_rows *r = &part[i]->rows;
            assert_int_equal(r->begin[row + 1] - r->begin[row], 2);
            for (size_t k = r->begin[row]; k < r->begin[row + 1]; k++)
                assert_true(part[i + 1]->value[row * 9 + r->index[k]] == r->value[k]);
        }
    }
    assert_int_equal(rows->test.count, 4);
    cc_data_free(rows);
    cc_data_free(all);
}

/* --- the generator --- */

static int ascending(const void *a, const void *b)
{
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

static void power_law(void **state)
{
    enum { FEATURES = 1023, ROWS = 2000, NONZEROS = 20 };
    (void)state;
    struct cc_data *d =
        data_set_open_rows("synthetic-sparse:features=1023,train=2000,test=100,nonzeros=20,seed=3");
    struct cc_data *again =
        data_set_open_rows("synthetic-sparse:features=1023,train=2000,test=100,nonzeros=20,seed=3");
    const struct cc_sparse_rows *r = &d->train.rows;
    size_t count[FEATURES] = {0}, ones = 0, rare = 0;
    assert_memory_equal(r->index, again->train.rows.index, ROWS * NONZEROS * sizeof *r->index);
    assert_memory_equal(r->value, again->train.rows.value, ROWS * NONZEROS * sizeof *r->value);
    assert_memory_equal(d->train.label, again->train.label, ROWS * sizeof *d->train.label);
    assert_int_equal(r->count, ROWS);
    for (size_t i = 0; i < ROWS; i++) {
        double squares = 0;
        assert_int_equal(r->begin[i + 1] - r->begin[i], NONZEROS);
        for (size_t k = r->begin[i]; k < r->begin[i + 1]; k++) {
            assert_true(k == r->begin[i] || r->index[k] > r->index[k - 1]);
            assert_true(r->index[k] < FEATURES && r->value[k] > 0);
            squares += (double)r->value[k] * (double)r->value[k];
            count[r->index[k]]++;
        }
        assert_float_equal(squares, 1, 1e-6);
        ones += d->train.label[i];
    }
    /* The ten octaves are drawn equally often, so that the 512 rarest features have a tenth of the
     * draws, and somewhat more of what stays, as the few frequent ones are drawn repeatedly. The
     * most frequent ones are in most rows. */
    qsort(count, FEATURES, sizeof *count, ascending);
    for (size_t j = 0; j < 512; j++)
        rare += count[j];
    assert_true(rare > ROWS * NONZEROS / 10 && rare < ROWS * NONZEROS / 6);
    assert_true(count[FEATURES - 1] > ROWS * 3 / 5 && count[FEATURES - 1] < ROWS);
    assert_true(ones > ROWS / 4 && ones < ROWS * 3 / 4);
    cc_data_free(d);
    cc_data_free(again);
}

/* Every feature in every row. */
static void all_features(void **state)
{
    (void)state;
    struct cc_data *d =
        data_set_open_rows("synthetic-sparse:features=50,train=20,test=5,nonzeros=50,power=2");
    for (size_t k = 0; k < cc_rows_nonzeros(&d->test.rows); k++)
        assert_int_equal(d->test.rows.index[k], k % 50);
    cc_data_free(d);
}

/* As many features as occur, and no others, spread over all of them. */
static void occurring(void **state)
{
    (void)state;
    enum { FEATURES = 5000, OCCURRING = 40 };
    struct cc_data *d = data_set_open_rows(
        "synthetic-sparse:features=5000,occurring=40,train=300,test=10,nonzeros=20,power=0");
    bool seen[FEATURES] = {false};
    size_t different = 0, beyond = 0;
    for (size_t k = 0; k < cc_rows_nonzeros(&d->train.rows); k++) {
        const uint32_t i = d->train.rows.index[k];
        assert_in_range(i, 0, FEATURES - 1);
        different += !seen[i];
        beyond += !seen[i] && i >= OCCURRING;
        seen[i] = true;
    }
    assert_int_equal(d->channels, FEATURES);
    assert_int_equal(different, OCCURRING);
    assert_in_range(beyond, OCCURRING / 2, OCCURRING);
    cc_data_free(d);
}

static void refused(void **state)
{
    static const struct {
        const char *set, *message;
    } all[] = {
        {"synthetic-sparse:features=10,nonzeros=11", "nonzeros=11: a row has features=10"},
        {"synthetic-sparse:features=10,nonzeros=1,occurring=11",
         "occurring=11: a row has features=10"},
        {"synthetic-sparse:features=20,occurring=10,nonzeros=11",
         "nonzeros=11: a row has features=10"},
        {"synthetic-sparse:rows=10", "there is no key 'rows'; there are train, test, features"},
        {"synthetic-sparse:power=nan", "'nan' is not a number from 0 to 4"},
        {"synthetic-sparse:features=2G", "features=2G: 2G is not between 1 and 1073741824"},
        {"digits", "'digits' has no sparse rows, which logreg and svm take"},
    };
    struct cc_error e = {""};
    struct cc_data *d = NULL;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        assert_int_equal(cc_data_open_rows(all[i].set, &d, &e), CC_USAGE);
        assert_contains(e.text, all[i].message);
    }
    assert_int_equal(cc_data_open("synthetic-sparse", &d, &e), CC_USAGE);
    assert_contains(e.text, "sparse rows, which --net logreg and svm take");
    char set[512];
    (void)snprintf(set, sizeof set, "%s:features=3",
                   scratch_write(state, "x.svm", "1 1:1\n-1 2:1 4:1\n", 17));
    assert_int_equal(cc_data_open_rows(set, &d, &e), CC_FAIL);
    assert_contains(e.text, "x.svm: line 2, byte 14: index 4, and samples have 3 features");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(values, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(slopes, scratch_setup, scratch_teardown),
        cmocka_unit_test(extremes),
        cmocka_unit_test(gradient),
        cmocka_unit_test(same_bits),
        cmocka_unit_test_setup_teardown(transposed, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(split, scratch_setup, scratch_teardown),
        cmocka_unit_test(power_law),
        cmocka_unit_test(all_features),
        cmocka_unit_test(occurring),
        cmocka_unit_test_setup_teardown(refused, scratch_setup, scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
