/* Trials against results by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "models/trial.h"

static void assert_near(double a, double b, double tolerance)
{
    if (!(fabs(a - b) <= tolerance))
        fail_msg("%.9g is not %.9g", a, b);
}

/* Three seeds lose 1, 2 and 6 points: mean 3, deviation sqrt(7), t of two degrees of freedom
 * 4.302653. One alone, 2 points with 4% wrong of 2,000 samples: variance 0.5 x 0.04 / 2000 + (0.4 x
 * 0.02)^2 = 1e-5 + 6.4e-5. Two of 2 points: half of that. */
static void lost_accuracy(void **state)
{
    (void)state;
    const double three[] = {0.01, 0.02, 0.06}, two[] = {0.02, 0.02};
    struct cc_trial_mean m = cc_trial_lost(three, 3, 0.96, 2000);
    assert_near(m.mean, 0.03, 1e-12);
    assert_near(m.high - m.mean, 4.302653 * 0.02645751 / sqrt(3), 1e-7);
    assert_near(m.mean - m.low, m.high - m.mean, 1e-12);
    /* Equal seeds leave chance: 1.96 sqrt(1e-5 / 3). */
    const double same[] = {0.02, 0.02, 0.02};
    m = cc_trial_lost(same, 3, 0.96, 2000);
    assert_near(m.high - m.mean, 1.959964 * sqrt(1e-5 / 3), 1e-8);
    m = cc_trial_lost(two, 1, 0.96, 2000);
    assert_near(m.mean, 0.02, 1e-12);
    assert_near(m.high - m.mean, 1.959964 * sqrt(7.4e-5), 1e-8);
    m = cc_trial_lost(two, 2, 0.96, 2000);
    assert_near(m.high - m.mean, 1.959964 * sqrt(3.7e-5), 1e-8);
    assert_true(isnan(cc_trial_lost(NULL, 0, 0.96, 2000).mean));
}

/* In the steps 2 to 5 the losses are 3, 3 beside 2, 2, in the second block 1, 3 beside 2, 2: 10 / 8
 * - 1. Blocks 6, 4 beside 4, 4: sum (x - 1.25 y)^2 = 1 + 1, n / (n - 1) = 2, so the standard error
 * is sqrt(4) / 8. */
static void change_of_the_loss(void **state)
{
    (void)state;
    const double loss[] = {9, 9, 3, 3, 1, 3}, base[] = {9, 9, 2, 2, 2, 2}, none[6] = {0};
    const double *x[] = {loss, loss, loss}, *y[] = {base, base, base}, *zero[] = {none};
    struct cc_trial_mean m = cc_trial_change(x, y, 1, 2, 6);
    assert_near(m.mean, 0.25, 1e-12);
    assert_near(m.high - m.mean, 1.959964 * CC_TRIAL_WIDER * 0.25, 1e-6);
    assert_true(isnan(cc_trial_change(x, zero, 1, 2, 6).mean));
    /* By seeds: 25%, 50%, 75%: deviation 0.25. */
    const double b[] = {9, 9, 2.5, 2.5, 2.5, 2.5}, c[] = {9, 9, 3, 3, 3, 3},
                 d[] = {9, 9, 3.5, 3.5, 3.5, 3.5};
    const double *seeds[] = {b, c, d};
    m = cc_trial_change(seeds, y, 3, 2, 6);
    assert_near(m.mean, 0.5, 1e-12);
    assert_near(m.high - m.mean, 4.302653 * 0.25 / sqrt(3), 1e-6);
}

static void last_third(void **state)
{
    (void)state;
    assert_int_equal(cc_trial_tail(200), 134);
    assert_int_equal(cc_trial_tail(60), 40);
}

/* fp32 comes down from 2.3 to 0.3 at once. A scheme that stays at x has missed (x - 0.3) / 2 of its
 * progress: more than 0.6 of it above 1.5, and 0.3 above 0.9. */
static void far_behind(void **state)
{
    (void)state;
    enum { STEPS = 80 };
    double base[STEPS], loss[STEPS];
    for (size_t i = 0; i < STEPS; i++) {
        base[i] = i == 0 ? 2.3 : 0.3;
        loss[i] = i == 0 ? 2.3 : 1.6;
    }
    assert_true(cc_trial_behind(loss, base, 20, STEPS));
    assert_false(cc_trial_behind(loss, base, 19, STEPS));
    assert_false(cc_trial_behind(loss, base, 21, STEPS));
    for (size_t i = 1; i < STEPS; i++)
        loss[i] = 1.4;
    assert_false(cc_trial_behind(loss, base, 20, STEPS));
    assert_true(cc_trial_behind(loss, base, 40, STEPS));
    for (size_t i = 1; i < STEPS; i++)
        loss[i] = 0.8;
    assert_false(cc_trial_behind(loss, base, 40, STEPS));
    /* Only what was trained last counts: here it has caught up. */
    for (size_t i = 1; i < STEPS; i++)
        loss[i] = i < 20 ? 9 : 0.4;
    assert_false(cc_trial_behind(loss, base, 40, STEPS));
}

static void learns(void **state)
{
    (void)state;
    const double down[] = {2, 2, 2, 2, 1.7, 1.8}, flat[] = {2, 2, 2, 2, 1.8, 1.9};
    assert_true(cc_trial_learns(down, 6));
    assert_false(cc_trial_learns(flat, 6));
}

static void verdicts(void **state)
{
    (void)state;
    struct cc_trial_end end = {.lost = {0.004, -0.001, 0.009}, .steps = 200};
    assert_int_equal(cc_trial_rule(&end, 0.01), CC_TRIAL_KEEPS);
    assert_int_equal(cc_trial_rule(&end, 0.008), CC_TRIAL_OPEN);
    end.biased = true;
    assert_int_equal(cc_trial_rule(&end, 0.01), CC_TRIAL_OPEN);
    end.steps = 400;
    assert_int_equal(cc_trial_rule(&end, 0.01), CC_TRIAL_KEEPS);
    end.ended = true;
    assert_int_equal(cc_trial_rule(&end, 0.01), CC_TRIAL_COSTS);
    end = (struct cc_trial_end){.lost = {0.03, 0.011, 0.049}, .steps = 200};
    assert_int_equal(cc_trial_rule(&end, 0.01), CC_TRIAL_COSTS);
    end.lost = (struct cc_trial_mean){NAN, NAN, NAN};
    assert_int_equal(cc_trial_rule(&end, 0.01), CC_TRIAL_OPEN);
    assert_string_equal(cc_trial_verdicts[CC_TRIAL_OPEN], "open");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lost_accuracy), cmocka_unit_test(change_of_the_loss),
        cmocka_unit_test(last_third),    cmocka_unit_test(far_behind),
        cmocka_unit_test(learns),        cmocka_unit_test(verdicts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
