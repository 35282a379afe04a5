/* The composition of steps: against timelines worked out by hand, an event simulation of overlapped
 * steps that knows only which event waits for which, and properties of waiting. */
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

static void close_to(double is, double should, double tolerance, const char *what)
{
    if (!(fabs(is - should) <= tolerance * fabs(should)))
        fail_msg("%s: %.12g instead of %.12g", what, is, should);
}

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
    /* Equation 5 and 6: 4 workers, 8e6 bytes, alpha 1e-4, beta 1e-9, gamma 5e-10, S 2e-4. */
    close_to(cc_pipe_ring(1e-4, 1e-9, 5e-10, 8e6, 4, 1, 2e-4), 6e-4 + 12e-3 + 3e-3 + 2e-4, 1e-12,
             "equation 5");
    close_to(cc_pipe_ring(1e-4, 1e-9, 5e-10, 8e6, 4, 10, 2e-4), 60e-4 + 12e-3 + 3e-3 + 20e-4, 1e-12,
             "equation 6");
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

/* Two tensors with equal shares of a compute time of 6 (forward 1 and 1, backward 2 and 2), one
 * server. Tensor 1's gradient is ready at 2, tensor 0's at 4.
 *   tensor 1: encode 2-3, push 3-8, server 8-9, pull 9-13, decode 13-14
 *   tensor 0: encode 4-5, push 8-13, server 13-14, pull 14-18, decode 18-19
 * The forward pass computes tensor 0 at 19-20, and tensor 1, decoded at 14, at 20-21. */
static void by_hand(void **state)
{
    (void)state;
    const struct cc_timing t = {.mode = CC_OVERLAP, .compute_s = 6, .forward_share = 1. / 3};
    const double share[] = {0.5, 0.5};
    struct cc_step_message ship[] = {{.cost = cost_of(1, 5, 1, 4, 1), .first = 1, .last = 1},
                                     {.cost = cost_of(1, 5, 1, 4, 1), .first = 0, .last = 0}};
    const struct cc_part to[] = {{.server = 0, .cost = ship[0].cost},
                                 {.server = 1, .cost = ship[1].cost}};
    double scratch[2 + 5 * 2];
    close_to(cc_step_overlap(&t, ship, 2, share, 2, 1, 0, scratch), 21, 1e-12, "by hand");
    /* Pulls from the first layer on: tensor 0 is decoded at 19, as before; tensor 1: pull 18-22,
     * decode 22-23, forward 23-24. */
    struct cc_timing forward = t;
    forward.pulls = CC_PULL_FORWARD;
    close_to(cc_step_overlap(&forward, ship, 2, share, 2, 1, 0, scratch), 24, 1e-12, "forward");
    /* To a server each: the worker's port out is the same (8-13), but nothing else waits: no
     * difference with these costs, but with a port out that is five times as fast there is:
     *   tensor 1: encode 2-3, in 3-8, server 8-9, back 9-13, decode 13-14
     *   tensor 0: encode 4-5, in 5-10, server 10-11, out 11-15, down 13-17, decode 17-18
     * and forward 18-20. */
    ship[0].part = &to[0];
    ship[1].part = &to[1];
    ship[0].parts = ship[1].parts = 1;
    ship[0].cost.push_worker_s = ship[1].cost.push_worker_s = 1;
    close_to(cc_step_overlap(&t, ship, 2, share, 2, 2, 0, scratch), 20, 1e-12, "two servers");
    /* Without a server, the network is one stage: 3-12 and 12-21, decoded 13 and 22. */
    ship[0].cost.server_codec_s = ship[1].cost.server_codec_s = 0;
    close_to(cc_step_overlap(&t, ship, 2, share, 2, 0, 0, scratch), 24, 1e-12, "one network");
    /* Nothing to send: the compute time. */
    ship[0].cost = ship[1].cost = (struct cc_cost){0};
    ship[0].parts = ship[1].parts = 0;
    close_to(cc_step_overlap(&t, ship, 2, share, 2, 1, 0, scratch), 6, 1e-12, "free");
}

/* The two tensors above, and token buckets that save 2 s when they are full.
 *   tensor 1: encode 2-3, push 3-6, server 6-7, pull 7-9, decode 9-10
 *   tensor 0: encode 4-5, push 6-11 (the bucket is empty), server 11-12, pull 12-14 (the port was
 *             idle for 3 s, and the bucket is full again), decode 14-15
 * and forward 15-17. */
static void with_buckets(void **state)
{
    (void)state;
    const struct cc_timing t = {.mode = CC_OVERLAP, .compute_s = 6, .forward_share = 1. / 3};
    const double share[] = {0.5, 0.5};
    struct cc_step_message ship[] = {{.cost = cost_of(1, 5, 1, 4, 1), .first = 1, .last = 1},
                                     {.cost = cost_of(1, 5, 1, 4, 1), .first = 0, .last = 0}};
    double scratch[2 + 5];
    close_to(cc_step_overlap(&t, ship, 2, share, 2, 1, 2, scratch), 17, 1e-12, "server");
    /* A latency of 1 s fills the bucket before the first byte:
     *   tensor 0: push 7-12, of which 1 s is the latency: 7-8, then 5 - 1 s; 12-13; ... */
    ship[0].cost.push_latency_s = ship[1].cost.push_latency_s = 1;
    close_to(cc_step_overlap(&t, ship, 2, share, 2, 1, 2, scratch), 18, 1e-12, "latency");
    /* Without a server: 4 rounds, a pause of 1 s before each, 5 s of sending. Tensor 1: 3-7 and
     * 5 - 2 - 3 x 1 s: there at 7, decoded at 8; the bucket is empty then. Tensor 0: 7-11 and
     * 5 - 4 x 1: at 12, decoded at 13; forward 13-15. */
    for (int i = 0; i < 2; i++)
        ship[i].cost = (struct cc_cost){
            .encode_s = 1, .push_latency_s = 4, .push_transfer_s = 5, .rounds = 4, .decode_s = 1};
    close_to(cc_step_overlap(&t, ship, 2, share, 2, 0, 2, scratch), 15, 1e-12, "rounds");
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

/* The same as a list of jobs, each with a resource and with jobs that must be done before,
 * processed event by event. A resource serves in the order of the messages. */
enum { COMPUTE, ENCODER, UP, IN, CODEC, OUT, DOWN, DECODER, RESOURCES };

struct job {
    int resource, message; /* message: its order at the resource */
    double takes, began, done;
    int after[2]; /* jobs that must be done, or -1 */
    int with;     /* a job that must have begun, or -1 */
};

static double run_jobs(struct job *job, int jobs)
{
    double last = 0;
    for (int left = jobs; left > 0;) {
        int moved = 0;
        for (int i = 0; i < jobs; i++) {
            double begin = 0;
            int ready = job[i].done < 0;
            for (int k = 0; k < 2 && ready; k++) {
                if (job[i].after[k] < 0)
                    continue;
                ready = job[job[i].after[k]].done >= 0;
                begin = fmax(begin, job[job[i].after[k]].done);
            }
            if (ready && job[i].with >= 0) {
                ready = job[job[i].with].done >= 0;
                begin = fmax(begin, job[job[i].with].began);
            }
            for (int k = 0; k < jobs && ready; k++) {
                if (k == i || job[k].resource != job[i].resource || job[k].message > job[i].message)
                    continue;
                ready = job[k].done >= 0;
                begin = fmax(begin, job[k].done);
            }
            if (!ready)
                continue;
            job[i].began = begin;
            job[i].done = begin + job[i].takes;
            last = fmax(last, job[i].done);
            left--;
            moved = 1;
        }
        assert_true(moved);
    }
    return last;
}

/* One server: backward, then every message through the seven other resources, then forward. */
static double simulated(const struct cc_timing *t, const struct cc_step_message *ship, int n,
                        const double *share)
{
    struct job *job = calloc((size_t)n * 9, sizeof *job);
    for (int m = 0; m < n; m++) {
        const struct cc_cost *c = &ship[m].cost;
        const double takes[] = {t->compute_s * (1 - t->forward_share) * share[n - 1 - m],
                                c->encode_s,
                                c->push_latency_s + c->push_worker_s,
                                c->push_latency_s + c->push_server_s,
                                c->server_codec_s,
                                c->pull_latency_s + c->pull_server_s,
                                c->pull_latency_s + c->pull_worker_s,
                                c->decode_s};
        for (int s = COMPUTE; s < RESOURCES; s++)
            job[8 * m + s] =
                (struct job){s, m, takes[s], 0, -1, {s > 0 ? 8 * m + s - 1 : -1, -1}, -1};
        /* The two ends of a link work at the same time. */
        job[8 * m + IN].after[0] = -1;
        job[8 * m + IN].with = 8 * m + UP;
        job[8 * m + CODEC].after[1] = 8 * m + UP;
        job[8 * m + DOWN].after[0] = -1;
        job[8 * m + DOWN].with = 8 * m + OUT;
        job[8 * m + DECODER].after[1] = 8 * m + OUT;
        for (int s = OUT; s < RESOURCES && t->pulls == CC_PULL_FORWARD; s++)
            job[8 * m + s].message = n - 1 - m;
        /* The forward pass runs in the opposite order. */
        job[8 * n + m] =
            (struct job){.resource = COMPUTE,
                         .message = n + m,
                         .takes = (t->compute_s * t->forward_share + t->update_s) * share[m],
                         .done = -1,
                         .after = {8 * (n - 1 - m) + DECODER, -1},
                         .with = -1};
    }
    double last = run_jobs(job, 9 * n);
    free(job);
    return last;
}

static double random_unit(unsigned i)
{
    const struct cc_random_id id = {.seed = 5};
    return cc_unit(cc_random(cc_key(&id, 0), i));
}

static void overlapped(void **state)
{
    (void)state;
    enum { N = 12 };
    for (unsigned run = 0; run < 300; run++) {
        struct cc_step_message ship[N];
        double share[N], scratch[N + 5], sum = 0;
        struct cc_timing t = {.mode = CC_OVERLAP,
                              .compute_s = 8 * random_unit(run),
                              .update_s = 0.5,
                              .forward_share = 0.3};
        for (unsigned i = 0; i < N; i++) {
            const unsigned at = 1000 * (run + 1) + 20 * i;
            ship[i] = (struct cc_step_message){.first = N - 1 - i, .last = N - 1 - i};
            double *field[] = {&ship[i].cost.encode_s,       &ship[i].cost.push_latency_s,
                               &ship[i].cost.push_worker_s,  &ship[i].cost.push_server_s,
                               &ship[i].cost.server_codec_s, &ship[i].cost.pull_latency_s,
                               &ship[i].cost.pull_worker_s,  &ship[i].cost.pull_server_s,
                               &ship[i].cost.decode_s};
            for (unsigned k = 0; k < sizeof field / sizeof field[0]; k++)
                *field[k] = random_unit(at + k) * (run % 3 == k % 3 ? 2 : 0.3);
            share[i] = random_unit(at + 15);
            sum += share[i];
        }
        for (unsigned i = 0; i < N; i++)
            share[i] /= sum;
        for (int pulls = CC_PULL_READY; pulls <= CC_PULL_FORWARD; pulls++) {
            t.pulls = (enum cc_pulls)pulls;
            close_to(cc_step_overlap(&t, ship, N, share, N, 1, 0, scratch),
                     simulated(&t, ship, N, share), 1e-12, cc_pull_names[pulls]);
        }
    }
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
 * 8 pushes (8 x 2), its codec the last of them (0.5: the others were added meanwhile), then encodes
 * eight times (0.25 each), the first of which the port out (8 x 3) waits for, and the worker
 * decodes (1). Each latency is 0.125. */
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
    double last = 10 + 1 + 16 + latency + 0.5 + 0.25 + 24 + latency + 1;
    double first = last - 7 * 3;
    double step = stale(CC_STALE, 0, 8, &c, 0, &wait);
    /* From the second step on, workers begin 3 s apart, and all wait for the push of the last one:
     * the period is that worker's. */
    assert_true(step <= last && step >= first);
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
        cmocka_unit_test(by_hand),         cmocka_unit_test(overlapped),
        cmocka_unit_test(with_buckets),    cmocka_unit_test(hidden),
        cmocka_unit_test(placement),       cmocka_unit_test(graham),
        cmocka_unit_test(local_steps),     cmocka_unit_test(many_workers),
        cmocka_unit_test(slowest_of_many), cmocka_unit_test(staleness),
        cmocka_unit_test(ports),

    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
