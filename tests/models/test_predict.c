/* Predictions, from net and codec to the time of a step, against sums worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdbool.h>

#include "core/clock.h"
#include "models/system.h"
#include "tests/lib/number.h"
#include "tests/lib/prediction.h"
#include "tests/lib/text.h"

/* 4000 values at 8 bits, 1 MB/s, 4 workers: 4000 bytes, 16 ms and 1 ms each way. Encoding 1000 ns a
 * value: 4 ms at the worker and at the server; adding 250: 4 x 1 ms; decoding 500: 2 ms. */
static void sequential(void **state)
{
    (void)state;
    struct fixture w;
    struct cc_codec_model c = cc_codec_model_given("x", CC_REDUCE_DECODED, 8, 1000, 500, 250);
    open_fixture(&w);
    struct cc_prediction p = predict(&w, &c, 0);
    close_to(p.step_s, 0.3 + 0.004 + 0.017 + 0.004 + 0.004 + 0.017 + 0.002, 1e-12, "step");
    close_to(p.codec_s, 0.014, 1e-12, "codec");
    close_to(p.comm_s, 0.034, 1e-12, "comm");
    close_to(p.wire_bytes, 16000, 1e-12, "wire");
    close_to(p.payload_bytes, 4000, 1e-12, "payload");
    close_to(p.efficiency, 0.3 / p.step_s, 1e-12, "efficiency");
    assert_int_equal(p.bottleneck, CC_BY_COMPUTE);
    /* The small tensor as fp32: 4000 + 3000 bytes, codec for 3000 values. */
    p = predict(&w, &c, 1001);
    close_to(p.payload_bytes, 7000, 1e-12, "payload with --min-size");
    close_to(p.codec_s, 0.75 * 0.014, 1e-12, "codec with --min-size");
    /* One message per tensor: one more latency each way. */
    w.s.timing.fuse_bytes = 0;
    close_to(predict(&w, &c, 0).comm_s, 0.036, 1e-12, "--fuse 0");
    w.s.timing.fuse_bytes = 3999;
    close_to(predict(&w, &c, 0).comm_s, 0.036, 1e-12, "--fuse 3999");
    w.s.timing.fuse_bytes = 4000;
    close_to(predict(&w, &c, 0).comm_s, 0.034, 1e-12, "--fuse 4000");
    close_fixture(&w);
}

/* A message's synchronization is part of its latency, and counts once. */
static void synchronized(void **state)
{
    (void)state;
    struct fixture w;
    struct cc_codec_model c = cc_codec_model_given("x", CC_REDUCE_DECODED, 8, 0, 0, 0);
    open_fixture(&w);
    w.s.timing.sync_s = 0.25;
    close_to(predict(&w, &c, 0).step_s, 0.3 + 0.034 + 0.25, 1e-12, "--sync");
    w.s.timing.fuse_bytes = 0;
    close_to(predict(&w, &c, 0).step_s, 0.3 + 0.036 + 2 * 0.25, 1e-12, "--sync, two messages");
    close_fixture(&w);
}

/* Four workers fill the port of one server; of eight servers none is as busy as a worker. */
static void ports(void **state)
{
    (void)state;
    struct fixture w;
    struct cc_codec_model c = cc_codec_model_given("x", CC_REDUCE_DECODED, 8, 0, 0, 0);
    open_fixture(&w);
    w.s.timing.compute_s = 1e-6;
    assert_int_equal(predict(&w, &c, 0).bottleneck, CC_BY_SERVER_PORT);
    w.s.cluster.servers = 8;
    assert_int_equal(predict(&w, &c, 0).bottleneck, CC_BY_BANDWIDTH);
    w.s.link.latency_s = 1;
    assert_int_equal(predict(&w, &c, 0).bottleneck, CC_BY_LATENCY);
    close_fixture(&w);
}

/* More servers than workers have no host beside a worker. */
static void servers_beside_workers(void **state)
{
    (void)state;
    struct fixture w;
    struct cc_error e;
    open_fixture(&w);
    w.s.cluster.colocated = true;
    w.s.cluster.servers = 4;
    assert_int_equal(cc_setting_check(&w.s, &e), CC_OK);
    w.s.cluster.servers = 5;
    assert_int_equal(cc_setting_check(&w.s, &e), CC_USAGE);
    assert_contains(e.text, "--colocate");
    close_fixture(&w);
}

/* BYTEPS_PARTITION_BYTES is 4,096,000 and DDP's bucket 25 MiB, after a first one of 1 MiB. */
static void partitions(void **state)
{
    (void)state;
    struct fixture w;
    open_fixture(&w);
    cc_system_apply(&cc_systems[CC_SYSTEM_BYTEPS], &w.s);
    assert_true(w.s.timing.fuse_bytes == 4096000);
    cc_system_apply(&cc_systems[CC_SYSTEM_DDP], &w.s);
    assert_true(w.s.timing.fuse_bytes == 26214400 && w.s.timing.first_fuse_bytes == 1048576);
    close_fixture(&w);
}

/* The steps that a callback gives in turn: 1, 2, ..., 10 s. So many workers that ten are drawn. */
static double next_step(void *arg, bool sends, double compute_s)
{
    (void)sends;
    (void)compute_s;
    return ++*(double *)arg;
}

static double slowest_factor(void *arg, bool sends, double compute_s)
{
    (void)sends;
    *(double *)arg = compute_s;
    return compute_s;
}

/* The mean of 1 .. 10 is 5.5 and the sum of squares 82.5. Other seeds draw other factors. */
static void stragglers(void **state)
{
    (void)state;
    struct cc_timing t = {.compute_s = 1};
    struct cc_spread out;
    double last[2], step = 0;
    assert_int_equal(cc_step_bulk(&t, 1000000, 1, next_step, &step, &out, NULL), CC_OK);
    assert_true(step == 10);
    close_to(out.step_s, 5.5, 1e-12, "mean");
    close_to(out.step_sd, sqrt(82.5 / 9), 1e-12, "deviation");
    t.straggler = CC_UNIFORM;
    t.spread = 0.1;
    for (t.seed = 2; t.seed < 4; t.seed++)
        assert_int_equal(cc_step_bulk(&t, 4, 1, slowest_factor, &last[t.seed - 2], &out, NULL),
                         CC_OK);
    assert_true(last[0] != last[1]);
}

/* Two servers. split: half of the bytes at each; whole tensors: three quarters at the busier
 * one. */
static void two_servers(void **state)
{
    (void)state;
    struct fixture w;
    struct cc_codec_model c = cc_codec_model_given("x", CC_REDUCE_DECODED, 8, 1000, 500, 250);
    open_fixture(&w);
    w.s.cluster.servers = 2;
    struct cc_prediction p = predict(&w, &c, 0);
    close_to(p.comm_s, 2 * (0.001 + 0.008), 1e-12, "split");
    close_to(p.codec_s, 0.004 + 0.004 + 0.002, 1e-12, "split's codec");
    assert_true(p.imbalance == 1);
    w.s.placement = CC_LPT;
    p = predict(&w, &c, 0);
    close_to(p.comm_s, 2 * (0.001 + 0.012), 1e-12, "lpt");
    close_to(p.codec_s, 0.004 + 0.006 + 0.002, 1e-12, "lpt's codec");
    close_to(p.imbalance, 1.5, 1e-12, "imbalance");
    /* One message for each server, at the same time: the same, apart from the latency of one more
     * message. */
    w.s.timing.fuse_bytes = 0;
    close_to(predict(&w, &c, 0).comm_s, 2 * (0.002 + 0.012), 1e-12, "lpt, a message a tensor");
    close_fixture(&w);
}

/* A megabyte for each of four servers, ten workers, 1 MB/s: 10 s in, 10 s out, for any number of
 * tensors in a message. The codec: 250,000 values x 10 workers x 1 us and 250,000 x 2 us. */
static void fused_whole_tensors(void **state)
{
    (void)state;
    struct fixture w;
    struct cc_codec_model c = cc_codec_model_given("x", CC_REDUCE_DECODED, 32, 2000, 0, 1000);
    const double fuse[] = {-1, 0, 2e6, 3e6, 4e6};
    open_four_tensors(&w);
    w.s.link = (struct cc_link){.bw_bps = 8e6};
    w.s.cluster.servers = 4;
    for (w.s.placement = CC_ROUND_ROBIN; w.s.placement <= CC_LPT; w.s.placement++)
        for (size_t i = 0; i < sizeof fuse / sizeof fuse[0]; i++) {
            w.s.timing.fuse_bytes = fuse[i];
            w.s.timing.mode = CC_SEQUENTIAL;
            struct cc_prediction p = predict(&w, &c, 0);
            close_to(p.comm_s, 20, 1e-12, "comm");
            close_to(p.server_codec_s, 3, 1e-12, "codec of the busiest server");
            close_to(p.wire_bytes, 1e7, 1e-12, "wire");
            close_to(p.messages, 10, 1e-12, "messages");
            close_to(p.imbalance, 1, 1e-12, "imbalance");
            w.s.timing.mode = CC_OVERLAP;
            /* The last of four messages leaves when three have left the worker's port, 1 s each. */
            assert_true(predict(&w, &c, 0).step_s <= p.step_s + 3 + 1e-9);
        }
    /* Overlapped, without codec times: each server's port is busy for 10 s each way, and all begin
     * within the 3 s that the worker's own port takes. */
    c = cc_codec_model_given("x", CC_REDUCE_SUM, 32, 0, 0, 0);
    w.s.timing.fuse_bytes = 4e6;
    close_to(predict(&w, &c, 0).step_s, 20, 1e-12, "overlapped");
    close_fixture(&w);
}

/* Small tensors are sent as floats in every step: 32 bits a value for any period. With half of the
 * tensors small: 1000 values of 32 bits in each step, 3000 of 8 on average. */
static void small_in_local_steps(void **state)
{
    (void)state;
    struct fixture w;
    struct cc_codec_model c = cc_codec_model_given("x", CC_REDUCE_DECODED, 8, 1000, 500, 250);
    open_fixture(&w);
    c.period = 4;
    struct cc_prediction p = predict(&w, &c, 1000000000);
    close_to(p.bits_push, 32, 1e-12, "bits");
    close_to(p.bits_pull, 32, 1e-12, "bits of the pull");
    close_to(p.step_s, 0.3 + 2 * (0.001 + 0.064), 1e-12, "step of floats");
    p = predict(&w, &c, 1001);
    close_to(p.payload_bytes, 4000 + 3000, 1e-12, "payload");
    /* Silent steps carry 1000 floats from 4 workers, 16 ms; sending steps 12,000 bytes more from
     * each. Every step has the latencies. Encoding takes 3 ms in each step at the worker, 4 x 0.75
     * + 3 at the server, decoding 1.5 on average. */
    close_to(p.comm_s, 2 * (0.001 + 0.016 + 0.012), 1e-12, "comm");
    close_to(p.codec_s, 0.003 + 0.003 + 0.003 + 0.0015, 1e-12, "codec");
    close_to(p.step_s, 0.3 + p.comm_s + p.codec_s, 1e-12, "step");
    close_fixture(&w);
}

/* One worker needs no network, and so no codec either. */
static void alone(void **state)
{
    (void)state;
    struct fixture w;
    struct cc_codec_model c = cc_codec_model_given("x", CC_REDUCE_DECODED, 8, 1000, 500, 250);
    open_fixture(&w);
    w.s.cluster.workers = 1;
    c.period = 2;
    for (w.s.exchange = CC_RING; w.s.exchange <= CC_MPI; w.s.exchange++) {
        struct cc_prediction p = predict(&w, &c, 0);
        assert_true(p.codec_s == 0 && p.comm_s == 0);
        close_to(p.step_s, 0.3, 1e-12, "alone");
    }
    close_fixture(&w);
}

/* Sends every second step: half of the steps are silent. */
static void local_steps(void **state)
{
    (void)state;
    struct fixture w;
    struct cc_codec_model c = cc_codec_model_given("x", CC_REDUCE_DECODED, 8, 1000, 500, 250);
    open_fixture(&w);
    c.period = 2;
    struct cc_prediction p = predict(&w, &c, 0);
    /* 8 bits are the mean: the step that sends has 8000 bytes and decodes twice the mean. */
    double sending = 0.3 + 0.004 + 0.033 + 2 * (0.004 + 0.004 + 0.002) + 0.033, silent = 0.304;
    close_to(p.step_s, (sending + silent) / 2, 1e-12, "local");
    close_to(p.payload_bytes, 4000, 1e-12, "payload");
    close_to(p.codec_s, 0.014, 1e-12, "codec");
    close_to(p.comm_s, 0.033, 1e-12, "comm");
    w.s.timing.mode = CC_PIPE;
    sending = fmax(0.3 + 0.004 + 0.004, 0.066 + 0.016);
    close_to(predict(&w, &c, 0).step_s, (sending + silent) / 2, 1e-12, "local, pipelined");
    close_fixture(&w);
}

/* In every mode, hiding makes no step longer than sequential and none shorter than the time of any
 * one resource; a faster link makes no step longer. */
static void properties(void **state)
{
    (void)state;
    struct fixture w;
    struct cc_codec_model c = cc_codec_model_given("x", CC_REDUCE_DECODED, 8, 1000, 500, 250);
    open_fixture(&w);
    for (enum cc_exchange x = CC_PS; x <= CC_MPI; x++)
        for (double bw = 1e5; bw < 1e12; bw *= 7) {
            w.s.exchange = x;
            w.s.link.bw_bps = bw;
            w.s.timing.fuse_bytes = 0;
            w.s.timing.mode = CC_SEQUENTIAL;
            double sequential = predict(&w, &c, 0).step_s;
            for (enum cc_step_mode m = CC_OVERLAP; m <= CC_PIPE; m++) {
                w.s.timing.mode = m;
                struct cc_prediction p = predict(&w, &c, 0);
                assert_true(p.step_s <= sequential * (1 + 1e-12));
                assert_true(p.step_s >= 0.3 && p.step_s >= p.comm_s * 0.5 - 1e-12);
                w.s.link.bw_bps = 2 * bw;
                assert_true(predict(&w, &c, 0).step_s <= p.step_s * (1 + 1e-12));
                w.s.link.bw_bps = bw;
            }
        }
    close_fixture(&w);
}

/* Token buckets of 1000 bytes save 1 ms each way for every message, as its ports are idle for
 * longer than that between two. A ring's ports wait for a latency between rounds, in which the
 * bucket gains 1000 bytes. On average no port exceeds its rate: 16 ms for the server's 16 kB. */
static void shaped(void **state)
{
    (void)state;
    struct fixture w;
    struct cc_codec_model c = cc_codec_model_given("x", CC_REDUCE_DECODED, 8, 1000, 500, 250);
    struct cc_codec_model floats = cc_codec_model_given("fp32", CC_REDUCE_SUM, 32, 0, 0, 0);
    open_fixture(&w);
    w.s.link.burst_bytes = 1000;
    struct cc_prediction p = predict(&w, &c, 0);
    close_to(p.comm_s, 0.032, 1e-12, "comm");
    close_to(p.step_s, 0.3 + 0.032 + 0.014, 1e-12, "step");
    close_to(p.wire_bytes, 16000, 1e-12, "wire");
    w.s.timing.fuse_bytes = 0;
    close_to(predict(&w, &c, 0).comm_s, 0.036 - 4 * 0.001, 1e-12, "two messages");
    w.s.timing.fuse_bytes = -1;
    /* The whole message passes at once, but not in every step. */
    w.s.link.burst_bytes = 1e6;
    w.s.timing.compute_s = 0.001;
    p = predict(&w, &c, 0);
    close_to(p.comm_s, 0.002, 1e-12, "at once");
    close_to(p.step_s, 0.001 + 0.014 + 0.002, 1e-12, "codecs take longer than the port");
    c = cc_codec_model_given("x", CC_REDUCE_DECODED, 8, 0, 0, 0);
    close_to(predict(&w, &c, 0).step_s, 0.016, 1e-12, "the port's rate");
    w.s.timing.pause_s = 0.010;
    close_to(predict(&w, &c, 0).step_s, 0.006, 1e-12, "buckets fill in a pause");
    w.s.timing.pause_s = 0.020;
    close_to(predict(&w, &c, 0).step_s, 0.003, 1e-12, "a pause longer than the port is taken");
    w.s.timing.pause_s = 0;
    w.s.timing.mode = CC_PIPE;
    close_to(predict(&w, &c, 0).step_s, 0.016, 1e-12, "the port's rate, pipelined");
    w.s.timing.mode = CC_OVERLAP;
    close_to(predict(&w, &c, 0).step_s, 0.016, 1e-12, "the port's rate, overlapped");
    w.s.timing.mode = CC_SEQUENTIAL;
    w.s.exchange = CC_RING;
    /* Six rounds of 4000 bytes. */
    w.s.link.burst_bytes = 3000;
    close_to(predict(&w, &floats, 0).comm_s, 6 * 0.005 - 0.003 - 5 * 0.001, 1e-12, "ring");
    w.s.link.burst_bytes = 500;
    close_to(predict(&w, &floats, 0).comm_s, 6 * (0.005 - 0.0005), 1e-12, "small bucket");
    close_fixture(&w);
}

static void systems(void **state)
{
    (void)state;
    struct cc_setting s = {.cluster.workers = 7};
    for (int i = 0; i < CC_SYSTEM_COUNT; i++) {
        assert_string_equal(cc_systems[i].name, cc_system_names[i]);
        cc_system_apply(&cc_systems[i], &s);
        assert_ptr_equal(s.system, &cc_systems[i]);
        assert_int_equal(s.cluster.servers, i == CC_SYSTEM_BYTEPS ? 7 : 1);
        assert_int_equal(s.cluster.workers, 7);
    }
    assert_null(cc_system_names[CC_SYSTEM_COUNT]);
    cc_system_apply(&cc_systems[CC_SYSTEM_DDP], &s);
    assert_true(s.exchange == CC_RING && s.timing.mode == CC_OVERLAP && s.timing.fuse_gradients);
    assert_true(s.timing.fuse_bytes == 26214400 && s.timing.first_fuse_bytes == 1048576);
    cc_system_apply(&cc_systems[CC_SYSTEM_PS], &s); /* leaves nothing of the other */
    assert_true(s.exchange == CC_PS && s.timing.mode == CC_SEQUENTIAL && !s.timing.fuse_gradients);
    assert_true(s.timing.fuse_bytes < 0 && s.timing.first_fuse_bytes < 0);
}

static void refused(struct fixture *w, const char *message)
{
    struct cc_error e = {""};
    assert_int_equal(cc_setting_check(&w->s, &e), CC_USAGE);
    assert_contains(e.text, message);
    cc_setting_defaults(w->net, &w->s);
    w->s.link.bw_bps = 1e9;
}

static void refusals(void **state)
{
    (void)state;
    struct fixture w;
    open_fixture(&w);
    assert_int_equal(cc_setting_check(&w.s, NULL), CC_OK);
    w.s.link.bw_bps = 0;
    refused(&w, "--bw");
    w.s.link.latency_s = -1e-6;
    refused(&w, "--latency");
    w.s.cluster.workers = 0;
    refused(&w, "--workers");
    w.s.cluster.servers = 5000;
    refused(&w, "--servers");
    w.s.timing.compute_s = NAN;
    refused(&w, "--compute");
    w.s.timing.depth = 0;
    refused(&w, "--depth");
    w.s.link.burst_bytes = -1;
    refused(&w, "--burst");
    w.s.timing.hidden_share = 1.5;
    refused(&w, "--hidden");
    w.s.timing.hidden_share = 0.5;
    w.s.timing.mode = CC_PIPE;
    refused(&w, "--hidden goes with --mode sequential");
    w.s.timing.consistency = CC_ASYNC;
    w.s.exchange = CC_RING;
    refused(&w, "--exchange ps");
    w.s.timing.consistency = CC_STALE;
    w.s.timing.mode = CC_PIPE;
    refused(&w, "all workers are in the same step");
    w.s.timing.consistency = CC_STALE;
    w.s.timing.pulls = CC_PULL_FORWARD;
    refused(&w, "--pulls forward");
    w.s.timing.consistency = CC_STALE;
    w.s.timing.mode = CC_OVERLAP;
    struct cc_error e = {""};
    assert_int_equal(cc_setting_check(&w.s, &e), CC_OK);
    assert_int_equal(cc_setting_check_formula(&w.s, &e), CC_USAGE);
    assert_contains(e.text, "sequential");
    cc_setting_defaults(w.net, &w.s);
    w.s.link.bw_bps = 1e9;
    w.s.timing.straggler = CC_UNIFORM;
    w.s.timing.spread = 0.6;
    refused(&w, "negative");
    close_fixture(&w);
}

/* Push and pull with sizes and times of their own. */
static void two_ways(void **state)
{
    (void)state;
    struct fixture w;
    struct cc_codec_model c = cc_codec_model_given("x", CC_REDUCE_DECODED, 8, 1000, 500, 250);
    open_fixture(&w);
    c.pull_point = (struct cc_profile_point){
        .bits_per_value = 16, .encode_ns = 2000, .decode_ns = 100, .decode_add_ns = 7};
    struct cc_prediction p = predict(&w, &c, 0);
    assert_true(p.bits_push == 8 && p.bits_pull == 16);
    close_to(p.push_s, 0.017, 1e-12, "push");
    close_to(p.pull_s, 0.033, 1e-12, "pull");
    close_to(p.codec_s, 0.004 + (0.004 + 0.008) + 0.0004, 1e-12, "codec");
    close_to(p.wire_bytes, 32000, 1e-12, "wire");
    close_fixture(&w);
}

/* Servers send back 2, 4, 6, 10 and 10 bits per value where 1, 2, 4, 8 and 16 workers push 8;
 * partial sums have 8 to 13. */
static void sums(void **state)
{
    (void)state;
    static const struct cc_sum_sizes bits[] = {
        {.pull = {2, 4, 6, 10, 10}, .hop = {8, 10, 11, 13, 13}},
        {.pull = {2, 4, 6, 10, 10}, .hop = {8, 10, 11, 13, 13}}};
    static const struct {
        int workers;
        double pull;
    } cases[] = {{1, 2}, {2, 4}, {3, 4 + 2 * 0.5849625007211562}, {4, 6}, {16, 10}, {1000, 10}};
    struct fixture w;
    struct cc_codec_model c = cc_codec_model_given("x", CC_REDUCE_DECODED, 8, 0, 0, 0);
    open_fixture(&w);
    c.tensor_sums = bits;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        w.s.cluster.workers = cases[i].workers;
        const struct cc_prediction p = predict(&w, &c, 0);
        close_to(p.bits_push, 8, 1e-12, "push");
        close_to(p.bits_pull, cases[i].pull, 1e-12, "pull");
        close_to(p.pull_s, 0.001 + cases[i].workers * 500e-6 * cases[i].pull, 1e-12, "pull");
    }
    /* Raw tensors are as large in all directions: 1000 of 4000 values. */
    w.s.cluster.workers = 2;
    close_to(predict(&w, &c, 2000).bits_pull, (32 + 3 * 4) / 4.0, 1e-12, "raw");
    w.s.exchange = CC_RING;
    w.s.cluster.workers = 4;
    close_to(predict(&w, &c, 0).bits_push, (8 + 10 + 10.5849625007211562 + 11) / 4, 1e-12, "ring");
    close_fixture(&w);
}

/* 20 schemes, 100 bandwidths and 10 cluster sizes in under a second, on a net of 329 tensors. */
static void fast(void **state)
{
    (void)state;
    struct fixture w;
    struct cc_prediction p;
    open_fixture(&w);
    cc_net_free(w.net);
    assert_int_equal(cc_net_open("resnet110", &w.net, NULL), CC_OK);
    cc_setting_defaults(w.net, &w.s);
    double began = cc_now();
    for (int scheme = 0; scheme < 20; scheme++) {
        struct cc_step_payloads payloads;
        struct cc_codec_model c = cc_codec_model_given("x", CC_REDUCE_DECODED, 1 + scheme, 1, 1, 1);
        assert_int_equal(cc_step_payloads_make(w.net, &c, &c, NULL, &payloads, NULL), CC_OK);
        for (int size = 1; size <= 10; size++)
            for (int bw = 1; bw <= 100; bw++) {
                w.s.cluster.workers = 1 << size;
                w.s.link.bw_bps = 1e7 * bw;
                assert_int_equal(cc_predict(&w.p, &w.s, &payloads, &p, NULL), CC_OK);
            }
        cc_step_payloads_free(&payloads);
    }
    assert_true(cc_now() - began < 1);
    close_fixture(&w);
}

/* A tree over 3 hosts of 2, one of whose messages wait for each other: exact where they are
 * followed, and up to 55% off by the formula. Of resnet110's tensors none is an eighth; of vgg16's
 * one is, and has most of the bytes. */
static void off(void **state)
{
    (void)state;
    const struct {
        const char *net;
        double fuse_bytes, least, most;
    } is[] = {
        {"resnet110", INFINITY, 0.03, 0.03}, {"resnet110", 0, 0.55, 0.55}, {"vgg16", 0, 0.1, 0.3}};
    for (size_t i = 0; i < sizeof is / sizeof *is; i++) {
        struct fixture w;
        struct cc_codec_model c = cc_codec_model_given("x", CC_REDUCE_DECODED, 8, 1, 1, 1);
        open_fixture(&w);
        cc_net_free(w.net);
        assert_int_equal(cc_net_open(is[i].net, &w.net, NULL), CC_OK);
        cc_setting_defaults(w.net, &w.s);
        w.s.link.bw_bps = 1e9;
        w.s.exchange = CC_TREE;
        w.s.cluster.workers = 6;
        w.s.cluster.per_host = 2;
        w.s.cluster.intra = (struct cc_link){.bw_bps = 1e10, .latency_s = 1e-5};
        w.s.timing.fuse_bytes = is[i].fuse_bytes;
        const double off = predict(&w, &c, 0).off;
        assert_true(off >= is[i].least - 1e-9 && off <= is[i].most + 1e-9);
        close_fixture(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sequential),
        cmocka_unit_test(synchronized),
        cmocka_unit_test(ports),
        cmocka_unit_test(servers_beside_workers),
        cmocka_unit_test(partitions),
        cmocka_unit_test(stragglers),
        cmocka_unit_test(two_servers),
        cmocka_unit_test(local_steps),
        cmocka_unit_test(two_ways),
        cmocka_unit_test(sums),
        cmocka_unit_test(properties),
        cmocka_unit_test(fused_whole_tensors),
        cmocka_unit_test(small_in_local_steps),
        cmocka_unit_test(alone),
        cmocka_unit_test(shaped),
        cmocka_unit_test(systems),
        cmocka_unit_test(fast),
        cmocka_unit_test(off),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
