/* The parts of SVRG by their properties, and the optimum against one that is found by bisection. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/data_set.h"
#include "tests/lib/scratch.h"
#include "tests/lib/text.h"
#include "train/linear/optimum.h"
#include "train/linear/svrg.h"

enum { FEATURES = 30, ROWS = 100 };

static struct cc_data *drawn(void)
{
    return data_set_open_rows(
        "synthetic-sparse:features=30,train=100,test=10,nonzeros=8,noise=0.1");
}

static struct cc_linear_objective objective(const struct cc_data *d, double l2)
{
    return (struct cc_linear_objective){
        .loss = CC_LOGISTIC, .samples = &d->train, .features = d->channels, .l2 = l2};
}

static void fill(float *w, double scale)
{
    for (int j = 0; j < FEATURES; j++)
        w[j] = (float)(scale * sin(j + scale));
}

/* The gradient of F by the definition. */
static void full_gradient(const struct cc_linear_objective *f, const float *w, double *out)
{
    const struct cc_sparse_rows *r = &f->samples->rows;
    for (int j = 0; j < FEATURES; j++)
        out[j] = f->l2 * (double)w[j];
    for (size_t i = 0; i < r->count; i++) {
        const double y = f->samples->label[i] > 0 ? 1 : -1;
        double z = 0;
        for (size_t k = r->begin[i]; k < r->begin[i + 1]; k++)
            z += (double)r->value[k] * (double)w[r->index[k]];
        for (size_t k = r->begin[i]; k < r->begin[i + 1]; k++)
            out[r->index[k]] -= y / (1 + exp(y * z)) * (double)r->value[k] / (double)r->count;
    }
}

/* The mean of the workers' parts is the gradient, whether or not they have the same number of rows.
 */
static void parts(void **state)
{
    struct cc_data *d = drawn();
    const struct cc_linear_objective f = objective(d, 0.01);
    float w[FEATURES], part[FEATURES];
    double want[FEATURES], room[FEATURES], sum[FEATURES] = {0};
    (void)state;
    fill(w, 2);
    full_gradient(&f, w, want);
    for (size_t k = 0; k < 7; k++) {
        cc_svrg_part(&f, k, 7, w, room, part);
        for (int j = 0; j < FEATURES; j++)
            sum[j] += (double)part[j] / 7;
    }
    for (int j = 0; j < FEATURES; j++)
        assert_true(fabs(sum[j] - want[j]) < 1e-8);
    cc_data_free(d);
}

/* The vector is the full gradient at y where x is y, and its mean over all rows that at x. */
static void vectors(void **state)
{
    struct cc_data *d = drawn();
    const struct cc_linear_objective f = objective(d, 0.01);
    float x[FEATURES], y[FEATURES], full[FEATURES], v[FEATURES];
    double at_x[FEATURES], at_y[FEATURES], room[FEATURES], sum[FEATURES] = {0}, spread = 0;
    (void)state;
    fill(x, 1);
    fill(y, 2);
    full_gradient(&f, x, at_x);
    full_gradient(&f, y, at_y);
    for (int j = 0; j < FEATURES; j++)
        full[j] = (float)at_y[j];
    for (uint32_t i = 0; i < ROWS; i += 2) {
        const uint32_t rows[] = {i, i + 1};
        cc_svrg_vector(&f, rows, 2, y, y, full, room, v);
        assert_memory_equal(v, full, sizeof v);
        cc_svrg_vector(&f, rows, 2, x, y, full, room, v);
        for (int j = 0; j < FEATURES; j++) {
            sum[j] += (double)v[j] * 2 / ROWS;
            spread += fabs((double)v[j] - at_x[j]);
        }
    }
    for (int j = 0; j < FEATURES; j++)
        assert_true(fabs(sum[j] - at_x[j]) < 1e-7);
    assert_true(spread > 1);
    cc_data_free(d);
}

/* Rows are drawn evenly, and differently for each step and worker. */
static void draws(void **state)
{
    size_t hits[10] = {0}, equal = 0;
    uint32_t a[64], b[64];
    (void)state;
    for (uint64_t step = 0; step < 200; step++)
        for (size_t worker = 0; worker < 2; worker++) {
            cc_svrg_draw(3, step, worker, 10, 64, a);
            cc_svrg_draw(3, step, 1 - worker, 10, 64, b);
            equal += memcmp(a, b, sizeof a) == 0;
            for (int i = 0; i < 64; i++)
                hits[a[i]]++;
        }
    assert_int_equal(equal, 0);
    for (int i = 0; i < 10; i++) /* 2,560 expected, deviation 48 */
        assert_true(fabs((double)hits[i] - 2560) < 5 * 48);
}

static void constants(void **state)
{
    static const char text[] = "-1 1:3 2:4\n+1 1:1\n";
    char set[512];
    const char *path = scratch_write(state, "x.libsvm", text, sizeof text - 1);
    (void)snprintf(set, sizeof set, "%s:test=%s", path, path);
    struct cc_data *d = data_set_open_rows(set);
    const struct cc_linear_objective f = objective(d, 0.5);
    const struct cc_svrg_constants c = cc_svrg_constants(&f);
    assert_true(c.smooth == 25.0 / 4 + 0.5 && c.convex == 0.5);
    cc_data_free(d);
}

/* One feature, 3 of 4 rows of class 1: the root of (sigmoid(w) - 3/4) + l2 w. */
static void optimum_by_bisection(void **state)
{
    static const char text[] = "-1 1:1\n+1 1:1\n+1 1:1\n+1 1:1\n";
    char set[512];
    const char *path = scratch_write(state, "x.libsvm", text, sizeof text - 1);
    (void)snprintf(set, sizeof set, "%s:test=%s", path, path);
    struct cc_data *d = data_set_open_rows(set);
    const struct cc_linear_objective f = objective(d, 0.01);
    struct cc_linear_optimum got = {0};
    double low = 0, high = 10;
    assert_int_equal(cc_linear_optimum(&f, &got, NULL), CC_OK);
    for (int i = 0; i < 200; i++) {
        const double w = (low + high) / 2;
        *(1 / (1 + exp(-w)) - 0.75 + 0.01 * w > 0 ? &high : &low) = w;
    }
    assert_true(fabs(got.w[0] - low) < 1e-12);
    const double value = 0.25 * log1p(exp(low)) + 0.75 * log1p(exp(-low)) + 0.005 * low * low;
    assert_true(fabs(got.value - value) < 1e-14);
    free(got.w);
    cc_data_free(d);
}

/* With many features: no gradient is left, and F is larger at every place around. */
static void optimum(void **state)
{
    struct cc_data *d = drawn();
    const struct cc_linear_objective f = objective(d, 0.001);
    struct cc_linear_optimum got = {0};
    float w[FEATURES];
    double g[FEATURES];
    (void)state;
    assert_int_equal(cc_linear_optimum(&f, &got, NULL), CC_OK);
    assert_true(got.gradient <= 1e-12 && got.steps > 2);
    for (int j = 0; j < FEATURES; j++)
        w[j] = (float)got.w[j];
    full_gradient(&f, w, g);
    for (int j = 0; j < FEATURES; j++)
        assert_true(fabs(g[j]) < 1e-6); /* the parameters were rounded */
    assert_true(fabs(cc_linear_value(&f, w, 1) - got.value) < 1e-12);
    for (int j = 0; j < FEATURES; j++) {
        w[j] += 0.01f;
        assert_true(cc_linear_value(&f, w, 1) > got.value);
        w[j] -= 0.01f;
    }
    free(got.w);
    cc_data_free(d);
}

static void refusals(void **state)
{
    struct cc_data *d = drawn(),
                   *wide = data_set_open_rows("synthetic-sparse:features=2049,train=20,test=5");
    struct cc_linear_objective f = objective(d, 0);
    struct cc_linear_optimum got = {0};
    struct cc_error e = {""};
    (void)state;
    assert_int_equal(cc_linear_optimum(&f, &got, &e), CC_USAGE);
    assert_non_null(strstr(e.text, "--weight-decay above 0"));
    f = objective(wide, 0.1);
    assert_int_equal(cc_linear_optimum(&f, &got, &e), CC_USAGE);
    assert_non_null(strstr(e.text, "up to 2048 features"));
    free(got.w);
    cc_data_free(d);
    cc_data_free(wide);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts),
        cmocka_unit_test(vectors),
        cmocka_unit_test(draws),
        cmocka_unit_test_setup_teardown(constants, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(optimum_by_bisection, scratch_setup, scratch_teardown),
        cmocka_unit_test(optimum),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
