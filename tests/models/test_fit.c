/* Least squares against results by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "models/fit.h"
#include "tests/lib/text.h"

static void assert_near(double a, double b, double tolerance)
{
    if (!(fabs(a - b) <= tolerance))
        fail_msg("%.9g is not %.9g", a, b);
}

/* y = a x + b through (0, 1), (1, 3), (2, 4), (3, 6): Sxy = 8, Sxx = 5, so a = 1.6 and b = 1.1; the
 * residuals 0.1, -0.3, 0.3, -0.1 give s^2 = 0.1, deviations sqrt(s^2 / 5) and sqrt(s^2 (1/4 + 1.5^2
 * / 5)). */
static void line(void *arg, const double *x, double *r)
{
    static const double y[] = {1, 3, 4, 6};
    (void)arg;
    for (int i = 0; i < 4; i++)
        r[i] = x[0] * i + x[1] - y[i];
}

static void straight_line(void **state)
{
    (void)state;
    struct cc_fit_constant c[] = {{1e-3, 100, 0, 0}, {1e-3, 100, 0, 0}};
    double rms;
    assert_int_equal(cc_fit(line, NULL, 4, c, 2, &rms, NULL), CC_OK);
    assert_near(c[0].value, 1.6, 1e-6);
    assert_near(c[1].value, 1.1, 1e-6);
    assert_near(c[0].deviation, 0.1414214, 1e-5);
    assert_near(c[1].deviation, 0.2645751, 1e-5);
    assert_near(rms, 0.2236068, 1e-6);
}

/* A kink with two minima, the better of them far from the middle of the bounds. */
static void kink(void *arg, const double *x, double *r)
{
    (void)arg;
    r[0] = fmin(fabs(log(x[0] / 0.02)), 0.5 + fabs(log(x[0] / 50)));
}

static void several_minima(void **state)
{
    (void)state;
    struct cc_fit_constant c = {1e-3, 1e3, 0, 0};
    double rms;
    assert_int_equal(cc_fit(kink, NULL, 1, &c, 1, &rms, NULL), CC_OK);
    assert_near(c.value / 0.02, 1, 1e-3);
    assert_true(c.deviation == 0); /* one figure for one constant leaves no degree of freedom */
}

/* The optimum outside the bounds: the bound itself. */
static void beyond(void *arg, const double *x, double *r)
{
    (void)arg;
    r[0] = log(x[0] / 1000);
    r[1] = log(x[0] / 1000);
}

static void at_a_bound(void **state)
{
    (void)state;
    struct cc_fit_constant c = {0.1, 10, 0, 0};
    double rms;
    assert_int_equal(cc_fit(beyond, NULL, 2, &c, 1, &rms, NULL), CC_OK);
    if (!(c.value > 9.9 && c.value <= 10))
        fail_msg("%g", c.value);
}

static void nowhere(void *arg, const double *x, double *r)
{
    (void)arg;
    (void)x;
    r[0] = r[1] = NAN;
}

static void refuses(void **state)
{
    (void)state;
    struct cc_fit_constant c[2] = {{0.1, 10, 5, 6}, {0.1, 10, 7, 8}};
    struct cc_error e;
    double rms = 3;
    assert_int_equal(cc_fit(line, NULL, 1, c, 2, &rms, &e), CC_FAIL);
    assert_contains(e.text, "2 constants to 1 figures");
    assert_int_equal(cc_fit(nowhere, NULL, 2, c, 2, &rms, &e), CC_FAIL);
    assert_contains(e.text, "not finite anywhere");
    assert_true(rms == 3 && c[0].value == 5 && c[1].deviation == 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(straight_line),
        cmocka_unit_test(several_minima),
        cmocka_unit_test(at_a_bound),
        cmocka_unit_test(refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
