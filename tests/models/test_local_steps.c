/* Local steps by the formulas, and the bandwidth that a utilization takes, against sums worked out
 * by hand. The exchange of the fixture: 4000 bytes, 1 ms and 16 ms each way, codecs of 4, 4, 4 and
 * 2 ms. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>

#include "models/required.h"
#include "tests/lib/number.h"
#include "tests/lib/prediction.h"
#include "tests/lib/text.h"

#define CODECS 0.014
#define BOTH   0.034

static struct cc_codec_model codec(void)
{
    return cc_codec_model_given("x", CC_REDUCE_DECODED, 8, 1000, 500, 250);
}

static void open_local(struct fixture *w, size_t steps, size_t parts)
{
    open_fixture(w);
    w->s.timing.local = (struct cc_local_timing){.steps = steps, .parts = parts, .delay = steps};
}

/* An exchange every 10 steps: a tenth of it is a step's. */
static void sequential(void **state)
{
    (void)state;
    struct fixture w;
    const struct cc_codec_model c = codec();
    open_local(&w, 10, 1);
    struct cc_prediction p = predict(&w, &c, 0);
    close_to(p.step_s, 0.3 + (CODECS + BOTH) / 10, 1e-12, "step");
    close_to(p.compute_s, 0.3, 1e-12, "compute");
    close_to(p.codec_s, CODECS / 10, 1e-12, "codec");
    close_to(p.comm_s, BOTH / 10, 1e-12, "comm");
    close_to(p.payload_bytes, 400, 1e-12, "payload");
    close_to(p.bits_pull, 0.8, 1e-12, "pull");
    close_to(p.wire_bytes, 1600, 1e-12, "wire");
    close_to(p.efficiency, 0.3 / p.step_s, 1e-12, "utilization");
    /* Every step has an update. */
    w.s.timing.update_s = 0.1;
    close_to(predict(&w, &c, 0).step_s, 0.4 + (CODECS + BOTH) / 10, 1e-12, "update");
    close_fixture(&w);
}

/* Two tensors in turn, of 3000 and of 1000 values: as many bytes, a latency more each way. */
static void parts(void **state)
{
    (void)state;
    struct fixture w;
    const struct cc_codec_model c = codec();
    open_local(&w, 5, 2);
    struct cc_prediction p = predict(&w, &c, 0);
    close_to(p.step_s, 0.3 + (CODECS + BOTH + 0.002) / 10, 1e-12, "step");
    close_to(p.comm_s, (BOTH + 0.002) / 10, 1e-12, "comm");
    close_to(p.payload_bytes, 400, 1e-12, "payload");
    assert_int_equal(cc_local_part(w.s.net, 2, 2), 1);
    assert_int_equal(cc_local_part(w.s.net, 2, 1), 0);
    close_fixture(&w);
}

/* An exchange beside `delay` steps: what it takes longer is left, after the encoding. */
static void overlapped(void **state)
{
    (void)state;
    struct fixture w;
    const struct cc_codec_model c = codec();
    open_local(&w, 10, 1);
    w.s.timing.mode = CC_OVERLAP;
    struct cc_prediction p = predict(&w, &c, 0);
    close_to(p.step_s, 0.3 + 0.0004, 1e-12, "hidden");
    close_to(p.exposed_s, 0, 1e-12, "exposed");
    w.s.timing.compute_s = 0.01;
    w.s.timing.local.delay = 3;
    p = predict(&w, &c, 0);
    close_to(p.step_s, 0.01 + (0.004 + 0.044 - 0.03) / 10, 1e-12, "in part");
    close_fixture(&w);
}

/* 0.9 = 0.3 / (0.3 + x): x = 1/30 s a step; an exchange of 10 steps has 1/3 s, of which 14 ms are
 * the codecs' and 2 ms latencies; the rest sends 8 x 32,000 bits, 4 workers' both ways. */
static void required(void **state)
{
    (void)state;
    struct fixture w;
    const struct cc_codec_model model = codec();
    struct cc_step_payloads payloads;
    struct cc_prediction p;
    bool found;
    open_local(&w, 10, 1);
    w.s.link.overhead = 0;
    assert_int_equal(cc_step_payloads_make(w.s.net, &model, &model, NULL, &payloads, NULL), CC_OK);
    assert_int_equal(cc_required_bandwidth(&w.p, &w.s, &payloads, 0.9, &found, &p, NULL), CC_OK);
    assert_true(found);
    close_to(w.s.link.bw_bps, 8 * 32000 / (1 / 3.0 - CODECS - 0.002), 2e-6, "bandwidth");
    close_to(p.efficiency, 0.9, 1e-5, "utilization");
    /* Latencies and codecs alone take 16 ms in 3 s: 99.5% are too much. */
    assert_int_equal(cc_required_bandwidth(&w.p, &w.s, &payloads, 0.995, &found, &p, NULL), CC_OK);
    assert_false(found);
    cc_step_payloads_free(&payloads);
    close_fixture(&w);
}

static void refusals(void **state)
{
    (void)state;
    struct fixture w;
    struct cc_error e;
    open_local(&w, 10, 3);
    assert_int_equal(cc_setting_check(&w.s, &e), CC_USAGE);
    assert_contains(e.text, "2 tensors");
    w.s.timing.local.parts = 1;
    assert_int_equal(cc_setting_check(&w.s, &e), CC_OK);
    w.s.timing.local.delay = 11;
    assert_int_equal(cc_setting_check(&w.s, &e), CC_USAGE);
    assert_contains(e.text, "--stream-delay");
    w.s.timing.local.delay = 10;
    w.s.timing.mode = CC_PIPE;
    assert_int_equal(cc_setting_check(&w.s, &e), CC_USAGE);
    w.s.timing.mode = CC_OVERLAP;
    w.s.timing.straggler = CC_LOGNORMAL;
    assert_int_equal(cc_setting_check(&w.s, &e), CC_OK);
    assert_int_equal(cc_setting_check_formula(&w.s, &e), CC_USAGE);
    w.s.timing.mode = CC_SEQUENTIAL;
    assert_int_equal(cc_setting_check_formula(&w.s, &e), CC_OK);
    w.s.timing.consistency = CC_STALE;
    assert_int_equal(cc_setting_check(&w.s, &e), CC_USAGE);
    assert_contains(e.text, "--consistency stale");
    close_fixture(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sequential), cmocka_unit_test(parts),    cmocka_unit_test(overlapped),
        cmocka_unit_test(required),   cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
