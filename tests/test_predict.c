/* Predictions, from net and codec to the time of a step, against sums worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/clock.h"
#include "models/system.h"
#include "tests/lib/text.h"

static void close_to(double is, double should, double tolerance, const char *what)
{
    if (!(fabs(is - should) <= tolerance * fabs(should)))
        fail_msg("%s: %.12g instead of %.12g", what, is, should);
}

static const char two_tensors[] =
    "{\"schema\":\"commcomp-net/1\",\"name\":\"two\",\"compute_s\":0.3,\"tensors\":["
    "{\"name\":\"a\",\"shape\":[1000],\"compute\":1},{\"name\":\"b\",\"shape\":[3000],"
    "\"compute\":2}]}";

struct fixture {
    struct cc_net *net;
    struct cc_setting s;
    struct cc_predictor p;
};

static void open_fixture(struct fixture *w)
{
    memset(w, 0, sizeof *w);
    assert_int_equal(cc_net_parse(two_tensors, strlen(two_tensors), &w->net, NULL), CC_OK);
    cc_setting_defaults(w->net, &w->s);
    w->s.link = (struct cc_link){.bw_bps = 8e6, .latency_s = 0.001};
    w->s.cluster.workers = 4;
}

static struct cc_prediction predict(struct fixture *w, const struct cc_codec_model *codec_model,
                                    size_t min_size)
{
    struct cc_codec_model raw = cc_codec_model_given("fp32", CC_REDUCE_SUM, 32, 0, 0, 0);
    struct cc_step_payloads payloads;
    struct cc_prediction out;
    struct cc_error e = {""};
    bool is_raw[16];
    for (size_t i = 0; i < w->net->count; i++)
        is_raw[i] = w->net->tensors[i].shape.n < min_size;
    assert_int_equal(cc_step_payloads_make(w->net, codec_model, &raw, is_raw, &payloads, NULL),
                     CC_OK);
    if (cc_predict(&w->p, &w->s, &payloads, &out, &e) != CC_OK)
        fail_msg("%s", e.text);
    cc_step_payloads_free(&payloads);
    return out;
}

static void close_fixture(struct fixture *w)
{
    cc_predictor_free(&w->p);
    cc_net_free(w->net);
}

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

static const char four_tensors[] =
    "{\"schema\":\"commcomp-net/1\",\"name\":\"four\",\"tensors\":["
    "{\"name\":\"a\",\"shape\":[250000]},{\"name\":\"b\",\"shape\":[250000]},"
    "{\"name\":\"c\",\"shape\":[250000]},{\"name\":\"d\",\"shape\":[250000]}]}";

/* A megabyte for each of four servers, ten workers, 1 MB/s: 10 s in, 10 s out, for any number of
 * tensors in a message. The codec: 250,000 values x 10 workers x 1 us and 250,000 x 2 us. */
static void fused_whole_tensors(void **state)
{
    (void)state;
    struct fixture w;
    struct cc_codec_model c = cc_codec_model_given("x", CC_REDUCE_DECODED, 32, 2000, 0, 1000);
    const double fuse[] = {-1, 0, 2e6, 3e6, 4e6};
    memset(&w, 0, sizeof w);
    assert_int_equal(cc_net_parse(four_tensors, strlen(four_tensors), &w.net, NULL), CC_OK);
    cc_setting_defaults(w.net, &w.s);
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

static void raw_tensors(void **state)
{
    (void)state;
    static const double size[] = {10, 50, 30, 30, 5};
    static const struct {
        size_t min_size;
        double share;
        const char *raw;
    } cases[] = {
        {0, 0, "....."},     {0, 1, "abcde"}, {6, 0, "....e"}, {0, 0.5, "ab..."}, /* 62.5 */
        {6, 0.5, ".b..e"},   /* 62.5, of which the smallest tensor has 5 */
        {0, 0.28, "..c.e"},  /* 35 */
        {0, 0.24, "..c.."},  /* 30: the first of equals */
        {31, 0.1, "a.cde"},  /* more than the share already */
        {0, 0.479, ".b..e"}, /* 59.9 */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bool raw[5];
        double share, values = 0;
        assert_int_equal(
            cc_raw_tensors(size, 5, cases[i].min_size, cases[i].share, raw, &share, NULL), CC_OK);
        for (size_t k = 0; k < 5; k++) {
            if (raw[k] != (cases[i].raw[k] != '.'))
                fail_msg("case %zu: tensor %zu", i, k);
            values += raw[k] ? size[k] : 0;
        }
        close_to(share, values / 125, 1e-12, "share");
    }
}

/* How steps are cut into messages, and which server has which tensor. */
static void messages_and_servers(void **state)
{
    (void)state;
    struct fixture w;
    struct cc_step_payloads p;
    struct cc_message m[4];
    int server[4];
    struct cc_codec_model c = cc_codec_model_given("x", CC_REDUCE_DECODED, 8, 1000, 500, 250);
    struct cc_codec_model raw = cc_codec_model_given("fp32", CC_REDUCE_SUM, 32, 0, 0, 0);
    const bool is_raw[] = {false, true, false, false};
    memset(&w, 0, sizeof w);
    assert_int_equal(cc_net_parse(four_tensors, strlen(four_tensors), &w.net, NULL), CC_OK);
    cc_setting_defaults(w.net, &w.s);
    c.period = 2;
    /* In the step that sends: 500,000, 1,000,000, 500,000 and 500,000 bytes. */
    assert_int_equal(cc_step_payloads_make(w.net, &c, &raw, is_raw, &p, NULL), CC_OK);
    assert_int_equal(cc_predict_messages(&w.s, &p, m), 1);
    assert_true(m[0].first == 0 && m[0].last == 3);
    w.s.timing.fuse_bytes = 1e6;
    assert_int_equal(cc_predict_messages(&w.s, &p, m), 3);
    assert_true(m[0].first == 2 && m[0].last == 3 && m[1].first == 1 && m[1].last == 1);
    assert_true(m[2].first == 0 && m[2].last == 0);
    w.s.timing.fuse_bytes = -1;
    w.s.timing.mode = CC_OVERLAP;
    assert_int_equal(cc_predict_messages(&w.s, &p, m), 4);
    w.s.cluster.servers = 3;
    assert_int_equal(cc_predict_servers(&w.p, &w.s, server, NULL), CC_OK);
    assert_true(server[0] == CC_EVERY_SERVER && server[3] == CC_EVERY_SERVER);
    w.s.placement = CC_ROUND_ROBIN;
    assert_int_equal(cc_predict_servers(&w.p, &w.s, server, NULL), CC_OK);
    assert_true(server[0] == 0 && server[1] == 1 && server[2] == 2 && server[3] == 0);
    w.s.exchange = CC_RING;
    assert_int_equal(cc_predict_servers(&w.p, &w.s, server, NULL), CC_OK);
    assert_true(server[1] == 0);
    cc_step_payloads_free(&p);
    close_fixture(&w);
}

/* Buckets of DDP count bytes of gradients, the first by a limit of its own. */
static void buckets(void **state)
{
    (void)state;
    struct fixture w;
    struct cc_step_payloads p;
    struct cc_message m[4];
    struct cc_codec_model c = cc_codec_model_given("x", CC_REDUCE_DECODED, 8, 0, 0, 0);
    struct cc_codec_model raw = cc_codec_model_given("fp32", CC_REDUCE_SUM, 32, 0, 0, 0);
    memset(&w, 0, sizeof w);
    assert_int_equal(cc_net_parse(four_tensors, strlen(four_tensors), &w.net, NULL), CC_OK);
    cc_setting_defaults(w.net, &w.s);
    /* Four payloads of 250,000 bytes, gradients four times as large. */
    assert_int_equal(cc_step_payloads_make(w.net, &c, &raw, NULL, &p, NULL), CC_OK);
    w.s.timing.fuse_bytes = 5e5;
    assert_int_equal(cc_predict_messages(&w.s, &p, m), 2);
    w.s.timing.first_fuse_bytes = 499999;
    assert_int_equal(cc_predict_messages(&w.s, &p, m), 3);
    assert_true(m[0].first == 3 && m[1].first == 1 && m[2].first == 0 && m[2].last == 0);
    w.s.timing.fuse_gradients = true;
    assert_int_equal(cc_predict_messages(&w.s, &p, m), 4);
    w.s.timing.fuse_bytes = 3e6;
    assert_int_equal(cc_predict_messages(&w.s, &p, m), 2);
    assert_true(m[0].first == 3 && m[1].first == 0 && m[1].last == 2);
    w.s.timing.first_fuse_bytes = 2e6;
    assert_int_equal(cc_predict_messages(&w.s, &p, m), 2);
    assert_true(m[0].first == 2 && m[1].first == 0);
    cc_step_payloads_free(&p);
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

/* --- measured payload costs --- */

static struct cc_prediction predict_measured(struct fixture *w,
                                             const struct cc_codec_model *codec_model,
                                             const bool *raw, const struct cc_measured *m)
{
    struct cc_codec_model floats = cc_codec_model_given("fp32", CC_REDUCE_SUM, 32, 0, 0, 0);
    struct cc_step_payloads profiled, payloads;
    struct cc_prediction out;
    struct cc_error e = {""};
    assert_int_equal(cc_step_payloads_make(w->net, codec_model, &floats, raw, &profiled, NULL),
                     CC_OK);
    assert_int_equal(cc_step_payloads_measured(w->net, &profiled, raw, m, &payloads, NULL), CC_OK);
    if (cc_predict(&w->p, &w->s, &payloads, &out, &e) != CC_OK)
        fail_msg("%s", e.text);
    cc_step_payloads_free(&profiled);
    cc_step_payloads_free(&payloads);
    return out;
}

/* Measured codec times replace the exchange's own formula: 1, 6 (at the server, or between hops)
 * and 8 ms. A push has 3800 bytes of payload and 200 of heads, a pull 7900 and 100. */
static void measured(void **state)
{
    (void)state;
    static const struct {
        enum cc_exchange exchange;
        double comm; /* at 1 MB/s and 1 ms, 4 workers */
    } cases[] = {{CC_PS, 0.017 + 0.033},
                 {CC_RING, 6 * 0.002},
                 {CC_RECDOUBLE, 2 * 0.005},
                 {CC_RABENSEIFNER, 0.004 + 0.006},
                 {CC_ALLGATHER, 0.002 + 0.012}};
    struct cc_measured m = {.push_bytes = 3800,
                            .push_head_bytes = 200,
                            .pull_bytes = 7900,
                            .pull_head_bytes = 100,
                            .codec = {.encode_s = 0.001, .decode_s = 0.008}};
    struct cc_codec_model c = cc_codec_model_given("x", CC_REDUCE_DECODED, 8, 1000, 500, 250);
    struct fixture w;
    open_fixture(&w);
    w.s.cluster.reduce_byte_s = 1e-6; /* part of the hops' time */
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (c.reduction = CC_REDUCE_DECODED; c.reduction <= CC_REDUCE_SUM; c.reduction++) {
            double comm = cases[i].comm;
            w.s.exchange = cases[i].exchange;
            w.s.timing.mode = CC_SEQUENTIAL;
            m.codec.server_s = cases[i].exchange == CC_PS ? 0.006 : 0;
            m.codec.hop_s = 0.006 - m.codec.server_s;
            struct cc_prediction p = predict_measured(&w, &c, NULL, &m);
            close_to(p.comm_s, comm, 1e-12, cc_exchange_names[w.s.exchange]);
            close_to(p.codec_s, 0.015, 1e-12, "codec");
            close_to(p.encode_s, 0.001, 1e-12, "encode");
            close_to(p.step_s, 0.3 + 0.015 + comm, 1e-12, "sequential");
            w.s.timing.hidden_share = 0.5;
            close_to(predict_measured(&w, &c, NULL, &m).step_s,
                     0.15 + 0.001 + fmax(0.15, 0.014 + comm), 1e-12, "hidden");
            w.s.timing.hidden_share = 0;
            w.s.timing.mode = CC_PIPE;
            w.s.timing.compute_s = 0.01;
            close_to(predict_measured(&w, &c, NULL, &m).step_s, fmax(0.01 + 0.009, 0.006 + comm),
                     1e-12, "pipe");
            w.s.timing.compute_s = 0.3;
            /* One message after the backward pass: nothing hides it. */
            w.s.timing.mode = CC_OVERLAP;
            w.s.timing.fuse_bytes = 1e9;
            close_to(predict_measured(&w, &c, NULL, &m).step_s, 0.3 + 0.015 + comm, 1e-12,
                     "overlap");
            w.s.timing.fuse_bytes = -1;
        }
    close_fixture(&w);
}

/* Two servers: measured times are those of the busier one. With lpt it has three quarters of the
 * bytes, or the counted bytes of its tensors. */
static void measured_servers(void **state)
{
    (void)state;
    const double push[] = {500, 3500}, pull[] = {2000, 6000};
    struct cc_measured m = {
        .push_bytes = 4000, .pull_bytes = 8000, .codec = {0.001, 0, 0.004, 0.008}};
    struct cc_codec_model c = cc_codec_model_given("x", CC_REDUCE_DECODED, 8, 1000, 500, 250);
    struct fixture w;
    open_fixture(&w);
    w.s.cluster.servers = 2;
    struct cc_prediction p = predict_measured(&w, &c, NULL, &m);
    close_to(p.comm_s, 0.009 + 0.017, 1e-12, "split");
    close_to(p.server_codec_s, 0.004, 1e-12, "split's server");
    w.s.placement = CC_LPT;
    p = predict_measured(&w, &c, NULL, &m);
    close_to(p.comm_s, 0.013 + 0.025, 1e-12, "by sizes");
    close_to(p.server_codec_s, 0.004, 1e-12, "the busier server");
    m.tensor_push = push;
    m.tensor_pull = pull;
    p = predict_measured(&w, &c, NULL, &m);
    close_to(p.comm_s, 0.015 + 0.025, 1e-12, "as counted");
    /* Measured sizes do not change the messages: 1000 and 3000 bytes were planned. */
    w.s.timing.fuse_bytes = 3000;
    m.tensor_push = m.tensor_pull = NULL;
    m.push_bytes = 400;
    close_to(predict_measured(&w, &c, NULL, &m).comm_s, 2 * 0.002 + 0.0012 + 0.024, 1e-12,
             "messages");
    close_fixture(&w);
}

/* Sends every second step; the small tensor is raw and sent in both. 4000 bytes of it and 1500 of
 * the other on average, and codec times likewise: the worker encodes in every step. */
static void measured_local_steps(void **state)
{
    (void)state;
    const bool raw[] = {true, false};
    const struct cc_measured m = {.push_bytes = 5500,
                                  .pull_bytes = 5500,
                                  .push_head_bytes = 10,
                                  .pull_head_bytes = 10,
                                  .codec = {0.001, 0, 0.004, 0.008}};
    struct cc_codec_model c = cc_codec_model_given("x", CC_REDUCE_DECODED, 8, 1000, 500, 250);
    struct fixture w;
    open_fixture(&w);
    c.period = 2;
    struct cc_prediction p = predict_measured(&w, &c, raw, &m);
    close_to(p.comm_s, 2 * (0.001 + 4 * 0.00551), 1e-12, "comm");
    close_to(p.codec_s, 0.013, 1e-12, "codec");
    close_to(p.step_s, 0.3 + p.comm_s + p.codec_s, 1e-12, "step");
    w.s.timing.mode = CC_PIPE;
    w.s.timing.compute_s = 0.02;
    double sending = fmax(0.02 + 0.001 + 0.016, 2 * (0.001 + 4 * 0.00702) + 0.008);
    double silent = fmax(0.02 + 0.001, 2 * (0.001 + 4 * 0.004));
    close_to(predict_measured(&w, &c, raw, &m).step_s, (sending + silent) / 2, 1e-12, "pipelined");
    close_fixture(&w);
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
    w.s.timing.mode = CC_OVERLAP;
    refused(&w, "sequential");
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

static double factors(const void *arg, const struct cc_shape *shape)
{
    return 4 * *(const double *)arg * (double)(shape->dim[0] + 1);
}

/* The number of pairs of a payload, by its layout; and payloads whose size the shape decides. */
static void payloads(void **state)
{
    (void)state;
    struct fixture w;
    struct cc_step_payloads p;
    struct cc_codec_model c = cc_codec_model_given("x", CC_REDUCE_PAIRS, 2.6, 1, 1, 1), raw = c;
    double rank = 2;
    open_fixture(&w);
    c.value_bits = 1; /* a bitmap, and floats: (2.6 - 1) / 32 of the values */
    c.pair_bits = 32;
    assert_int_equal(cc_step_payloads_make(w.net, &c, &raw, NULL, &p, NULL), CC_OK);
    close_to(p.total.pairs, 0.05 * 4000, 1e-12, "pairs of a bitmap");
    cc_step_payloads_free(&p);
    c.value_bits = 0;
    c.pair_bits = 64;
    assert_int_equal(cc_step_payloads_make(w.net, &c, &raw, NULL, &p, NULL), CC_OK);
    close_to(p.total.pairs, 2.6 / 64 * 4000, 1e-12, "pairs");
    cc_step_payloads_free(&p);
    c.push_point.bits_per_value = 640; /* never more than the values */
    raw = cc_codec_model_given("fp32", CC_REDUCE_SUM, 32, 0, 0, 0);
    const bool is_raw[] = {true, false};
    assert_int_equal(cc_step_payloads_make(w.net, &c, &raw, is_raw, &p, NULL), CC_OK);
    assert_true(p.each[0].pairs == 1000 && p.each[1].pairs == 3000);
    assert_true(p.each[0].push_bytes == 4000);
    cc_step_payloads_free(&p);
    c.shape_bytes = factors;
    c.shape_arg = &rank;
    assert_int_equal(cc_step_payloads_make(w.net, &c, &raw, NULL, &p, NULL), CC_OK);
    assert_true(p.each[1].push_bytes == 4 * 2 * 3001. && p.each[1].pull_bytes == 4 * 2 * 3001.);
    cc_step_payloads_free(&p);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sequential),
        cmocka_unit_test(two_servers),
        cmocka_unit_test(local_steps),
        cmocka_unit_test(two_ways),
        cmocka_unit_test(payloads),
        cmocka_unit_test(properties),
        cmocka_unit_test(fused_whole_tensors),
        cmocka_unit_test(small_in_local_steps),
        cmocka_unit_test(alone),
        cmocka_unit_test(shaped),
        cmocka_unit_test(raw_tensors),
        cmocka_unit_test(messages_and_servers),
        cmocka_unit_test(buckets),
        cmocka_unit_test(systems),
        cmocka_unit_test(measured),
        cmocka_unit_test(measured_servers),
        cmocka_unit_test(measured_local_steps),
        cmocka_unit_test(fast),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
