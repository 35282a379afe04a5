/* The composition of steps: against timelines worked out by hand, simulations, and properties of
 * waiting. Overlapped steps through servers are in test_overlap.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <stdbool.h>
#include <string.h>

#include "core/clock.h"
#include "core/random.h"
#include "models/place.h"
#include "models/step.h"
#include "tests/lib/number.h"

static struct cc_cost cost_of(double encode, double push, double server, double pull, double decode)
{
    return (struct cc_cost){.encode_s = encode,
                            .push_transfer_s = push,
                            .push_worker_s = push,
                            .push_server_s = push,
                            .server_codec_s = server,
                            .pull_transfer_s = pull,
                            .pull_worker_s = pull,
                            .pull_server_s = pull,
                            .decode_s = decode};
}

/* --- Pipe-SGD --- */

static void pipe_sgd(void **state)
{
    (void)state;
    /* Equations 2 and 3 and 4 for update 1, compute 4, communication 3, and communication 9. */
    assert_true(cc_pipe_sync(1, 4, 3) == 8);
    assert_true(cc_pipe_ideal(1, 4, 3, 4) == 2);
    assert_true(cc_pipe_limited(1, 4, 3, 1) == 8);
    for (int k = 2; k < 9; k++) {
        assert_true(cc_pipe_limited(1, 4, 3, k) == 5);
        assert_true(cc_pipe_limited(1, 4, 9, k) == 9);
    }
    /* Equation 7: linear scaling as soon as computing takes longer. */
    assert_true(cc_pipe_efficiency(1, 4, cc_pipe_limited(1, 4, 3, 2)) == 1);
    assert_true(cc_pipe_efficiency(1, 4, cc_pipe_limited(1, 4, 10, 2)) == 0.5);
}

/* Simulates the pipelined step: step t computes when the processor is free and the sum of step t -
 * k has arrived; the link serves in order. */
static void pipe_played(void **state)
{
    (void)state;
    static const double cases[][2] = {{5, 3}, {3, 5}, {4, 4}, {1, 9}, {7, 0.5}};
    enum { STEPS = 400 };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int k = 1; k <= 5; k++) {
            double there[STEPS + 8] = {0}, processor = 0, link = 0, half = 0;
            for (int t = 0; t < STEPS; t++) {
                processor = fmax(processor, t >= k ? there[t - k] : 0) + cases[i][0];
                link = fmax(link, processor) + cases[i][1];
                there[t] = link;
                if (t == STEPS / 2 - 1)
                    half = link;
            }
            close_to(cc_pipe_limited(0, cases[i][0], cases[i][1], k), (link - half) / (STEPS / 2),
                     1e-12, "pipelined");
        }
}

/* --- wait-free backpropagation --- */

/* Two tensors with equal shares of a compute time of 6 (forward 1 and 1, backward 2 and 2), ready
 * at 2 and 4. The network is one stage of 9 s: 3-12 and 12-21, decoded at 13 and 22; forward 22-24.
 *
 * Messages in turn, with token buckets that save 2 s when they are full, 4 rounds, and a pause of 1
 * s before each, there are 5 s of sending. Tensor 1: 3-7 and 5 - 2 - 3 x 1 s: there at 7, decoded
 * at 8; the bucket is empty then. Tensor 0: 7-11 and 5 - 4 x 1: at 12, decoded at 13; forward
 * 13-15.
 *
 * Both under way at once: tensor 1 as before; tensor 0 begins at 5, its bucket holds the 2 s since
 * 3, and 5 - 2 - 3 x 1 s: there at 9, decoded at 10; forward 10-12. Without buckets they
 * share the port: each takes 5/9 of it at most. Tensor 1 sends 10/9 s of its 5 until 5, and the
 * rest at half the rate until 12 7/9; tensor 0, which has 10/9 s left then, until 14 7/9, decoded
 * at 15 7/9; forward 2 s. If 3 of the 4 s are work, the processor works 3-6 and 6-9, which is not
 * later; if it works 12 s for each, 3-15 and 15-27. A worker waits from 4 on, except while it
 * encodes tensor 0 (4-5), works and decodes. */
static void by_hand(void **state)
{
    (void)state;
    struct cc_timing t = {
        .mode = CC_OVERLAP, .compute_s = 6, .forward_share = 1. / 3, .in_turn = true};
    const double share[] = {0.5, 0.5};
    struct cc_cost c = {.encode_s = 1, .push_transfer_s = 9, .rounds = 1, .decode_s = 1};
    struct cc_step_message ship[] = {{.cost = c, .first = 1, .last = 1},
                                     {.cost = c, .first = 0, .last = 0}};
    double scratch[2 * CC_STEP_SCRATCH], exposed;
    close_to(cc_step_overlap(&t, ship, 2, share, 2, 0, scratch, &exposed), 24, 1e-12,
             "one network");
    close_to(exposed, 15, 1e-12, "exposed: one network");
    c = (struct cc_cost){
        .encode_s = 1, .push_latency_s = 4, .push_transfer_s = 5, .rounds = 4, .decode_s = 1};
    ship[0].cost = ship[1].cost = c;
    close_to(cc_step_overlap(&t, ship, 2, share, 2, 2, scratch, &exposed), 15, 1e-12, "rounds");
    close_to(exposed, 6, 1e-12, "exposed: rounds");
    t.in_turn = false;
    close_to(cc_step_overlap(&t, ship, 2, share, 2, 2, scratch, &exposed), 12, 1e-12, "at once");
    close_to(exposed, 3, 1e-12, "exposed: at once");
    close_to(cc_step_overlap(&t, ship, 2, share, 2, 0, scratch, &exposed), 17 + 7. / 9, 1e-12,
             "without buckets");
    close_to(exposed, 8 + 7. / 9, 1e-12, "exposed: without buckets");
    ship[0].cost.push_latency_s = ship[1].cost.push_latency_s = 1;
    ship[0].cost.hop_codec_s = ship[1].cost.hop_codec_s = 3;
    close_to(cc_step_overlap(&t, ship, 2, share, 2, 0, scratch, &exposed), 17 + 7. / 9, 1e-12,
             "work between rounds");
    close_to(exposed, 3 + 7. / 9, 1e-12, "exposed: work between rounds");
    ship[0].cost.hop_codec_s = ship[1].cost.hop_codec_s = 12;
    close_to(cc_step_overlap(&t, ship, 2, share, 2, 0, scratch, &exposed), 30, 1e-12,
             "one processor");
    close_to(exposed, 0, 1e-12, "exposed: one processor");
    /* A small message overtakes a large one: at 5 tensor 1 has 8 of 10 s left, tensor 0 is there at
     * 7, after 1 s at half the rate, and tensor 1 at 14; forward 7-8 and 14-15. */
    ship[0].cost = (struct cc_cost){.encode_s = 1, .push_transfer_s = 10, .rounds = 1};
    ship[1].cost = (struct cc_cost){.encode_s = 1, .push_transfer_s = 1, .rounds = 1};
    close_to(cc_step_overlap(&t, ship, 2, share, 2, 0, scratch, &exposed), 15, 1e-12, "overtaking");
    close_to(exposed, 2 + 6, 1e-12, "exposed: overtaking");
    /* Without work between rounds, but four messages of which each keeps the processor busy for 3
     * s: as 12 s of work. In turn, that is in the latencies. */
    ship[0].cost = ship[1].cost = (struct cc_cost){.encode_s = 1,
                                                   .push_latency_s = 1,
                                                   .push_transfer_s = 5,
                                                   .rounds = 4,
                                                   .messages = 4,
                                                   .decode_s = 1};
    t.message_s = 3;
    close_to(cc_step_overlap(&t, ship, 2, share, 2, 0, scratch, &exposed), 30, 1e-12, "messages");
    t.in_turn = true;
    close_to(cc_step_overlap(&t, ship, 2, share, 2, 0, scratch, &exposed), 18, 1e-12, "in turn");
    t.in_turn = false;
    ship[0].cost = ship[1].cost = (struct cc_cost){0};
    close_to(cc_step_overlap(&t, ship, 2, share, 2, 0, scratch, &exposed), 6, 1e-12, "free");
    close_to(exposed, 0, 1e-12, "exposed: free");
}

/* Encode 1 s, exchange 11 s; half of the computation, of 6 s and then of 60, runs beside the
 * exchange. */
static void hidden(void **state)
{
    (void)state;
    const struct cc_cost c = cost_of(1, 5, 1, 4, 1);
    struct cc_timing t = {.compute_s = 6, .update_s = 0.5};
    close_to(cc_step_sequential(&t, &c), 18.5, 1e-12, "nothing hidden");
    t.hidden_share = 0.5;
    close_to(cc_step_sequential(&t, &c), 3 + 1 + 11 + 0.5, 1e-12, "hidden behind the exchange");
    t.compute_s = 60;
    close_to(cc_step_sequential(&t, &c), 30 + 1 + 30 + 0.5, 1e-12, "hides the exchange");
}

static double random_unit(unsigned i)
{
    const struct cc_random_id id = {.seed = 5};
    return cc_unit(cc_random(cc_key(&id, 0), i));
}

/* --- placement --- */

static void placement(void **state)
{
    (void)state;
    const double size[] = {3, 9, 4, 8, 1, 7};
    double load[3];
    int server[6];
    size_t order[12];
    cc_place(CC_ROUND_ROBIN, size, 6, 3, server, load, order);
    assert_true(load[0] == 11 && load[1] == 10 && load[2] == 11);
    /* 9 | 8 | 7, then 4 for the third server, 3 for the second, 1 for the first. */
    cc_place(CC_LPT, size, 6, 3, server, load, order);
    assert_true(load[0] == 10 && load[1] == 11 && load[2] == 11);
    assert_true(server[1] == 0 && server[3] == 1 && server[5] == 2 && server[2] == 2);
    close_to(cc_imbalance(load, 3), 33. / 32, 1e-12, "imbalance");
    cc_place(CC_SPLIT, size, 6, 3, server, load, order);
    assert_true(server[0] == CC_EVERY_SERVER && fabs(load[2] - 32. / 3) < 1e-12);
}

/* Graham's bound: longest first is within 4/3 - 1/(3m) of the best, which is at least the mean and
 * at least the largest. */
static void graham(void **state)
{
    (void)state;
    enum { N = 200 };
    for (int m = 1; m <= 32; m *= 2)
        for (unsigned run = 0; run < 20; run++) {
            double size[N], load[32], sum = 0, largest = 0, most = 0;
            int server[N];
            size_t order[2 * N];
            for (unsigned i = 0; i < N; i++) {
                size[i] = pow(random_unit(run * N + i), 6);
                sum += size[i];
                largest = fmax(largest, size[i]);
            }
            cc_place(CC_LPT, size, N, m, server, load, order);
            double again[32] = {0};
            for (int i = 0; i < N; i++)
                again[server[i]] += size[i];
            for (int s = 0; s < m; s++) {
                close_to(load[s], again[s], 1e-12, "load");
                most = fmax(most, load[s]);
            }
            assert_true(most <= (4. / 3 - 1. / (3 * m)) * fmax(sum / m, largest) + 1e-12 ||
                        most <= sum / m + largest);
            assert_true(most <= sum / m + largest * (m - 1.) / m + 1e-12);
        }
}

/* --- stragglers --- */

static double plus_two(void *arg, bool sends, double compute_s)
{
    (void)arg;
    (void)sends;
    return compute_s + 2;
}

/* The mean of the largest of n uniform numbers on [a, b] is a + (b - a) n / (n + 1). */
static void slowest_of_many(void **state)
{
    (void)state;
    struct cc_timing t = {
        .compute_s = 3, .straggler = CC_UNIFORM, .spread = 0.5, .seed = 9, .forward_share = 0.3};
    struct cc_spread s;
    double a = 1 - sqrt(3) * 0.5, b = 1 + sqrt(3) * 0.5;
    for (int n = 1; n <= 64; n *= 4) {
        assert_int_equal(cc_step_bulk(&t, n, 1, plus_two, NULL, &s, NULL), CC_OK);
        double most = a + (b - a) * n / (n + 1);
        double sd = 3 * (b - a) * sqrt(n / ((n + 1.) * (n + 1.) * (n + 2.)));
        assert_true(fabs(s.step_s - (2 + 3 * most)) < 5 * sd / sqrt(1000));
        close_to(s.step_sd, sd, 0.15, "deviation");
        assert_true(n == 1 ? s.wait_s == 0 : s.wait_s > 0);
    }
    for (t.straggler = CC_LOGNORMAL; t.straggler <= CC_UNIFORM; t.straggler++) {
        assert_int_equal(cc_step_bulk(&t, 1, 1, plus_two, NULL, &s, NULL), CC_OK);
        assert_true(fabs(s.step_s - 5) < 5 * 1.5 / sqrt(1000));
        close_to(s.step_sd, 1.5, 0.15, cc_straggler_names[t.straggler]);
    }
}

static double free_step(void *arg, bool sends, double compute_s)
{
    (void)arg;
    (void)sends;
    return compute_s;
}

/* Local steps wait only in steps that send: a fourth of the mean of the largest of 16 sums of four
 * factors, 1.5147 (15,000 periods drawn by another program). The deviation over steps: with one
 * worker, which waits for no other, that of a draw. Asynchronous steps never wait. */
static void local_steps(void **state)
{
    (void)state;
    struct cc_timing t = {.compute_s = 1, .straggler = CC_LOGNORMAL, .spread = 0.5, .seed = 9};
    const struct cc_cost nothing = {0};
    struct cc_spread s;
    assert_int_equal(cc_step_bulk(&t, 16, 4, free_step, NULL, &s, NULL), CC_OK);
    close_to(s.step_s, 1.515, 0.015, "bulk");
    close_to(s.wait_s, 0.515, 0.04, "wait");
    assert_int_equal(cc_step_bulk(&t, 1, 4, free_step, NULL, &s, NULL), CC_OK);
    close_to(s.step_s, 1, 0.03, "one worker");
    close_to(s.step_sd, 0.5, 0.1, "one worker's deviation");
    /* Periods too long to be drawn: 16 sums of 6400 have a mean of 6400 and a deviation of 40; the
     * largest of 16 normal ones is 1.766 deviations above. */
    assert_int_equal(cc_step_bulk(&t, 16, 6400, free_step, NULL, &s, NULL), CC_OK);
    close_to(s.step_s, 1 + 1.766 * 40 / 6400, 0.002, "a long period");
    t.consistency = CC_ASYNC;
    assert_int_equal(cc_step_stale(&t, &nothing, 16, 4, 0, &s, NULL), CC_OK);
    close_to(s.step_s, 1, 0.02, "asynchronous");
    assert_true(s.wait_s == 0);
    /* A constant compute time, and 3 s more in the step that sends: the deviation is the one
     * between these steps. */
    t.straggler = CC_STEADY;
    t.consistency = CC_STALE;
    const struct cc_cost slow = {.push_latency_s = 3};
    assert_int_equal(cc_step_stale(&t, &slow, 2, 4, 0.25, &s, NULL), CC_OK);
    close_to(s.step_s, (3 * 1.25 + 4) / 4, 1e-9, "steady");
    close_to(s.step_sd, sqrt(3. / 16) * (4 - 1.25), 1e-9, "deviation between kinds");
}

/* Drawing a million workers takes no time to speak of. */
static void many_workers(void **state)
{
    (void)state;
    struct cc_timing t = {.compute_s = 1, .straggler = CC_LOGNORMAL, .spread = 0.2, .seed = 9};
    struct cc_spread s;
    double began = cc_now();
    assert_int_equal(cc_step_bulk(&t, 1000000, 1, free_step, NULL, &s, NULL), CC_OK);
    assert_true(cc_now() - began < 10);
    /* exp(sigma z - sigma^2 / 2) with sigma^2 = log 1.04; the mean of the largest z is 4.863. */
    close_to(s.step_s, exp(sqrt(log(1.04)) * 4.863 - log(1.04) / 2), 0.06, "the slowest");
}

static double stale(enum cc_consistency config, int staleness, int workers, const struct cc_cost *c,
                    double spread, double *wait)
{
    struct cc_timing t = {.compute_s = 10,
                          .consistency = config,
                          .staleness = staleness,
                          .straggler = CC_LOGNORMAL,
                          .spread = spread,
                          .seed = 3};
    struct cc_spread s;
    assert_int_equal(cc_step_stale(&t, c, workers, 1, 0, &s, NULL), CC_OK);
    *wait = s.wait_s;
    return s.step_s;
}

/* Only computing takes time: asynchronous workers take the mean, and wait the less the more stale
 * they may be; without stragglers and with staleness 0 the step is the bulk step. */
static void staleness(void **state)
{
    (void)state;
    const struct cc_cost nothing = {0};
    double wait, before = INFINITY;
    close_to(stale(CC_ASYNC, 0, 8, &nothing, 0.5, &wait), 10, 0.02, "asynchronous");
    assert_true(wait == 0);
    for (int s = 0; s <= 16; s = s == 0 ? 1 : 2 * s) {
        double step = stale(CC_STALE, s, 8, &nothing, 0.5, &wait);
        assert_true(step < before && step > 10 * 0.98 && wait >= 0);
        before = step;
    }
    close_to(before, stale(CC_ASYNC, 0, 8, &nothing, 0.5, &wait), 0.03, "very stale");
    /* Staleness 0 without costs is the bulk step: the mean of the slowest. */
    struct cc_timing t = {.compute_s = 10, .straggler = CC_LOGNORMAL, .spread = 0.5, .seed = 4};
    struct cc_spread bulk;
    t.mode = CC_SEQUENTIAL;
    assert_int_equal(cc_step_bulk(&t, 8, 1, plus_two, NULL, &bulk, NULL), CC_OK);
    close_to(stale(CC_STALE, 0, 8, &nothing, 0.5, &wait), bulk.step_s - 2, 0.03, "staleness 0");
}

/* No stragglers. Staleness 0: all workers compute (10) and encode (1), the server's port takes all
 * 8 pushes together (8 x 2), its codec adds them (8 x 0.5), then encodes eight times (0.25 each),
 * the first of which the port out (8 x 3) waits for, and the worker decodes (1). Each latency is
 * 0.125. */
static void ports(void **state)
{
    (void)state;
    struct cc_cost c = cost_of(1, 16, 0, 24, 1);
    double wait, latency = 0.125;
    c.push_worker_s = 2;
    c.pull_worker_s = 3;
    c.push_latency_s = c.pull_latency_s = latency;
    c.server_encode_s = 0.25;
    c.server_codec_s = 8 * 0.5 + 0.25;
    double last = 10 + 1 + 16 + latency + 8 * 0.5 + 0.25 + 24 + latency + 1;
    double step = stale(CC_STALE, 0, 8, &c, 0, &wait);
    /* From the second step on, workers begin as far apart as their pulls are encoded (7 x 0.25),
     * and the codec's work (8 x 0.5 + 0.25) may be hidden behind the messages. */
    assert_true(step <= last && step >= last - (7 * 0.25 + 8 * 0.5 + 0.25));
    /* By hand: both workers' messages share the ports, at each of which they take 2 x 3, although a
     * worker's own port would let one through in 4. One after the other, pushes would pass while
     * the other worker pulls or computes. */
    const struct cc_cost two = {
        .push_server_s = 6, .push_worker_s = 4, .pull_server_s = 6, .pull_worker_s = 4};
    close_to(stale(CC_ASYNC, 0, 2, &two, 0, &wait), 10 + 6 + 6, 1e-12, "shared ports");
    const struct cc_cost slow = {
        .push_server_s = 6, .push_worker_s = 8, .pull_server_s = 6, .pull_worker_s = 7};
    close_to(stale(CC_ASYNC, 0, 2, &slow, 0, &wait), 10 + 8 + 7, 1e-12, "workers' ports");
    /* With many asynchronous workers the busiest port is never idle. */
    close_to(stale(CC_ASYNC, 0, 64,
                   &(struct cc_cost){.push_server_s = 64 * 2,
                                     .push_worker_s = 2,
                                     .pull_server_s = 64 * 3,
                                     .pull_worker_s = 3},
                   0.3, &wait),
             64 * 3, 0.01, "the server's port");
    /* One worker waits for no other, and takes the sum of all stages. */
    struct cc_cost one = cost_of(1, 2, 0.75, 3, 1);
    one.server_encode_s = 0.25;
    close_to(stale(CC_STALE, 0, 1, &one, 0, &wait), 10 + 1 + 2 + 0.75 + 3 + 1, 1e-12, "alone");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pipe_sgd),        cmocka_unit_test(pipe_played),
        cmocka_unit_test(by_hand),         cmocka_unit_test(hidden),
        cmocka_unit_test(placement),       cmocka_unit_test(graham),
        cmocka_unit_test(local_steps),     cmocka_unit_test(many_workers),
        cmocka_unit_test(slowest_of_many), cmocka_unit_test(staleness),
        cmocka_unit_test(ports),

    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
