/* The comparison of an exchange's result with the sum that it should be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/random.h"
#include "netsim/exchange/pack/sum_check.h"

enum { N = 1000, MOST_WORKERS = 13 };

struct sums {
    float x[MOST_WORKERS][N], sum[N], magnitude[N], mean[N];
};

/* Values of very different magnitudes and both signs; sums in the order of the workers, and the
 * mean from sums in the opposite order. */
static void fill(struct sums *s, int workers)
{
    const float scale = (float)(1.0 / workers);
    for (size_t i = 0; i < N; i++) {
        float back = 0;
        s->sum[i] = s->magnitude[i] = 0;
        for (int w = 0; w < workers; w++) {
            const struct cc_random_id id = {.rank = w};
            const uint32_t r = cc_random(cc_key(&id, 0), (uint32_t)i);
            s->x[w][i] = ldexpf(cc_unit(r) - 0.5f, (int)(r % 16) - (i % 10 == 0 ? 140 : 8));
            s->sum[i] += s->x[w][i];
            s->magnitude[i] += fabsf(s->x[w][i]);
        }
        for (int w = workers; w-- > 0;)
            back += s->x[w][i];
        s->mean[i] = back * scale;
    }
}

static bool check_of(const struct sums *s, int workers, enum cc_element type, char text[200])
{
    const struct cc_sum_check c = {
        .sum = s->sum, .magnitude = s->magnitude, .n = N, .workers = workers, .type = type};
    return cc_sum_check(&c, s->mean, text, 200);
}

static bool check(const struct sums *s, int workers, char text[200])
{
    return check_of(s, workers, CC_ELEMENT_FP32, text);
}

/* Any order of the additions is right. */
static void orders(void **state)
{
    (void)state;
    struct sums *s = calloc(1, sizeof *s);
    char text[200] = "";
    assert_non_null(s);
    for (int workers = 1; workers <= MOST_WORKERS; workers++) {
        fill(s, workers);
        if (!check(s, workers, text))
            fail_msg("%d workers: %s", workers, text);
    }
    free(s);
}

/* A worker's value that was left out or added twice, a sum that was not divided, and values that
 * are no numbers are found, wherever they are. */
static void breakages(void **state)
{
    (void)state;
    struct sums *s = calloc(1, sizeof *s);
    assert_non_null(s);
    for (int workers = 2; workers <= MOST_WORKERS; workers += 3) {
        for (int how = 0; how < 5; how++) {
            const size_t at = how % 2 == 0 ? N - 1 : 1;
            char text[200] = "", place[24];
            fill(s, workers);
            const float x = s->x[1][at] / (float)workers;
            const float broken[] = {s->mean[at] - x, s->mean[at] + x, s->sum[at], NAN, INFINITY};
            s->mean[at] = broken[how];
            assert_false(check(s, workers, text));
            (void)snprintf(place, sizeof place, "value %zu is", at);
            assert_ptr_equal(strstr(text, place), text);
        }
    }
    free(s);
}

static float rounded(enum cc_element type, float x)
{
    uint16_t narrow;
    cc_narrow(type, &x, 1, &narrow);
    cc_widen((struct cc_elements){&narrow, type}, 1, &x);
    return x;
}

/* Sums that are rounded to 16 bits after every addition and at last are right for their type, and
 * for float32 they are not; a mean that is not divided, or by one worker less, is wrong. */
static void of_16_bits(void **state)
{
    (void)state;
    struct sums *s = calloc(1, sizeof *s);
    assert_non_null(s);
    for (int workers = 2; workers <= MOST_WORKERS; workers++)
        for (enum cc_element type = CC_ELEMENT_BF16; type <= CC_ELEMENT_FP16; type++) {
            char text[200] = "";
            fill(s, workers);
            for (size_t i = 0; i < N; i++) {
                float sum = rounded(type, s->x[0][i]);
                for (int w = 1; w < workers; w++)
                    sum = rounded(type, sum + s->x[w][i]);
                s->mean[i] = sum * (float)(1.0 / workers);
            }
            if (!check_of(s, workers, type, text))
                fail_msg("%d workers, %s: %s", workers, cc_element_names[type], text);
            assert_false(check(s, workers, text));
            for (size_t i = 0; i < N; i++)
                s->mean[i] *= (float)workers / (float)(workers - 1);
            assert_false(check_of(s, workers, type, text));
        }
    free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(orders), cmocka_unit_test(breakages),
                                       cmocka_unit_test(of_16_bits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
