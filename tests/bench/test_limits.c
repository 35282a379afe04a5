/* Limits and speeds by a clock that the test moves itself: clock_gettime is defined here, and what
 * lies between two readings takes the time that the test says. Which of the samples count, and how,
 * is what docs/results.md says: limits and speeds are medians, and of several loops the fastest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "bench/limits.h"
#include "bench/roofline.h"
#include "bench/speed.h"
#include "tests/lib/bench_config.h"

/* --- the clock --- */

enum { MOST = 4096, DRAWN = 1000 };

/* Nanoseconds between the readings of each pair, in turn. Without a script, every second reading is
 * a random number of DRAWN to 2 DRAWN after the one before, and is noted. */
static struct {
    bool moves;              /* the clock is the test's */
    const int64_t *scripted; /* or NULL */
    size_t pairs;            /* so far; those of a script are all read */
    int64_t took[MOST], now;
    bool within; /* a pair has begun */
    uint32_t random;
} script;

static int64_t next_duration(void)
{
    if (script.scripted != NULL)
        return script.scripted[script.pairs];
    script.random = script.random * 1664525U + 1013904223U;
    return DRAWN + script.random / 65536 % DRAWN;
}

/* The processor time of a thread is the script's; other clocks are the system's. */
int clock_gettime(clockid_t clock, struct timespec *out)
{
    if (!script.moves || clock != CLOCK_THREAD_CPUTIME_ID)
        return (int)syscall(SYS_clock_gettime, clock, out);
    if (script.within) {
        assert_true(script.pairs < MOST);
        script.took[script.pairs] = next_duration();
        script.now += script.took[script.pairs++];
    }
    script.within = !script.within;
    *out = (struct timespec){.tv_sec = script.now / 1000000000, .tv_nsec = script.now % 1000000000};
    return 0;
}

/* Starts the script; NULL: durations are drawn. */
static void move_clock(const int64_t *scripted)
{
    script.moves = true;
    script.scripted = scripted;
    script.pairs = 0;
    script.within = false;
}

/* --- by hand --- */

enum { VALUES_OF_LOOP = 1024, LOOPS = 19, TRIALS = 10, KEPT = 3 };

static void assert_near(double is, double want)
{
    if (!(fabs(is / want - 1) < 1e-9))
        fail_msg("%.12g instead of %.12g", is, want);
}

/* The limit over the first `samples` samples, in nanoseconds of a pass. */
static double limit_ns(struct cc_roofline *r, size_t index, size_t samples)
{
    return 4 * VALUES_OF_LOOP / cc_roofline_limit(r, index, samples);
}

/* Each loop's limit is its median, and the best loop's counts: neither its fastest sample, nor the
 * slowest, nor their mean. */
static void best_median(void **state)
{
    static const int64_t samples[][KEPT] = {/* in turn, of the three loops that are kept */
                                            {700, 500, 9000},
                                            {100, 450, 640},
                                            {9000, 440, 630},
                                            {710, 460, 100},
                                            {720, 8000, 650}};
    struct cc_error e = {""};
    int64_t all[TRIALS * LOOPS];
    size_t index;
    (void)state;
    struct cc_roofline *r = cc_roofline_new(VALUES_OF_LOOP, 1, 1, 5, &e);
    assert_non_null(r);
    const struct cc_pattern p = cc_pattern_decode(false, 1);
    for (size_t i = 0; i < TRIALS * LOOPS; i++)
        all[i] = 1000;
    move_clock(all);
    assert_int_equal(cc_roofline_add(r, &p, &index, &e), CC_OK);
    assert_int_equal(script.pairs, TRIALS * LOOPS);
    for (size_t i = 0; i < 5; i++) {
        move_clock(samples[i]);
        cc_roofline_sample(r, index, i);
        assert_int_equal(script.pairs, KEPT);
        cc_roofline_sample(r, index, i); /* of another scheme with the same pattern */
        assert_int_equal(script.pairs, KEPT);
    }
    script.moves = false;
    assert_true(cc_roofline_limit(r, index, 0) == 0);
    assert_near(limit_ns(r, index, 1), 500);
    assert_near(limit_ns(r, index, 3), 450);
    assert_near(limit_ns(r, index, 5), 460); /* medians 710, 460, 640 */
    cc_roofline_free(r);
}

/* --- all limits, and speeds --- */

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(const double *of, size_t n)
{
    double sorted[16];
    for (size_t i = 0; i < n; i++)
        sorted[i] = of[i];
    qsort(sorted, n, sizeof sorted[0], ascending);
    return (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
}

static void open_in_l2(struct fixture *f, size_t values)
{
    const struct cc_tensor_info tensor = {"x", cc_shape_flat(values)};
    open_config(f, make_trace(&tensor, 1, 1), "fp32");
}

enum { SAMPLES = 6 };

/* The samples of a scheme whose tensor stays in the second-level cache: of each call 32 times 512
 * values and 32 times 3,072, then the clock's 2^17 cycles; the first time, all loops for each of
 * three patterns; then the kept loops of each. */
static void limits_of_scheme(void **state)
{
    struct fixture f;
    struct cc_limits *l;
    struct cc_error e = {""};
    const size_t n = cc_l2_values() / 16 * 16;
    double l1[CC_CALLS][SAMPLES], loop[CC_CALLS][KEPT][SAMPLES], cycle[SAMPLES];
    (void)state;
    open_in_l2(&f, n);
    assert_int_equal(cc_limits_place(f.config.trace), CC_IN_L2);
    assert_int_equal(cc_limits_open(&f.config, SAMPLES, &l, &e), CC_OK);
    float *decoded = malloc(n * sizeof *decoded);
    assert_non_null(decoded);
    for (size_t i = 0; i < n; i++)
        decoded[i] = 1;
    cc_limits_on_decoded(l, 0, decoded);
    const double turns = (double)(cc_batch_values(n) / n + 1); /* of a loop between two readings */
    for (size_t s = 0; s < SAMPLES; s++) {
        const int64_t *took = script.took;
        move_clock(NULL);
        assert_int_equal(cc_limits_sample(l, 0, 4 * (double)n, s, &e), CC_OK);
        for (int c = 0; c < CC_CALLS; c++, took += 2)
            l1[c][s] = (double)(took[1] - took[0]) / (32 * 2560);
        cycle[s] = (double)*took++ / (1 << 17);
        took += s == 0 ? CC_CALLS * LOOPS * TRIALS : 0;
        for (int c = 0; c < CC_CALLS; c++)
            for (size_t k = 0; k < KEPT; k++)
                loop[c][k][s] = (double)*took++ / turns;
        assert_int_equal(took - script.took, script.pairs);
    }
    script.moves = false;
    for (size_t samples = 1; samples <= SAMPLES; samples++) {
        const struct cc_scheme_limits is = cc_limits_of(l, 0, samples);
        double clock[SAMPLES];
        for (size_t s = 0; s < samples; s++)
            clock[s] = 1 / cycle[s];
        assert_near(is.clock, median(clock, samples));
        for (int c = 0; c < CC_CALLS; c++) {
            double best = INFINITY;
            for (size_t k = 0; k < KEPT; k++)
                best = fmin(best, median(loop[c][k], samples));
            assert_near(is.call[c].memory, 4 * (double)n / best);
            const double ns = median(l1[c], samples); /* below zero: shorter calls took longer */
            if (ns > 0)
                assert_near(is.call[c].l1, 4 / ns);
            else
                assert_true(is.call[c].l1 == 0);
        }
        assert_true(is.call[CC_ENCODE].moved == 8 && is.call[CC_DECODE].moved == 8);
        assert_true(is.call[CC_DECODE_ADD].moved == 12);
    }
    cc_limits_free(l);
    free(decoded);
    close_config(&f);
}

/* The samples of a codec: 131 steps of 1,000 values, and then one step at a time. */
static void speeds(void **state)
{
    static const struct {
        size_t values;
        double steps; /* between two readings */
    } of[] = {{1003, 131}, {200000, 1}};
    enum { ROUNDS = 4, DISCARDED = 2 };
    (void)state;
    for (size_t i = 0; i < sizeof of / sizeof of[0]; i++) {
        const struct cc_speed_limits limits = {
            .discard = DISCARDED, .least = ROUNDS, .most = ROUNDS};
        struct fixture f;
        struct cc_speed s;
        struct cc_error e = {""};
        const struct cc_tensor_info tensor = {"x", cc_shape_flat(of[i].values)};
        open_config(&f, make_trace(&tensor, 1, 1), "fp32,int8");
        move_clock(NULL);
        assert_int_equal(cc_speed_measure(&f.config, &limits, &s, &e), CC_OK);
        script.moves = false;
        const size_t round = f.schemes.count * CC_CALLS;
        assert_int_equal(script.pairs, (DISCARDED + ROUNDS) * round);
        for (size_t k = 0; k < ROUNDS * round; k++) {
            const size_t call = k % CC_CALLS, scheme = k / CC_CALLS % f.schemes.count;
            assert_near(1e9 * s.seconds[call][scheme * s.most + k / round],
                        (double)script.took[DISCARDED * round + k] / of[i].steps);
        }
        cc_speed_free(&s);
        close_config(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(best_median),
        cmocka_unit_test(limits_of_scheme),
        cmocka_unit_test(speeds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
