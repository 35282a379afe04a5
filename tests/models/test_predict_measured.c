/* Predictions from measured sizes and codec times, against sums worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdbool.h>

#include "tests/lib/number.h"
#include "tests/lib/prediction.h"

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
        double comm;   /* at 1 MB/s and 1 ms, 4 workers */
        double hidden; /* share of the decoding beside the transfers of chunks */
    } cases[] = {{CC_PS, 0.017 + 0.033, 0},
                 {CC_RING, 6 * 0.002, 0.75},
                 {CC_RECDOUBLE, 2 * 0.005, 0},
                 {CC_RABENSEIFNER, 0.004 + 0.006, 0.5},
                 {CC_ALLGATHER, 0.002 + 0.012, 0}};
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
            const bool recodes = c.reduction == CC_REDUCE_DECODED;
            const double comm = cases[i].comm, hidden = recodes ? cases[i].hidden * 0.008 : 0;
            w.s.exchange = cases[i].exchange;
            w.s.timing.mode = CC_SEQUENTIAL;
            m.codec.server_s = cases[i].exchange == CC_PS ? 0.006 : 0;
            m.codec.hop_s = 0.006 - m.codec.server_s;
            struct cc_prediction p = predict_measured(&w, &c, NULL, &m);
            close_to(p.comm_s, comm, 1e-12, cc_exchange_names[w.s.exchange]);
            close_to(p.codec_s, 0.015, 1e-12, "codec");
            close_to(p.encode_s, 0.001, 1e-12, "encode");
            close_to(p.step_s, 0.3 + 0.015 + comm - hidden, 1e-12, "sequential");
            w.s.timing.hidden_share = 0.5;
            close_to(predict_measured(&w, &c, NULL, &m).step_s,
                     0.15 + 0.001 + fmax(0.15, 0.014 + comm - hidden), 1e-12, "hidden");
            w.s.timing.hidden_share = 0;
            w.s.timing.mode = CC_PIPE;
            w.s.timing.compute_s = 0.01;
            close_to(predict_measured(&w, &c, NULL, &m).step_s, fmax(0.01 + 0.009, 0.006 + comm),
                     1e-12, "pipe");
            w.s.timing.compute_s = 0.3;
            /* One message after the backward pass: nothing hides it. */
            w.s.timing.mode = CC_OVERLAP;
            w.s.timing.fuse_bytes = 1e9;
            close_to(predict_measured(&w, &c, NULL, &m).step_s, 0.3 + 0.015 + comm - hidden, 1e-12,
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

/* 4000 bytes measured over a ring of 4, where partial sums over 1, 2 and 4 workers were predicted
 * to have 8, 10 and 12 bits: the mean of a worker's four is 10.29. */
static void measured_sums(void **state)
{
    (void)state;
    static const struct cc_sum_sizes bits[] = {
        {.pull = {8, 8, 8, 8, 8}, .hop = {8, 10, 12, 12, 12}},
        {.pull = {8, 8, 8, 8, 8}, .hop = {8, 10, 12, 12, 12}}};
    const double three = 10 + 2 * log2(1.5), mean = (8 + 10 + three + 12) / 4;
    struct cc_codec_model c = cc_codec_model_given("x", CC_REDUCE_DECODED, 8, 0, 0, 0);
    struct cc_measured m = {.push_bytes = 4000, .encoded_bytes = 500 * mean};
    struct fixture w;
    open_fixture(&w);
    c.tensor_sums = bits;
    w.s.exchange = CC_RING;
    const struct cc_prediction p = predict_measured(&w, &c, NULL, &m);
    close_to(p.bits_push, 8, 1e-12, "what was measured");
    close_to(p.comm_s, 6 * 0.001 + 1e-3 * (8 + 10 + three + 3 * 12) / mean, 1e-12, "ring");
    close_fixture(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measured),
        cmocka_unit_test(measured_servers),
        cmocka_unit_test(measured_local_steps),
        cmocka_unit_test(measured_sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
