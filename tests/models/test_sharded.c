/* Steps with sharded states: units, volumes, times and memory, worked out by hand, and the schedule
 * beside a slow one that is written from its definition. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "models/sharded.h"
#include "models/system.h"
#include "tests/lib/number.h"
#include "tests/lib/prediction.h"
#include "tests/lib/text.h"

static const struct cc_codec_model fp32 = {.scheme = "fp32",
                                           .reduction = CC_REDUCE_SUM,
                                           .verbatim = true,
                                           .push_point = {.bits_per_value = 32},
                                           .pull_point = {.bits_per_value = 32}};

/* Four tensors of 1 MB, each a unit, 4 workers at 1 MB/s and 1 ms, no computing. */
static void open_sharded(struct fixture *w, enum cc_system_id system)
{
    open_four_tensors(w);
    w->s.link = (struct cc_link){.bw_bps = 8e6, .latency_s = 0.001};
    w->s.cluster.workers = 4;
    cc_system_apply(&cc_systems[system], &w->s);
    w->s.timing.fuse_bytes = 0;
}

static void on_two_hosts(struct fixture *w)
{
    w->s.cluster.per_host = 2;
    w->s.cluster.intra = (struct cc_link){.bw_bps = 80e6, .latency_s = 1e-5};
}

/* Layers of a language model, and what is before and behind them; and messages of bytes. */
static void units(void **state)
{
    (void)state;
    struct cc_setting s;
    struct cc_net *net;
    assert_int_equal(cc_net_open("llama2-7b", &net, NULL), CC_OK);
    cc_setting_defaults(net, &s);
    struct cc_message *unit = malloc(net->count * sizeof *unit);
    cc_system_apply(&cc_systems[CC_SYSTEM_FSDP], &s);
    assert_int_equal(cc_sharded_units(&s, unit), 34);
    assert_string_equal(net->tensors[unit[0].last].name, "model.embed_tokens.weight");
    assert_string_equal(net->tensors[unit[1].first].name, "model.layers.0.input_layernorm.weight");
    assert_string_equal(net->tensors[unit[10].first].name, "model.layers.9.input_layernorm.weight");
    assert_string_equal(net->tensors[unit[11].first].name,
                        "model.layers.10.input_layernorm.weight");
    assert_int_equal(unit[33].last, net->count - 1);
    /* 500 M values a message: 13.5 of them. */
    cc_system_apply(&cc_systems[CC_SYSTEM_ZERO1], &s);
    const size_t n = cc_sharded_units(&s, unit);
    assert_true(n >= 14 && n <= 15 && unit[0].first == 0);
    for (size_t i = 1; i < n; i++)
        assert_int_equal(unit[i].first, unit[i - 1].last + 1);
    free(unit);
    cc_net_free(net);
}

/* psi bytes of float32 parameters and gradients: with P workers a host sends (P - 1)/P psi for each
 * gathering and for each reduce-scatter. MODERN.md's table, ZeRO's section 7. */
static void volumes(void **state)
{
    (void)state;
    static const struct {
        enum cc_system_id system;
        int micro_steps;
        double psi;
    } cases[] = {{CC_SYSTEM_ZERO1, 1, 2},  {CC_SYSTEM_ZERO2, 1, 2},  {CC_SYSTEM_ZERO3, 1, 3},
                 {CC_SYSTEM_FSDP, 1, 3},   {CC_SYSTEM_ZERO1, 4, 2},  {CC_SYSTEM_ZERO2, 4, 5},
                 {CC_SYSTEM_ZERO3, 4, 12}, {CC_SYSTEM_SDP4BIT, 4, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture w;
        open_sharded(&w, cases[i].system);
        w.s.sharded.micro_steps = cases[i].micro_steps;
        close_to_at(predict(&w, &fp32, 0).wire_bytes, cases[i].psi * 0.75 * 4e6, 1e-12, "bytes",
                    (int)i);
        close_fixture(&w);
    }
}

/* 2 hosts of 2 workers. HSDP sends 2 (2 - 1)/2 of psi between hosts, whatever it does inside: 3
 * halves of psi by each of 2 workers. ZeRO-3's ring leaves a host once: 3 x 3/4 psi. ZeRO++ does
 * not leave it in the backward pass, and its parameters have a quarter of the bytes. */
static void between_hosts(void **state)
{
    (void)state;
    struct fixture w;
    struct cc_step_payloads weights;
    const struct cc_codec_model int8 = cc_codec_model_given("int8", CC_REDUCE_DECODED, 8, 0, 0, 0);
    open_sharded(&w, CC_SYSTEM_HSDP);
    on_two_hosts(&w);
    struct cc_prediction p = predict(&w, &fp32, 0);
    close_to(p.wire_bytes, 4e6, 1e-12, "hsdp between hosts");
    close_to(p.intra_bytes, 2 * 1.5 * 4e6, 1e-12, "hsdp inside");
    /* Two rounds of a quarter of a tensor; two groups share the port. */
    close_to(p.collective_s[3], 4 * 2 * (0.001 + 2 * 0.25), 1e-12, "hsdp's allreduce");
    cc_system_apply(&cc_systems[CC_SYSTEM_ZERO3], &w.s);
    close_to(predict(&w, &fp32, 0).wire_bytes, 2.25 * 4e6, 1e-12, "zero3 between hosts");
    cc_system_apply(&cc_systems[CC_SYSTEM_ZEROPP], &w.s);
    assert_int_equal(cc_step_payloads_make(w.net, &int8, &fp32, NULL, &weights, NULL), CC_OK);
    w.s.sharded.weights = &weights;
    close_to(predict(&w, &fp32, 0).wire_bytes, 0.75 * (1e6 + 4e6), 1e-12, "zeropp between hosts");
    /* Gradients of int8 in two levels: a host's sums, (2 - 1)/2 of them, leave it. */
    close_to(predict(&w, &int8, 0).wire_bytes, 0.75e6 + 0.5e6, 1e-12, "qgZ between hosts");
    cc_step_payloads_free(&weights);
    close_fixture(&w);
}

/* Sequential: 12 collectives of 1 MB of 3 rounds, each 1 ms and 250 kB; and the computing. */
static void sequential(void **state)
{
    (void)state;
    struct fixture w;
    open_sharded(&w, CC_SYSTEM_FSDP);
    w.s.timing.mode = CC_SEQUENTIAL;
    w.s.timing.compute_s = 2;
    w.s.timing.update_s = 0.5;
    const struct cc_prediction p = predict(&w, &fp32, 0);
    close_to(p.step_s, 2.5 + 12 * 3 * 0.251, 1e-12, "step");
    close_to(p.exposed_s, 12 * 3 * 0.251, 1e-12, "exposed");
    for (int i = 0; i < 3; i++)
        close_to_at(p.collective_s[i], 4 * 3 * 0.251, 1e-12, "collective", i);
    w.s.sharded.micro_steps = 3;
    close_to(predict(&w, &fp32, 0).step_s, 6.5 + 36 * 3 * 0.251, 1e-12, "three micro-steps");
    close_fixture(&w);
}

/* Three units; a gathering takes 2 s, a reduce-scatter 3 s, a forward pass of a unit 1 s and its
 * backward pass 2 s. Gathered: at 2, 4, 6; forward 2-3, 4-5, 6-7; gathered again 9, 11, and, behind
 * the first reduce-scatter (11-14), 16; backward 9-11, 11-13, 16-18; reduced 14, 19, 22. */
static void overlapped(void **state)
{
    (void)state;
    const double third[3] = {1.0 / 3, 1.0 / 3, 1.0 / 3};
    const struct cc_message_time time[9] = {{.network_s = 2}, {.network_s = 2}, {.network_s = 2},
                                            {.network_s = 2}, {.network_s = 2}, {.network_s = 2},
                                            {.network_s = 3}, {.network_s = 3}, {.network_s = 3}};
    const struct cc_timing t = {.compute_s = 9, .forward_share = 1.0 / 3, .update_s = 0.25};
    const struct cc_collectives *c = &cc_systems[CC_SYSTEM_FSDP].collectives;
    struct cc_step_plan plan;
    double exposed, step;
    assert_int_equal(cc_step_plan_make(c, 3, 1, true, &plan, NULL), CC_OK);
    assert_int_equal(cc_sharded_time(c, &plan, 3, time, third, &t, &exposed, &step, NULL), CC_OK);
    close_to(step, 22.25, 1e-12, "step");
    close_to(exposed, 13, 1e-12, "exposed");
    cc_step_plan_free(&plan);
}

/* --- a slow schedule --- */

/* When the jobs of one queue end, which begin in the order of the times at which they were asked
 * for; a job that is asked for later must not change those before it. */
struct job {
    double asked, takes, done;
};

static double ends(struct job *job, size_t count, size_t of)
{
    double free_at = 0;
    for (size_t i = 0; i < count; i++) {
        free_at = fmax(free_at, job[i].asked) + job[i].takes;
        job[i].done = free_at;
    }
    return job[of].done;
}

/* FSDP as PyTorch documents it, micro-step by micro-step: before a unit computes, the next one's
 * gathering is asked for; behind its backward pass, its gradients' reduction is; a micro-step ends
 * when all are reduced. */
static double slow_fsdp(size_t units, int micro_steps, const double *gather, const double *reduce,
                        const double *forward, const double *backward)
{
    struct job job[512];
    size_t jobs = 0, at[64];
    double now = 0;
    for (int m = 0; m < micro_steps; m++) {
        for (int pass = 0; pass < 2; pass++) {
            size_t first = pass == 0 ? 0 : units - 1;
            at[first] = jobs;
            job[jobs++] = (struct job){now, gather[first], 0};
            for (size_t k = 0; k < units; k++) {
                const size_t u = pass == 0 ? k : units - 1 - k;
                if (k + 1 < units) {
                    const size_t next = pass == 0 ? u + 1 : u - 1;
                    at[next] = jobs;
                    job[jobs++] = (struct job){now, gather[next], 0};
                }
                now = fmax(now, ends(job, jobs, at[u])) + (pass == 0 ? forward[u] : backward[u]);
                if (pass == 1)
                    job[jobs++] = (struct job){now, reduce[u], 0};
            }
        }
        now = fmax(now, ends(job, jobs, jobs - 1));
    }
    return now;
}

static double drawn(unsigned *seed)
{
    *seed = *seed * 1103515245u + 12345u;
    return 0.1 + (*seed >> 16 & 1023) / 512.0;
}

static void beside_a_slow_one(void **state)
{
    (void)state;
    const struct cc_collectives *c = &cc_systems[CC_SYSTEM_FSDP].collectives;
    unsigned seed = 1;
    for (int i = 0; i < 40; i++) {
        const size_t units = 1 + (size_t)i % 9;
        const int micro_steps = 1 + i % 3;
        double take_s[27], share[9], forward[9], backward[9], exposed, step, sum = 0;
        struct cc_message_time time[27] = {{0}};
        struct cc_step_plan plan;
        for (size_t u = 0; u < units; u++) {
            take_s[u] = take_s[units + u] = drawn(&seed);
            take_s[2 * units + u] = drawn(&seed);
            time[u].network_s = time[units + u].network_s = take_s[u];
            time[2 * units + u].network_s = take_s[2 * units + u];
            sum += share[u] = drawn(&seed);
        }
        const struct cc_timing t = {.compute_s = 3 * sum, .forward_share = 0.4};
        for (size_t u = 0; u < units; u++) {
            share[u] /= sum;
            forward[u] = 0.4 * 3 * sum * share[u];
            backward[u] = 0.6 * 3 * sum * share[u];
        }
        assert_int_equal(cc_step_plan_make(c, units, micro_steps, true, &plan, NULL), CC_OK);
        assert_int_equal(cc_sharded_time(c, &plan, units, time, share, &t, &exposed, &step, NULL),
                         CC_OK);
        close_to_at(step,
                    slow_fsdp(units, micro_steps, take_s, take_s + 2 * units, forward, backward),
                    1e-12, "step", i);
        close_to_at(exposed, step - micro_steps * t.compute_s, 1e-9, "exposed", i);
        cc_step_plan_free(&plan);
    }
}

/* The allreduce across hosts of HSDP waits for its unit's reduce-scatter, and goes beside the
 * gatherings inside the host: two units, all of 1 s but the allreduce of 5 s, no computing.
 * Gathered 1, 2; again 3, 4 (unit 1 at 3, unit 0 at 4); unit 1 reduced at 5, unit 0 at 6;
 * allreduced at 10 and 15. */
static void two_queues(void **state)
{
    (void)state;
    const double half[2] = {0.5, 0.5};
    const struct cc_message_time time[8] = {{.network_s = 1}, {.network_s = 1}, {.network_s = 1},
                                            {.network_s = 1}, {.network_s = 1}, {.network_s = 1},
                                            {.network_s = 5}, {.network_s = 5}};
    const struct cc_timing t = {.compute_s = 0};
    const struct cc_collectives *c = &cc_systems[CC_SYSTEM_HSDP].collectives;
    struct cc_step_plan plan;
    double exposed, step;
    assert_int_equal(cc_step_plan_make(c, 2, 1, true, &plan, NULL), CC_OK);
    assert_int_equal(cc_sharded_time(c, &plan, 2, time, half, &t, &exposed, &step, NULL), CC_OK);
    close_to(step, 15, 1e-12, "step");
    cc_step_plan_free(&plan);
}

/* Codecs take turns with the other class of messages: ZeRO++, two units, no forward pass, 0.5 s of
 * backward pass each. Gathered inside the host in two rounds of 0.5 s each: unit 1 at 1, unit 0's
 * first round 1-1.5; unit 1 computed at 1.5 and encoded 1.5-3.5, for which the worker waits, and
 * unit 0's second round, 3.5-4; computed 4.5. Unit 1's gradients: sent 3.5-4.5, added -4.75; unit
 * 0's: encoded -6.75, sent -7.75, added -8. Waited without work: 1, 0.5 and 1. Of a round of two
 * windows what is gathered is decoded beside the first, and keeps the second waiting. */
static void codecs_take_turns(void **state)
{
    (void)state;
    const double half[2] = {0.5, 0.5}, one[1] = {1};
    const struct cc_message_time gather = {.network_s = 1, .rounds = 2, .gathers = true};
    const struct cc_message_time scatter = {.before_s = 2, .network_s = 1, .behind_s = 0.25};
    const struct cc_message_time time[6] = {
        {.gathers = true}, {.gathers = true}, gather, gather, scatter, scatter};
    const struct cc_timing t = {.compute_s = 1, .forward_share = 0};
    const struct cc_collectives *c = &cc_systems[CC_SYSTEM_ZEROPP].collectives;
    struct cc_step_plan plan;
    double exposed, step;
    assert_int_equal(cc_step_plan_make(c, 2, 1, true, &plan, NULL), CC_OK);
    assert_int_equal(cc_sharded_time(c, &plan, 2, time, half, &t, &exposed, &step, NULL), CC_OK);
    close_to(step, 8, 1e-12, "step");
    close_to(exposed, 2.5, 1e-12, "exposed");
    cc_step_plan_free(&plan);

    const struct cc_message_time windows[3] = {{.before_s = 1,
                                                .network_s = 2,
                                                .beside_s = 1.5,
                                                .behind_s = 0.5,
                                                .windows = 2,
                                                .gathers = true}};
    assert_int_equal(cc_step_plan_make(c, 1, 1, false, &plan, NULL), CC_OK);
    assert_int_equal(cc_sharded_time(c, &plan, 1, windows, one, &t, &exposed, &step, NULL), CC_OK);
    close_to(step, 1 + 1.5 + 1 + 0.5 + 1, 1e-12, "windows");
    cc_step_plan_free(&plan);
}

/* A worker waits until it has encoded what it begins, and its codecs work one after the other.
 * FSDP, nothing to gather, 0.5 s of backward pass a unit: encoded 0.5-2.5, computed 3, sent 3.5;
 * encoded 5.5, sent 6.5: it waits without work from 3 and from 5.5 on. HSDP without computing: unit
 * 1 encoded inside the host 0-1, unit 0 1-2, and across hosts 2-5, sent 6; 6-9, sent 10. */
static void codecs_have_one_processor(void **state)
{
    (void)state;
    const double half[2] = {0.5, 0.5};
    const struct cc_message_time scatter = {.before_s = 2, .network_s = 1}, none = {.rounds = 1};
    const struct cc_message_time inside = {.before_s = 1}, across = {.before_s = 3, .network_s = 1};
    const struct cc_message_time fsdp[6] = {none, none, none, none, scatter, scatter};
    const struct cc_message_time hsdp[8] = {none, none, none, none, inside, inside, across, across};
    const struct cc_timing t = {.compute_s = 1, .forward_share = 0}, still = {.compute_s = 0};
    const struct cc_collectives *c = &cc_systems[CC_SYSTEM_FSDP].collectives;
    struct cc_step_plan plan;
    double exposed, step;
    assert_int_equal(cc_step_plan_make(c, 2, 1, true, &plan, NULL), CC_OK);
    assert_int_equal(cc_sharded_time(c, &plan, 2, fsdp, half, &t, &exposed, &step, NULL), CC_OK);
    close_to(step, 6.5, 1e-12, "step");
    close_to(exposed, 1.5, 1e-12, "exposed");
    cc_step_plan_free(&plan);
    c = &cc_systems[CC_SYSTEM_HSDP].collectives;
    assert_int_equal(cc_step_plan_make(c, 2, 1, true, &plan, NULL), CC_OK);
    assert_int_equal(cc_sharded_time(c, &plan, 2, hsdp, half, &still, &exposed, &step, NULL),
                     CC_OK);
    close_to(step, 10, 1e-12, "step");
    cc_step_plan_free(&plan);
}

/* ZeRO-1 waits for all parameters before it computes, SDP4Bit for a unit's own: two units, a
 * gathering of 1 s each, forward 2 s each, no backward pass, reduced in 1 s each. */
static void after_the_update(void **state)
{
    (void)state;
    const double half[2] = {0.5, 0.5};
    const struct cc_message_time time[4] = {
        {.network_s = 1}, {.network_s = 1}, {.network_s = 1}, {.network_s = 1}};
    const struct cc_timing t = {.compute_s = 4, .forward_share = 1};
    const enum cc_system_id system[] = {CC_SYSTEM_ZERO1, CC_SYSTEM_SDP4BIT};
    for (int i = 0; i < 2; i++) {
        const struct cc_collectives *c = &cc_systems[system[i]].collectives;
        struct cc_step_plan plan;
        double exposed, step;
        assert_int_equal(cc_step_plan_make(c, 2, 1, true, &plan, NULL), CC_OK);
        assert_int_equal(cc_sharded_time(c, &plan, 2, time, half, &t, &exposed, &step, NULL),
                         CC_OK);
        close_to_at(step, i == 0 ? 8 : 7, 1e-12, "step", i);
        cc_step_plan_free(&plan);
    }
}

/* A million parameters of bf16 with Adam: 2 + 2 + 12 bytes each. 8 workers, 4 a host. */
static void memory(void **state)
{
    (void)state;
    static const struct {
        enum cc_system_id system;
        int micro_steps;
        double bytes;
    } cases[] = {{CC_SYSTEM_ZERO1, 1, 2 + 2 + 12.0 / 8},  {CC_SYSTEM_ZERO2, 1, 2 + (2 + 12) / 8.0},
                 {CC_SYSTEM_ZERO3, 1, 16.0 / 8},          {CC_SYSTEM_FSDP, 4, 16.0 / 8},
                 {CC_SYSTEM_HSDP, 1, 16.0 / 4},           {CC_SYSTEM_ZEROPP, 1, 16.0 / 8 + 2.0 / 4},
                 {CC_SYSTEM_SDP4BIT, 1, 2 + 2 + 12.0 / 8}};
    struct fixture w;
    open_four_tensors(&w);
    w.s.cluster.workers = 8;
    w.s.cluster.per_host = 4;
    w.s.dtype = CC_ELEMENT_BF16;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cc_system_apply(&cc_systems[cases[i].system], &w.s);
        w.s.sharded.micro_steps = cases[i].micro_steps;
        close_to_at(cc_sharded_states(&w.s, CC_MOMENTS_ADAM, 0).total, 1e6 * cases[i].bytes, 1e-12,
                    "states", (int)i);
    }
    /* Gradients that add up whole (--no-sync), and a residual for each. */
    cc_system_apply(&cc_systems[CC_SYSTEM_FSDP], &w.s);
    w.s.sharded.micro_steps = 2;
    w.s.sharded.collectives.item[2].last = true;
    close_to(cc_sharded_states(&w.s, CC_MOMENTS_ADAM, 1).total, 1e6 * (14.0 / 8 + 2 + 4), 1e-12,
             "no-sync");
    /* Gathered parameters that stay (--keep-params), beside the worker's part of them. */
    cc_system_apply(&cc_systems[CC_SYSTEM_FSDP], &w.s);
    w.s.sharded.micro_steps = 1;
    w.s.sharded.collectives.item[1] = w.s.sharded.collectives.item[2];
    w.s.sharded.collectives.count = 2;
    close_to(cc_sharded_states(&w.s, CC_MOMENTS_ADAM, 0).total, 1e6 * (16.0 / 8 + 2), 1e-12,
             "keep-params");
    close_fixture(&w);
}

/* The share of its gradients' payload that a worker encodes in a step, and the encodings that a sum
 * goes through, by hand, for 2 hosts of 2 workers and int8. By two-shot (zero1, zero2, fsdp) a
 * worker encodes all but its quarter. In two levels (zeropp, sdp4bit) it encodes half of its
 * gradients for the other worker of its host, and half of the host's sums, of which it has half,
 * for the other host. With hsdp it encodes half of them inside the host; the allreduce across hosts
 * encodes half of the host's sums and all of the whole ones, and its payloads are no push. */
static void encodings(void **state)
{
    (void)state;
    static const struct {
        enum cc_system_id system;
        int micro_steps;
        double share, encodings;
    } cases[] = {{CC_SYSTEM_ZERO1, 2, 0.75, 0.75},
                 {CC_SYSTEM_ZERO2, 2, 1.5, 0.75},
                 {CC_SYSTEM_FSDP, 1, 0.75, 0.75},
                 {CC_SYSTEM_HSDP, 1, 0.5, 0.5 + 1.5},
                 {CC_SYSTEM_ZEROPP, 1, 0.5 + 0.25, 0.5 + 0.5},
                 {CC_SYSTEM_SDP4BIT, 2, 0.5 + 0.25, 0.5 + 0.5}};
    const struct cc_codec_model int8 = cc_codec_model_given("int8", CC_REDUCE_DECODED, 8, 0, 0, 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture w;
        struct cc_step_payloads p;
        open_sharded(&w, cases[i].system);
        on_two_hosts(&w);
        w.s.sharded.micro_steps = cases[i].micro_steps;
        assert_int_equal(cc_step_payloads_make(w.net, &int8, &fp32, NULL, &p, NULL), CC_OK);
        close_to_at(cc_sharded_encoded_share(&w.s, &p), cases[i].share, 1e-12, "share", (int)i);
        close_to_at(cc_sharded_encodings(&w.s, &p), cases[i].encodings, 1e-12, "encodings", (int)i);
        cc_step_payloads_free(&p);
        close_fixture(&w);
    }
}

static void refused(struct fixture *w, const char *message)
{
    struct cc_error e = {""};
    assert_int_equal(cc_sharded_check(&w->s, &e), CC_USAGE);
    assert_contains(e.text, message);
    close_fixture(w);
    open_sharded(w, CC_SYSTEM_FSDP);
}

static void refusals(void **state)
{
    (void)state;
    struct fixture w;
    open_sharded(&w, CC_SYSTEM_FSDP);
    assert_int_equal(cc_sharded_check(&w.s, NULL), CC_OK);
    w.s.exchange = CC_RABENSEIFNER;
    refused(&w, "rabenseifner has not");
    w.s.timing.mode = CC_PIPE;
    refused(&w, "--mode pipe");
    w.s.cluster.chunks = 2;
    refused(&w, "--chunks");
    w.s.cluster.sites = 2;
    refused(&w, "--sites");
    w.s.timing.straggler = CC_GAMMA;
    refused(&w, "--stragglers");
    close_fixture(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(units),
        cmocka_unit_test(volumes),
        cmocka_unit_test(between_hosts),
        cmocka_unit_test(sequential),
        cmocka_unit_test(overlapped),
        cmocka_unit_test(beside_a_slow_one),
        cmocka_unit_test(two_queues),
        cmocka_unit_test(codecs_take_turns),
        cmocka_unit_test(codecs_have_one_processor),
        cmocka_unit_test(after_the_update),
        cmocka_unit_test(memory),
        cmocka_unit_test(encodings),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
