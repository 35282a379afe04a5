/* The payloads of a step: which tensors are raw, their sizes and pairs, the messages and servers
 * that they go by, against values worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>

#include "tests/lib/number.h"
#include "tests/lib/prediction.h"

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
    open_four_tensors(&w);
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
    open_four_tensors(&w);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(raw_tensors),
        cmocka_unit_test(payloads),
        cmocka_unit_test(messages_and_servers),
        cmocka_unit_test(buckets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
