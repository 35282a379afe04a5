/* Steps that are not bulk synchronous, by simulated clocks, without a net. The test keeps accounts
 * of its own of what each worker has received. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/random.h"
#include "netsim/inprocess/unsynced.h"
#include "netsim/exchange/pack/clocks.h"
#include "tests/lib/tier.h"

enum { WORKERS = 8, PARTS = 3, SERVERS = 2 };

struct account {
    size_t workers, bytes;
    bool withholds;                           /* workers send in every third step, and when due */
    uint64_t applied[PARTS][WORKERS];         /* steps of each worker that the server has, */
    uint64_t have[WORKERS][PARTS][WORKERS];   /* and that each worker has, */
    uint64_t on_way[WORKERS][PARTS][WORKERS]; /* or is about to receive */
    size_t step[WORKERS];
    uint64_t most;          /* steps that a worker lacks of another */
    size_t *order, updates; /* workers, of part 0 */
};

static int compute(void *arg, size_t w, size_t step, struct cc_unsynced_part *part,
                   struct cc_error *e)
{
    struct account *a = arg;
    (void)e;
    for (size_t i = 0; i < PARTS; i++) {
        for (size_t k = 0; k < a->workers; k++) {
            const uint64_t lacks = step > a->have[w][i][k] ? step - a->have[w][i][k] : 0;
            a->most = lacks > a->most ? lacks : a->most;
        }
        part[i].sends = !a->withholds || step % 3 == 2 || part[i].due;
        part[i].bytes = a->bytes;
    }
    a->step[w] = step;
    return CC_OK;
}

static int update(void *arg, size_t w, size_t part, struct cc_error *e)
{
    struct account *a = arg;
    (void)e;
    a->applied[part][w] = a->step[w] + 1;
    if (part == 0 && a->order != NULL)
        a->order[a->updates++] = w;
    return CC_OK;
}

static int pull(void *arg, size_t w, size_t part, size_t *bytes, struct cc_error *e)
{
    struct account *a = arg;
    (void)e;
    memcpy(a->on_way[w][part], a->applied[part], sizeof a->applied[part]);
    *bytes = a->bytes;
    return CC_OK;
}

static int receive(void *arg, size_t w, size_t part, struct cc_error *e)
{
    struct account *a = arg;
    (void)e;
    memcpy(a->have[w][part], a->on_way[w][part], sizeof a->have[w][part]);
    return CC_OK;
}

static const struct cc_unsynced_ops ops = {compute, update, pull, receive};
static const size_t server_of[PARTS] = {0, 1, 0};
static const double at_end[PARTS] = {1, 1, 1}, overlapped[PARTS] = {0.5, 0.8, 1};

/* Exponential factors of mean 1: the waiting times of a Poisson process. */
static double *exponential(size_t count, uint64_t seed)
{
    double *slow = cc_alloc(count * sizeof *slow, NULL);
    const struct cc_random_id id = {.seed = seed};
    const struct cc_key key = cc_key(&id, 0);
    assert_non_null(slow);
    for (size_t i = 0; i < count; i++)
        slow[i] = -log(((double)cc_random(key, (uint32_t)i) + 0.5) / 0x1p32);
    return slow;
}

static struct cc_unsynced_config config_of(struct account *a, size_t steps, const double *slow)
{
    return (struct cc_unsynced_config){.workers = a->workers,
                                       .servers = SERVERS,
                                       .parts = PARTS,
                                       .server = server_of,
                                       .ready = at_end,
                                       .consistency = {.how = CC_ASYNC},
                                       .steps = steps,
                                       .compute_s = 1,
                                       .slow = slow,
                                       .ops = &ops,
                                       .arg = a};
}

static void run(const struct cc_unsynced_config *config, struct cc_unsynced_figures *out,
                uint64_t age[CC_CLOCKS_AGES])
{
    struct cc_unsynced *u;
    struct cc_error e = {""};
    assert_int_equal(cc_unsynced_open(config, &u, &e), CC_OK);
    assert_int_equal(cc_unsynced_run(u, (uint64_t)config->steps * config->workers, &e), CC_OK);
    cc_unsynced_figures(u, out);
    cc_unsynced_ages(u, age);
    assert_int_equal(out->ended, config->steps * config->workers);
    cc_unsynced_close(u);
}

/* No worker ever computes with parameters that lack updates of more than the bound's steps, though
 * some come to it. */
static void test_bound(void **state)
{
    static const int bounds[] = {0, 1, 5, 20};
    const size_t steps = tier_pick(10000, 10000, 125000);
    double *slow = exponential(WORKERS * steps, 1);
    (void)state;
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        struct account a = {.workers = WORKERS, .bytes = 100};
        struct cc_unsynced_figures f;
        uint64_t age[CC_CLOCKS_AGES];
        struct cc_unsynced_config c = config_of(&a, bounds[i] == 5 ? steps : steps / 10, slow);
        c.consistency = (struct cc_job_consistency){.how = CC_STALE, .staleness = bounds[i]};
        c.byte_s = 2e-5;
        c.latency_s = 0.01;
        c.ready = i % 2 == 0 ? at_end : overlapped;
        run(&c, &f, age);
        assert_int_equal(a.most, bounds[i]);
        assert_true(f.wait_s > 0);
    }
    free(slow);
}

/* The mean staleness is that of updates between two pushes of a worker, of which there is one by
 * each other worker in the mean, whatever the times. With exponential times the next update is
 * any worker's with equal chances, so that a staleness of k has probability (1 - 1/P)^k / P. */
static void test_async(void **state)
{
    const size_t steps = tier_pick(5000, 5000, 50000);
    double *slow = exponential(WORKERS * steps, 2);
    (void)state;
    for (size_t p = 2; p <= WORKERS; p *= 2) {
        struct account a = {.workers = p};
        struct cc_unsynced_figures f;
        uint64_t age[CC_CLOCKS_AGES];
        const struct cc_unsynced_config c = config_of(&a, steps, slow);
        const double all = (double)(PARTS * p * steps), parts = PARTS;
        run(&c, &f, age);
        /* The last steps of some workers come after others have ended. */
        assert_true(fabs(f.staleness - (double)(p - 1)) < 0.02 * (double)p);
        assert_true(f.wait_s == 0 && f.updates == (double)(p * steps));
        for (int k = 0; k < 3 * (int)p; k++) {
            const double q = pow(1 - 1 / (double)p, k) / (double)p, expected = all * q;
            /* All parts of a step have the same staleness, so 5 deviations of all / PARTS. */
            const double most = 5 * parts * sqrt(all / parts * q * (1 - q)) + 0.005 * expected;
            assert_true(fabs((double)age[k] - expected) < most);
        }
    }
    free(slow);
}

/* With a bound of 0 and equal workers, pushes arrive in the order of the workers, step by step. */
static void test_order(void **state)
{
    enum { STEPS = 5 };
    size_t order[STEPS * WORKERS];
    struct account a = {.workers = WORKERS, .order = order};
    struct cc_unsynced_figures f;
    uint64_t age[CC_CLOCKS_AGES];
    struct cc_unsynced_config c = config_of(&a, STEPS, NULL);
    (void)state;
    c.consistency = (struct cc_job_consistency){.how = CC_STALE, .staleness = 0};
    run(&c, &f, age);
    for (size_t i = 0; i < STEPS * WORKERS; i++)
        assert_int_equal(order[i], i % WORKERS);
    assert_true(f.time_s == STEPS && f.staleness == (WORKERS - 1) / 2.0 && f.wait_s == 0);
}

/* By hand: the second worker takes three times as long. With a bound of 1 the first one pushes at 1
 * and 2, waits until the other's first push at 3, pushes at 4, and has its last pull when the
 * other's second push comes at 6. */
static void test_waiting(void **state)
{
    static const double slow[] = {1, 1, 1, 3, 3, 3};
    size_t order[6];
    static const size_t as[] = {0, 0, 1, 0, 1, 1}, at_once[] = {0, 0, 0, 1, 1, 1};
    struct account a = {.workers = 2, .order = order}, b = a;
    struct cc_unsynced_figures f;
    uint64_t age[CC_CLOCKS_AGES];
    struct cc_unsynced_config c = config_of(&a, 3, slow);
    (void)state;
    c.consistency = (struct cc_job_consistency){.how = CC_STALE, .staleness = 1};
    run(&c, &f, age);
    assert_memory_equal(order, as, sizeof as);
    assert_true(f.time_s == 9 && f.wait_s == 1 + 2);
    /* Staleness of the six updates: 0, 0, 2, 0, 1, 0, in each part. */
    assert_true(age[0] == 4 * PARTS && age[1] == PARTS && age[2] == PARTS && f.staleness == 0.5);
    c = config_of(&b, 3, slow);
    run(&c, &f, age);
    /* At 3 both push; the first worker comes first. */
    assert_memory_equal(order, at_once, sizeof at_once);
    assert_true(f.time_s == 9 && f.wait_s == 0 && age[3] == PARTS);
}

/* Ports serve one message after the other: with one worker, and 2 of 3 parts on one server, a push
 * and a pull take 3 messages each, as the worker has one port for all. */
static void test_messages(void **state)
{
    struct account a = {.workers = 1, .bytes = 100}, b = {.workers = 2, .bytes = 100};
    struct cc_unsynced_figures f;
    uint64_t age[CC_CLOCKS_AGES];
    struct cc_unsynced_config c = config_of(&a, 4, NULL);
    (void)state;
    c.byte_s = 0.001;
    c.message_bytes = 25;
    c.latency_s = 0.25;
    run(&c, &f, age);
    /* The last pull, of a server whose port out is free, leaves when its part has arrived: at 1.375
     * + 0.25, and takes 0.125 and 0.25. Steps begin 2 s after each other, and end with the push. */
    assert_true(fabs(f.time_s - (3 * 2 + 1 + 0.375 + 0.25)) < 1e-12);
    /* Two workers push 4 parts to server 0: the last one has passed its port after 0.5. */
    c = config_of(&b, 1, NULL);
    c.byte_s = 0.001;
    c.message_bytes = 25;
    run(&c, &f, age);
    assert_true(fabs(f.time_s - (1 + 0.5)) < 1e-12);
}

/* Workers that withhold steps push in every third one; with a narrow bound sooner, since what
 * they have gets too old. */
static void test_withholding(void **state)
{
    static const struct {
        struct cc_job_consistency how;
        double updates; /* of a worker's 12 steps */
    } cases[] = {{{.how = CC_ASYNC}, 4},
                 {{.how = CC_STALE, .staleness = 5}, 4},
                 {{.how = CC_STALE, .staleness = 0}, 12}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct account a = {.workers = 4, .withholds = true};
        struct cc_unsynced_figures f;
        uint64_t age[CC_CLOCKS_AGES];
        struct cc_unsynced_config c = config_of(&a, 12, NULL);
        c.consistency = cases[i].how;
        run(&c, &f, age);
        assert_true(f.updates == 4 * cases[i].updates);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bound),    cmocka_unit_test(test_async),
        cmocka_unit_test(test_order),    cmocka_unit_test(test_waiting),
        cmocka_unit_test(test_messages), cmocka_unit_test(test_withholding)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
