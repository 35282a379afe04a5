/* Steps that are not bulk synchronous, by simulated clocks, without a net. The parameters keep
 * accounts: each part has a value for each worker, which that worker's pushes raise by 1 and
 * nothing else changes, so that a copy says how many steps of each worker are in it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/random.h"
#include "netsim/exchange/pack/clocks.h"
#include "netsim/inprocess/inprocess.h"
#include "tests/lib/tier.h"

enum { WORKERS = 8, PARTS = 3, SERVERS = 2, PACK_HEAD = 1 };

struct account {
    size_t workers, most; /* most: steps that a worker lacks of another */
    float gradient[PARTS * WORKERS], model[PARTS * WORKERS], copy[WORKERS * PARTS * WORKERS];
    size_t *order, updates; /* workers, of part 0 */
    struct cc_job job;
    struct cc_job_row row;
    struct cc_inprocess_clocks clocks;
};

static int compute(void *arg, size_t w, size_t step, struct cc_error *e)
{
    struct account *a = arg;
    (void)e;
    memset(a->gradient, 0, sizeof a->gradient);
    for (size_t i = 0; i < PARTS; i++) {
        a->gradient[i * a->workers + w] = 1;
        for (size_t k = 0; k < a->workers; k++) {
            const size_t has = (size_t)a->copy[(w * PARTS + i) * a->workers + k];
            const size_t lacks = step > has ? step - has : 0;
            a->most = lacks > a->most ? lacks : a->most;
        }
    }
    return CC_OK;
}

static int update(void *arg, uint64_t step, uint64_t updates, size_t from, size_t to, float *push,
                  struct cc_error *e)
{
    struct account *a = arg;
    (void)step, (void)updates, (void)e;
    for (size_t i = from; i < to; i++) {
        a->model[i] += push[i - from];
        if (i < a->workers && push[i - from] != 0 && a->order != NULL)
            a->order[a->updates++] = i;
    }
    return CC_OK;
}

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

/* With a part for each message, of which the first and the last are on the same server. */
static void open_account(struct account *a, size_t workers, size_t steps, const double *slow)
{
    static const struct cc_message message[PARTS] = {{0, 0}, {1, 1}, {2, 2}};
    struct cc_error e = {""};
    *a = (struct account){
        .workers = workers,
        .job = {.kind = CC_JOB_REPLAY,
                .exchange = CC_PS,
                .workers = (int)workers,
                .servers = SERVERS,
                .consistency = {.how = CC_ASYNC},
                .seed = 1,
                .rendezvous = true,
                .data = true,
                .tensors = PARTS},
        .row = {.reduction = CC_REDUCE_SUM, .period = 1, .steps = steps, .messages = PARTS},
        .clocks = {.compute_s = 1, .slow = slow, .ready = at_end, .compute = compute}};
    a->row.message = cc_alloc(sizeof message, &e);
    memcpy(a->row.message, message, sizeof message);
    a->job.tensor = cc_alloc0(PARTS * sizeof *a->job.tensor, &e);
    for (int i = 0; i < PARTS; i++)
        a->job.tensor[i] =
            (struct cc_job_tensor){.shape = cc_shape_flat(workers), .server = i % SERVERS};
    assert_int_equal(cc_job_lay_out(&a->job, &e), CC_OK);
}

static void run(struct account *a, struct cc_inprocess_figures *out, uint64_t age[CC_CLOCKS_AGES])
{
    struct cc_inprocess *x;
    struct cc_error e = {""};
    struct cc_spec *spec;
    assert_int_equal(cc_spec_parse("fp32", &spec, &e), CC_OK);
    a->clocks.gradient = a->gradient;
    a->clocks.model = a->model;
    a->clocks.copy = a->copy;
    const struct cc_inprocess_config config = {.job = &a->job,
                                               .row = &a->row,
                                               .spec = spec,
                                               .raw = spec,
                                               .serve = update,
                                               .clocks = &a->clocks,
                                               .arg = a};
    assert_int_equal(cc_inprocess_open(&config, &x, &e), CC_OK);
    assert_int_equal(cc_inprocess_run(x, (uint64_t)a->row.steps * a->workers, &e), CC_OK);
    *out = cc_inprocess_figures(x);
    const struct cc_inprocess_figures again = cc_inprocess_figures(x);
    assert_true(again.push_bytes == out->push_bytes && again.pull_bytes == out->pull_bytes);
    assert_true(out->push_bytes > 0 && out->pull_bytes > 0);
    memcpy(age, cc_inprocess_ages(x), CC_CLOCKS_AGES * sizeof *age);
    assert_int_equal(out->ended, a->row.steps * a->workers);
    /* Every worker's gradients have all arrived. */
    for (size_t i = 0; i < PARTS * a->workers; i++)
        assert_true(a->model[i] == (float)a->row.steps);
    const double payload = (double)(PARTS * a->workers * sizeof(float));
    assert_true((double)out->push_bytes == out->updates * payload);
    cc_inprocess_close(x);
    cc_spec_free(spec);
    free(a->row.message);
    free(a->job.tensor);
    free(a->job.offset);
}

/* No worker ever computes with parameters that lack updates of more than the bound's steps, though
 * some come to it. */
static void test_bound(void **state)
{
    static const int bounds[] = {0, 1, 5, 20};
    const size_t steps = tier_pick(3000, 10000, 125000);
    double *slow = exponential(WORKERS * steps, 1);
    (void)state;
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        struct account a;
        struct cc_inprocess_figures f;
        uint64_t age[CC_CLOCKS_AGES];
        open_account(&a, WORKERS, bounds[i] == 5 ? steps : steps / 10, slow);
        a.job.consistency = (struct cc_job_consistency){.how = CC_STALE, .staleness = bounds[i]};
        a.clocks.links = (struct cc_process_links){.byte_s = 6e-5, .latency_s = 0.01};
        a.clocks.ready = i % 2 == 0 ? at_end : overlapped;
        run(&a, &f, age);
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
        struct account a;
        struct cc_inprocess_figures f;
        uint64_t age[CC_CLOCKS_AGES];
        open_account(&a, p, steps, slow);
        const double all = (double)(PARTS * p * steps), parts = PARTS;
        run(&a, &f, age);
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
    struct account a;
    struct cc_inprocess_figures f;
    uint64_t age[CC_CLOCKS_AGES];
    (void)state;
    open_account(&a, WORKERS, STEPS, NULL);
    a.order = order;
    a.job.consistency = (struct cc_job_consistency){.how = CC_STALE, .staleness = 0};
    run(&a, &f, age);
    for (size_t i = 0; i < STEPS * WORKERS; i++)
        assert_int_equal(order[i], i % WORKERS);
    assert_true(f.time_s == STEPS && f.staleness == (WORKERS - 1) / 2.0 && f.wait_s == 0);
    assert_true(f.pull_bytes == f.push_bytes);
}

/* By hand: the second worker takes three times as long. With a bound of 1 the first one pushes at 1
 * and 2, waits until the other's first push at 3, pushes at 4, and has its last pull when the
 * other's second push comes at 6. */
static void test_waiting(void **state)
{
    static const double slow[] = {1, 1, 1, 3, 3, 3};
    size_t order[6];
    static const size_t as[] = {0, 0, 1, 0, 1, 1}, at_once[] = {0, 0, 0, 1, 1, 1};
    struct account a;
    struct cc_inprocess_figures f;
    uint64_t age[CC_CLOCKS_AGES];
    (void)state;
    open_account(&a, 2, 3, slow);
    a.order = order;
    a.job.consistency = (struct cc_job_consistency){.how = CC_STALE, .staleness = 1};
    run(&a, &f, age);
    assert_memory_equal(order, as, sizeof as);
    assert_true(f.time_s == 9 && f.wait_s == 1 + 2);
    /* Staleness of the six updates: 0, 0, 2, 0, 1, 0, in each part. */
    assert_true(age[0] == 4 * PARTS && age[1] == PARTS && age[2] == PARTS && f.staleness == 0.5);
    open_account(&a, 2, 3, slow);
    a.order = order;
    run(&a, &f, age);
    /* At 3 both push; the first worker comes first. */
    assert_memory_equal(order, at_once, sizeof at_once);
    assert_true(f.time_s == 9 && f.wait_s == 0 && age[3] == PARTS);
}

/* Ports serve one message after the other: with one worker, and 2 of 3 parts on one server, a push
 * and a pull take 3 messages each, as the worker has one port for all. */
static void test_messages(void **state)
{
    struct account a;
    struct cc_inprocess_figures f;
    uint64_t age[CC_CLOCKS_AGES];
    (void)state;
    for (size_t workers = 1; workers <= 2; workers++) {
        const double bytes = (double)(workers * sizeof(float) + PACK_HEAD);
        open_account(&a, workers, workers == 1 ? 4 : 1, NULL);
        a.clocks.links = (struct cc_process_links){
            .byte_s = 0.001, .message_bytes = 125 - bytes, .latency_s = workers == 1 ? 0.25 : 0};
        run(&a, &f, age);
        /* One worker: the last pull, of a server whose port out is free, leaves when its part has
         * arrived: at 1.375 + 0.25, and takes 0.125 and 0.25. Steps begin 2 s after each other, and
         * end with the push. Two push 4 parts to server 0: the last one has passed its port after
         * 0.5. */
        const double want = workers == 1 ? 3 * 2 + 1 + 0.375 + 0.25 : 1 + 0.5;
        assert_true(fabs(f.time_s - want) < 1e-12);
    }
}

/* Workers that withhold steps push the sum of their gradients: when what they have gets too old, or
 * when equal gradients have grown to three times one of them, which is in every third step; and
 * after the last step. */
static void test_withholding(void **state)
{
    static const struct {
        struct cc_job_consistency how;
        double updates; /* of a worker's 11 steps */
    } cases[] = {{{.how = CC_ASYNC, .communicate = CC_AT_NORM, .growth = 3}, 4},
                 {{.how = CC_STALE, .staleness = 5, .communicate = CC_AT_NORM, .growth = 3}, 4},
                 {{.how = CC_STALE, .staleness = 0, .communicate = CC_AT_NORM, .growth = 3}, 11},
                 {{.how = CC_STALE, .staleness = 5, .communicate = CC_AT_BOUND}, 2},
                 {{.how = CC_STALE, .staleness = 4, .communicate = CC_AT_BOUND}, 3}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct account a;
        struct cc_inprocess_figures f;
        uint64_t age[CC_CLOCKS_AGES];
        open_account(&a, 4, 11, NULL);
        a.job.consistency = cases[i].how;
        run(&a, &f, age);
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
