/* Statistics of timings, by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "core/stats.h"

static void by_hand(void **state)
{
    (void)state;
    struct cc_stats s = cc_stats_of((double[]){3, 1, 2}, 3);
    assert_true(s.count == 3 && s.median == 2 && s.mean == 2 && s.sd == 1);
    assert_true(s.min == 1 && s.max == 3 && s.outliers == 0);
    s = cc_stats_of((double[]){4, 1, 2, 3}, 4);
    assert_true(s.median == 2.5 && fabs(s.sd - sqrt(5. / 3)) < 1e-12);
    /* Median 3.5, median deviation 1.5: an outlier is more than 14.826 * 1.5 / 0.6745 away. */
    s = cc_stats_of((double[]){5, 4, 1000, 3, 2, 1}, 6);
    assert_true(s.median == 3.5 && s.max == 1000 && s.outliers == 1);
    s = cc_stats_of((double[]){5, 4, 36.4, 3, 2, 1}, 6);
    assert_int_equal(s.outliers, 0);
    s = cc_stats_of((double[]){5, 4, 36.5, 3, 2, 1}, 6);
    assert_int_equal(s.outliers, 1);
    s = cc_stats_of((double[]){7, 7, 7, 7}, 4);
    assert_true(s.median == 7 && s.sd == 0 && s.outliers == 0);
    s = cc_stats_of((double[]){9}, 1);
    assert_true(s.count == 1 && s.median == 9 && s.mean == 9 && s.sd == 0 && s.min == 9);
    s = cc_stats_of((double[]){50, 10, 20, 40, 30}, 5);
    assert_true(s.low == 20 && s.high == 40);
    assert_true(fabs(cc_stats_spread(&s) - 2. / 3) < 1e-12);
    assert_true(fabs(cc_stats_median_error(&s) - 0.929 * 2 / 3 / sqrt(5)) < 1e-3);
    s = cc_stats_of((double[]){4, 1, 2, 3}, 4);
    assert_true(s.low == 1.75 && s.high == 3.25);
    s = cc_stats_of(NULL, 0);
    assert_true(s.count == 0 && s.median == 0 && s.max == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(by_hand)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
