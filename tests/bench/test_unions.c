/* The growth of unions against expectations, and the measurement of a scheme's unions against sets
 * that are counted one by one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "bench/unions.h"
#include "core/trace/synth.h"
#include "core/unions.h"
#include "schemes/spec.h"
#include "tests/lib/number.h"

/* N (1 - (1 - k/N)^m) */
static double expected(double n, double k, int m)
{
    return n * (1 - pow(1 - k / n, m));
}

/* Independent uniform sets grow as expected, whatever was measured of them; disjoint ones by one
 * set each; equal ones not at all. */
static void growth(void **state)
{
    (void)state;
    for (size_t points = 2; points <= CC_UNION_POINTS; points++) {
        struct cc_unions u = {.points = points}, apart = u, same = u;
        for (size_t i = 0; i < points; i++) {
            u.size[i] = expected(1000, 30, 1 << i);
            apart.size[i] = 30.0 * (1 << i);
            same.size[i] = 30;
        }
        for (int m = 1; m <= 5000; m += m < 40 ? 1 : 77) {
            close_to_at(cc_unions_growth(&u, m), expected(1000, 30, m) / 30, 1e-9, "uniform", m);
            close_to_at(cc_unions_growth(&apart, m), m, 1e-12, "disjoint", m);
            close_to_at(cc_unions_growth(&same, m), 1, 1e-12, "equal", m);
        }
    }
    const struct cc_unions none = {.points = 0};
    assert_true(cc_unions_growth(&none, 7) == 7);
}

/* Measured points are kept, what lies between them is between them, and beyond the last the union
 * goes on growing, ever more slowly. */
static void measured_points(void **state)
{
    (void)state;
    const struct cc_unions u = {.points = 5, .size = {100, 180, 300, 470, 650}};
    double last = 0;
    for (int m = 1; m <= 64; m++) {
        const double all = cc_unions_growth(&u, m);
        assert_true(all > last);
        last = all;
    }
    for (int i = 0; i < 5; i++)
        close_to_at(100 * cc_unions_growth(&u, 1 << i), u.size[i], 1e-12, "a point", 1 << i);
    /* The last doubling meets among 470^2 / (2 x 470 - 650) indices, which all are named at last.
     */
    const double among = 470.0 * 470 / 290;
    for (int m = 32; m <= 4096; m *= 2) {
        const double half = 100 * cc_unions_growth(&u, m / 2);
        close_to_at(100 * cc_unions_growth(&u, m), 2 * half - half * half / among, 1e-12, "beyond",
                    m);
    }
    close_to_at(100 * cc_unions_growth(&u, 65536), among, 1e-6, "all", 65536);
}

/* Workers' sets of drawn zeros are independent: the unions are those of the values that are not
 * zero, counted here, and close to the expectation. */
static void a_scheme(void **state)
{
    (void)state;
    enum { N = 20000, WORKERS = 6 };
    const struct cc_tensor_info tensor = {"w", {.n = N, .dim = {N}, .ndim = 1}};
    const struct cc_synth config = {
        .distribution = CC_GAUSSIAN, .seed = 3, .steps = 2, .ranks = WORKERS, .zeros = 0.9};
    static float x[N];
    static bool seen[N];
    struct cc_trace *t;
    struct cc_spec *spec;
    struct cc_unions u;
    double count[3] = {0};
    assert_int_equal(cc_trace_synth(&config, &tensor, 1, "test", &t, NULL), CC_OK);
    assert_int_equal(cc_spec_parse("pairs", &spec, NULL), CC_OK);
    assert_int_equal(cc_unions_measure(t, spec, 2, &u, NULL), CC_OK);
    assert_int_equal(u.points, 3); /* 1, 2 and 4 of 6 workers */
    for (size_t step = 1; step < 2; step++) {
        size_t all = 0;
        for (size_t i = 0; i < N; i++)
            seen[i] = false;
        for (size_t w = 0; w < 4; w++) {
            assert_int_equal(cc_trace_load(t, w, step, 0, x, NULL), CC_OK);
            for (size_t i = 0; i < N; i++) {
                all += x[i] != 0 && !seen[i];
                seen[i] |= x[i] != 0;
            }
            if (w != 2)
                count[w == 3 ? 2 : w] = (double)all;
        }
    }
    for (int i = 0; i < 3; i++) {
        assert_true(u.size[i] == count[i]);
        close_to_at(u.size[i], expected(N, N / 10.0, 1 << i), 0.05, "drawn zeros", 1 << i);
    }
    cc_spec_free(spec);
    /* Correlated gradients: fewer different indices than independent ones would have. */
    cc_trace_close(t);
    struct cc_synth dense = config;
    dense.zeros = 0;
    assert_int_equal(cc_trace_synth(&dense, &tensor, 1, "test", &t, NULL), CC_OK);
    assert_int_equal(cc_spec_parse("sparse:density=0.05,select=exact", &spec, NULL), CC_OK);
    assert_int_equal(cc_unions_measure(t, spec, 2, &u, NULL), CC_OK);
    assert_true(u.size[0] == N / 20 && u.size[2] < 0.98 * expected(N, N / 20.0, 4));
    cc_spec_free(spec);
    /* A payload that is not a set of pairs. */
    assert_int_equal(cc_spec_parse("int8", &spec, NULL), CC_OK);
    assert_int_equal(cc_unions_measure(t, spec, 2, &u, NULL), CC_OK);
    assert_int_equal(u.points, 0);
    cc_spec_free(spec);
    cc_trace_close(t);
}

/* One vector after the other, over a border between words of the set. */
static void taken(void **state)
{
    static const float x[3][130] = {
        {[0] = 1, [64] = 2, [129] = -1}, {[64] = 1, [128] = 1}, {[5] = 1}};
    static const size_t which[] = {0, 1, 2, 0, 1};
    uint64_t set[3] = {0};
    struct cc_unions u = {.points = 0};
    (void)state;
    for (size_t i = 0; i < 5; i++)
        cc_unions_take(set, x[which[i]], 130, i + 1, &u);
    assert_int_equal(u.points, 3);
    assert_true(u.size[0] == 3 && u.size[1] == 4 && u.size[2] == 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(growth), cmocka_unit_test(taken),
                                       cmocka_unit_test(measured_points),
                                       cmocka_unit_test(a_scheme)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
