/* The best share of plain chunks: against a search, and cases worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "models/plain_share.h"

static const struct cc_busy plain_link = {.codec_s = 0, .comm_s = 8};

/* A codec of 6 s and 2 s of network against 8 s plain: half of each takes max(3, 5), a third plain
 * max(4, 4). */
static void slow_codec(void **state)
{
    (void)state;
    const struct cc_plain_share s =
        cc_plain_share_best((struct cc_busy){.codec_s = 6, .comm_s = 2}, plain_link);
    assert_true(fabs(s.share - 1.0 / 3) < 1e-15);
    assert_true(fabs(s.time_s - 4) < 1e-15);
}

static void ends(void **state)
{
    (void)state;
    const struct cc_plain_share fast =
        cc_plain_share_best((struct cc_busy){.codec_s = 1, .comm_s = 2}, plain_link);
    assert_true(fast.share == 0 && fast.time_s == 2);
    /* Payloads larger than plain values, and a slow codec: nothing is encoded. */
    const struct cc_plain_share useless =
        cc_plain_share_best((struct cc_busy){.codec_s = 20, .comm_s = 9}, plain_link);
    assert_true(useless.share == 1 && useless.time_s == 8);
    /* Equal in everything: the crossing is 0 / 0. */
    const struct cc_plain_share same = cc_plain_share_best(plain_link, plain_link);
    assert_true(same.share == 0 && same.time_s == 8);
}

static double drawn(void)
{
    return 10 * (double)rand() / RAND_MAX;
}

static void search(void **state)
{
    (void)state;
    srand(1);
    for (int i = 0; i < 2000; i++) {
        const struct cc_busy e = {drawn(), drawn()}, p = {drawn(), drawn()};
        const struct cc_plain_share s = cc_plain_share_best(e, p);
        double least = INFINITY;
        for (int k = 0; k <= 1000; k++) {
            const double x = k / 1000.0;
            least = fmin(least, fmax((1 - x) * e.codec_s + x * p.codec_s,
                                     (1 - x) * e.comm_s + x * p.comm_s));
        }
        assert_true(s.share >= 0 && s.share <= 1);
        assert_true(s.time_s <= least * (1 + 1e-12));
        assert_true(s.time_s >= least - 0.02);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slow_codec),
        cmocka_unit_test(ends),
        cmocka_unit_test(search),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
