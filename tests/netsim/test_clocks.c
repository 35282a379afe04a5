/* A server's clocks, against a slow reference that is written from Ho et al. alone, with workers
 * that arrive in random order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "netsim/exchange/pack/clocks.h"
#include "tests/lib/tier.h"

static uint64_t seed;

/* Marsaglia's xorshift. */
static double draw(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (double)(seed >> 11) * 0x1p-53;
}

static double exponential(double mean)
{
    return -mean * log(1 - draw());
}

enum { MOST = 16 };

/* The reference: which updates there are, in their order, and which of them each worker has read.
 * All questions are answered by counting. */
struct reference {
    size_t workers, updates;
    unsigned char *by;     /* [updates]: the worker */
    uint32_t of[MOST];     /* clocks, counted from the list */
    size_t has_read[MOST]; /* the number of updates of the list that it has read */
};

static void reference_update(struct reference *r, size_t worker)
{
    r->by[r->updates++] = (unsigned char)worker;
    r->of[worker]++;
}

static uint32_t least(const struct reference *r)
{
    uint32_t x = r->of[0];
    for (size_t i = 1; i < r->workers; i++)
        x = r->of[i] < x ? r->of[i] : x;
    return x;
}

static size_t others_since(const struct reference *r, size_t worker)
{
    size_t count = 0;
    for (size_t i = r->has_read[worker]; i < r->updates; i++)
        count += r->by[i] != worker;
    return count;
}

struct result {
    double mean;
    uint64_t most_ahead, blocked;
    uint64_t age[CC_CLOCKS_AGES];
};

/* Workers compute for random times, some of them always slower, push, and read when they may. */
static struct result simulate(size_t workers, const struct cc_job_consistency *config, size_t steps,
                              double slowest_factor)
{
    static unsigned char by[1 << 21];
    struct cc_error e = {""};
    struct cc_clocks c;
    struct result out = {.mean = 0};
    struct reference r = {.workers = workers, .by = by};
    double at[MOST];
    bool waits[MOST] = {false};
    assert_int_equal(cc_clocks_open(&c, config, workers, &e), CC_OK);
    for (size_t i = 0; i < workers; i++)
        at[i] = exponential(1);
    for (size_t n = 0; n < steps; n++) {
        size_t w = workers;
        for (size_t i = 0; i < workers; i++)
            if (!waits[i] && (w == workers || at[i] < at[w]))
                w = i;
        assert_true(w < workers); /* somebody can always go on */
        const size_t age = others_since(&r, w);
        cc_ages_add(out.age, age);
        assert_int_equal(cc_clocks_advance(&c, w, r.of[w], &e), CC_OK);
        assert_int_equal(cc_clocks_update(&c, w), age);
        reference_update(&r, w);
        waits[w] = true;
        const double now = at[w];
        for (size_t i = 0; i < workers; i++) {
            if (!waits[i])
                continue;
            const uint32_t ahead = r.of[i] - least(&r);
            const bool may = config->how == CC_ASYNC || ahead <= (uint32_t)config->staleness;
            assert_int_equal(cc_clocks_may_read(&c, i), may);
            if (!may) {
                out.blocked++;
                continue;
            }
            out.most_ahead = ahead > out.most_ahead ? ahead : out.most_ahead;
            cc_clocks_read(&c, i);
            r.has_read[i] = r.updates;
            waits[i] = false;
            at[i] = now + exponential(i == 0 ? slowest_factor : 1);
        }
    }
    assert_int_equal(c.updates, steps);
    out.mean = cc_ages_mean(out.age);
    cc_clocks_close(&c);
    return out;
}

/* The bound holds in a million steps, for several bounds; it is reached; and somebody is blocked.
 */
static void bound_holds(void **state)
{
    (void)state;
    const int bounds[] = {0, 1, 3, 5, 10};
    const size_t steps = tier_pick(100000, 100000, 1000000);
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
        const struct cc_job_consistency config = {.how = CC_STALE, .staleness = bounds[i]};
        seed = 88172645463325252ULL + i;
        const struct result r = simulate(4 + i, &config, steps, 1.2);
        assert_int_equal(r.most_ahead, bounds[i]);
        assert_true(r.blocked > 0);
    }
}

/* Without a bound the mean is P - 1: every update counts for each other worker once, but those at
 * the end, which nobody has counted yet. If computing takes exponential times, all workers are as
 * likely to be next, so that the staleness has a geometric distribution. */
static void async_is_geometric(void **state)
{
    (void)state;
    const size_t steps = tier_pick(100000, 100000, 1000000);
    for (size_t workers = 1; workers <= 16; workers *= 2) {
        const struct cc_job_consistency config = {.how = CC_ASYNC};
        const double p = (double)workers;
        seed = 1234567 + workers;
        const struct result r = simulate(workers, &config, steps, 1);
        assert_true(fabs(r.mean - (p - 1)) < 0.01 * p);
        for (size_t k = 0; k < 3 * workers; k++) {
            const double expected = (double)steps / p * pow(1 - 1 / p, (double)k);
            assert_true(fabs((double)r.age[k] - expected) <= 5 * sqrt(expected) + 1e-9);
        }
        /* Nobody is blocked, however slow a worker is, and the mean stays. */
        const struct result slow = simulate(workers, &config, steps, 3);
        assert_true(slow.blocked == 0 && fabs(slow.mean - (p - 1)) < 0.01 * p);
    }
}

static void bulk_waits_for_all(void **state)
{
    (void)state;
    const struct cc_job_consistency config = {.how = CC_STALE, .staleness = 0};
    seed = 99;
    const struct result r = simulate(8, &config, 80000, 1);
    /* Each step has updates 0 to 7 after the same read. */
    for (size_t k = 0; k < 8; k++)
        assert_int_equal(r.age[k], 10000);
}

static void silent_steps_advance(void **state)
{
    (void)state;
    struct cc_error e = {""};
    struct cc_clocks c;
    const struct cc_job_consistency config = {.how = CC_STALE, .staleness = 1};
    assert_int_equal(cc_clocks_open(&c, &config, 2, &e), CC_OK);
    assert_int_equal(cc_clocks_advance(&c, 0, 0, &e), CC_OK);
    assert_true(cc_clocks_may_read(&c, 0));
    assert_int_equal(cc_clocks_advance(&c, 0, 1, &e), CC_OK);
    assert_false(cc_clocks_may_read(&c, 0));
    assert_int_equal(cc_clocks_advance(&c, 1, 0, &e), CC_OK);
    assert_true(cc_clocks_may_read(&c, 0));
    assert_int_equal(c.updates, 0);
    assert_int_equal(cc_clocks_advance(&c, 1, 2, &e), CC_FAIL);
    assert_string_equal(e.text, "worker 1 has sent step 2, and its next one is 1");
    cc_clocks_close(&c);
}

static void summaries(void **state)
{
    (void)state;
    static uint64_t age[CC_CLOCKS_AGES];
    assert_true(cc_ages_mean(age) == 0 && cc_ages_quantile(age, 0.95) == 0);
    age[0] = 1;
    age[3] = 18;
    age[7] = 1;
    assert_true(cc_ages_mean(age) == 61 / 20.0);
    assert_true(cc_ages_quantile(age, 0.05) == 0 && cc_ages_quantile(age, 0.06) == 3);
    assert_true(cc_ages_quantile(age, 0.95) == 3 && cc_ages_quantile(age, 0.96) == 7);
    age[7] = 2;
    assert_true(cc_ages_quantile(age, 0.95) == 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bound_holds),        cmocka_unit_test(async_is_geometric),
        cmocka_unit_test(bulk_waits_for_all), cmocka_unit_test(silent_steps_advance),
        cmocka_unit_test(summaries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
