/* Advice: where a scheme pays, and how many workers are enough, against algebra by hand and against
 * trying every number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "models/verdict.h"
#include "models/system.h"

static struct cc_error e;

/* One tensor of a million values; no headers. */
struct rig {
    struct cc_net *net;
    struct cc_setting s;
    struct cc_predictor p;
    struct cc_step_payloads raw, coded;
};

static struct rig rig_open(double bits, double encode_ns, double decode_ns, double add_ns)
{
    struct rig r = {0};
    assert_int_equal(cc_net_flat("1M", 1000000, &r.net, &e), CC_OK);
    cc_setting_defaults(r.net, &r.s);
    r.s.link = (struct cc_link){.bw_bps = 1e9};
    r.s.timing.compute_s = 0.1;
    struct cc_codec_model raw = cc_codec_model_given("fp32", CC_REDUCE_SUM, 32, 0, 0, 0);
    struct cc_codec_model codec_model =
        cc_codec_model_given("x", CC_REDUCE_DECODED, bits, encode_ns, decode_ns, add_ns);
    assert_int_equal(cc_step_payloads_make(r.net, &raw, &raw, NULL, &r.raw, &e), CC_OK);
    assert_int_equal(cc_step_payloads_make(r.net, &codec_model, &raw, NULL, &r.coded, &e), CC_OK);
    return r;
}

static void rig_close(struct rig *r)
{
    cc_step_payloads_free(&r->raw);
    cc_step_payloads_free(&r->coded);
    cc_predictor_free(&r->p);
    cc_net_free(r->net);
}

/* Against fp32 on the same everything else. */
static struct cc_paying paying(struct rig *r)
{
    struct cc_baseline own;
    struct cc_paying pays;
    cc_baseline_own(&r->p, &r->s, &r->raw, &own);
    assert_int_equal(cc_advice_paying(&own, &r->s, &r->coded, &pays, &e), CC_OK);
    return pays;
}

static void assert_near(double got, double want)
{
    if (!(fabs(got / want - 1) < 1e-5))
        fail_msg("%.9g instead of %.9g", got, want);
}

/* Ten workers and a server: ten payloads pass its port each way, each of them 24 bits a value
 * smaller than fp32. The codec: a worker encodes (2 ms), the server adds ten (10 ms) and encodes (2
 * ms), a worker decodes (1 ms). With 100 ms of computing and a gain of 5%, 1.05 (100 ms + 15 ms +
 * 160 Mbit / B) = 100 ms + 640 Mbit / B. */
static void pays_below(void **state)
{
    (void)state;
    struct rig r = rig_open(8, 2, 1, 1);
    struct cc_paying pays = paying(&r);
    assert_true(pays.ever && pays.from_bps == 0 && pays.ranges == 1);
    assert_near(pays.below_bps, (640e6 - 1.05 * 160e6) / (0.05 * 0.1 + 1.05 * 15e-3));
    /* Each of two servers handles half of the values: 5 ms and 1 ms, and half of the bits at its
     * port. A worker's own port carries a tenth of the total. The codec takes 2 + 6 + 1 ms. */
    r.s.cluster.servers = 2;
    assert_near(paying(&r).below_bps, (320e6 - 1.05 * 80e6) / (0.05 * 0.1 + 1.05 * 9e-3));
    rig_close(&r);
}

static void pays_always_or_never(void **state)
{
    (void)state;
    struct rig r = rig_open(8, 0, 0, 0);
    r.s.timing.compute_s = 0;
    struct cc_paying pays = paying(&r);
    assert_true(pays.ever && pays.from_bps == 0 && isinf(pays.below_bps));
    /* Beside 100 ms of computing, the network is too little to gain 5% from some bandwidth on. */
    r.s.timing.compute_s = 0.1;
    assert_near(paying(&r).below_bps, (640e6 - 1.05 * 160e6) / (0.05 * 0.1));
    rig_close(&r);
    r = rig_open(31, 0, 0, 0); /* 3% smaller */
    assert_false(paying(&r).ever);
    rig_close(&r);
    r = rig_open(33, 1, 1, 1);
    assert_false(paying(&r).ever);
    rig_close(&r);
}

/* The reverse: with the raw and the coded payload exchanged, the scheme pays above some rate:
 * 1.05 (100 ms + 640 Mbit / B) = 100 ms + 15 ms + 160 Mbit / B. */
static void pays_from(void **state)
{
    (void)state;
    struct rig r = rig_open(8, 2, 1, 1);
    struct cc_step_payloads raw = r.raw;
    r.raw = r.coded;
    r.coded = raw;
    struct cc_paying pays = paying(&r);
    assert_true(pays.ever && pays.ranges == 1 && isinf(pays.below_bps));
    assert_near(pays.from_bps, (1.05 * 640e6 - 160e6) / (15e-3 - 0.05 * 0.1));
    rig_close(&r);
}

/* --- the baseline at its best --- */

/* A million values, 10 workers, 1 Gbit/s, no latency: through a server 2 x 320 ms. In a ring 2 x
 * 9/10 x 32 ms = 57.6 ms, which overlap the backward pass of a single tensor not at all. */
static void best_choice(void **state)
{
    (void)state;
    struct rig r = rig_open(8, 2, 1, 1);
    struct cc_best best;
    struct cc_prediction own;
    assert_int_equal(cc_verdict_best(&r.p, &r.s, &r.raw, &best, &e), CC_OK);
    assert_true(best.choice.exchange == CC_RING && best.choice.cut != CC_CUT_OWN);
    assert_near(best.p.step_s, 0.1576);
    char text[96];
    cc_choice_print(&best.choice, text, sizeof text);
    assert_string_equal(text, "ring, sequential");
    /* No choice is better than the setting's own: the own one. */
    r.s.exchange = CC_RING;
    assert_int_equal(cc_verdict_best(&r.p, &r.s, &r.raw, &best, &e), CC_OK);
    assert_true(best.choice.cut == CC_CUT_OWN);
    /* The choice is the least of all predictions. */
    struct cc_choice all[CC_MOST_CHOICES];
    r.s.exchange = CC_PS;
    r.s.link.latency_s = 1e-3;
    const size_t count = cc_choices(&r.s, all);
    assert_true(count > 10 && all[0].cut == CC_CUT_OWN);
    assert_int_equal(cc_verdict_best(&r.p, &r.s, &r.raw, &best, &e), CC_OK);
    for (size_t i = 0; i < count; i++) {
        struct cc_setting s = r.s;
        cc_choice_apply(&all[i], &s);
        assert_true(all[i].mode != CC_PIPE);
        assert_int_equal(cc_predict(&r.p, &s, &r.raw, &own, &e), CC_OK);
        assert_true(best.p.step_s <= own.step_s);
    }
    r.s.timing.mode = CC_PIPE;
    assert_true(cc_choices(&r.s, all) > count);
    /* With stragglers the choice has their wait, too. */
    r.s.timing = (struct cc_timing){.compute_s = 0.1,
                                    .forward_share = 1.0 / 3,
                                    .fuse_bytes = -1,
                                    .first_fuse_bytes = -1,
                                    .depth = 2,
                                    .straggler = CC_LOGNORMAL,
                                    .spread = 0.5};
    assert_int_equal(cc_verdict_best(&r.p, &r.s, &r.raw, &best, &e), CC_OK);
    assert_true(best.choice.exchange != CC_PS && best.p.step_s > 0.2);
    rig_close(&r);
}

/* int8 through a server takes 2 x 80 ms + 15 ms at 1 Gbit/s, fp32 in a ring 57.6 ms: against fp32
 * at its best it never pays, whatever the bandwidth. In a ring it takes 14.4 ms + E 2 + 0.9 A + 0.9
 * E + D 1 ms = 5.7 ms, which pays where 1.05 (100 ms + 5.7 ms + 14.4 Mbit / B) is less than 100 ms
 * + 57.6 Mbit / B, and 0.9 D less, as chunks are decoded while the next ones come. */
static void pays_against_the_best(void **state)
{
    (void)state;
    struct rig r = rig_open(8, 2, 1, 1);
    struct cc_baseline best;
    struct cc_paying pays;
    assert_int_equal(cc_baseline_open(&r.p, &r.s, &r.raw, &best, &e), CC_OK);
    assert_true(best.choices >= 2 && best.choice[0].cut == CC_CUT_OWN);
    assert_int_equal(cc_advice_paying(&best, &r.s, &r.coded, &pays, &e), CC_OK);
    assert_false(pays.ever);
    double step;
    assert_int_equal(cc_baseline_step(&best, 2e9, 1, &step, &e), CC_OK);
    assert_near(step, 0.1288);
    r.s.exchange = CC_RING;
    assert_int_equal(cc_baseline_open(&r.p, &r.s, &r.raw, &best, &e), CC_OK);
    assert_int_equal(cc_advice_paying(&best, &r.s, &r.coded, &pays, &e), CC_OK);
    struct cc_prediction p;
    assert_int_equal(cc_predict(&r.p, &r.s, &r.coded, &p, &e), CC_OK);
    const double shown = p.codec_s - 0.9e-3;
    assert_near(pays.below_bps, (57.6e6 - 1.05 * 14.4e6) / (0.05 * 0.1 + 1.05 * shown));
    rig_close(&r);
}

/* Through a server at 1 Gbit/s, fp32 takes 740 ms, and int8 260 ms and 15 ms of codec: it is 5%
 * faster where 15 ms / X = 740 ms / 1.05 - 260 ms. 31 bits instead of 32 save 20 ms, too little. */
static void codec_speed(void **state)
{
    (void)state;
    const double turns = 15 / (740 / 1.05 - 260);
    struct rig r = rig_open(8, 2, 1, 1);
    struct cc_baseline own;
    double factor = 0;
    cc_baseline_own(&r.p, &r.s, &r.raw, &own);
    assert_int_equal(cc_advice_codec_speed(&own, &r.s, &r.coded, &factor, &e), CC_OK);
    assert_true(fabs(factor / turns - 1) < 1e-3);
    /* Twice as fast codecs to begin with. */
    r.s.codec_speed = 2;
    cc_baseline_own(&r.p, &r.s, &r.raw, &own);
    assert_int_equal(cc_advice_codec_speed(&own, &r.s, &r.coded, &factor, &e), CC_OK);
    assert_true(fabs(factor / (turns / 2) - 1) < 1e-3);
    rig_close(&r);
    r = rig_open(31, 2, 1, 1);
    cc_baseline_own(&r.p, &r.s, &r.raw, &own);
    assert_int_equal(cc_advice_codec_speed(&own, &r.s, &r.coded, &factor, &e), CC_OK);
    assert_true(isinf(factor));
    rig_close(&r);
    r = rig_open(8, 0, 0, 0);
    cc_baseline_own(&r.p, &r.s, &r.raw, &own);
    assert_int_equal(cc_advice_codec_speed(&own, &r.s, &r.coded, &factor, &e), CC_OK);
    assert_true(factor == 0);
    rig_close(&r);
}

/* --- which schemes a verdict may name --- */

static void rulings(void **state)
{
    (void)state;
    const struct cc_verdict_limits usual = {.sum_error = CC_VERDICT_MAX_ERROR};
    struct cc_accuracy a = {
        .error = 0.25, .low = 0.125, .high = 0.5, .encodings = 2, .lossy = true};
    char why[64];
    assert_true(cc_accuracy_sum_error(&a) == 0.5);
    assert_int_equal(cc_verdict_rule(&usual, &a), CC_ADMITTED);
    /* The sum's interval is 0.25 to 1: the limit is its upper end. */
    assert_false(cc_verdict_uncertain(&usual, &a));
    a.encodings = 4; /* an error of 1, the limit itself, in 0.5 to 2 */
    assert_int_equal(cc_verdict_rule(&usual, &a), CC_ADMITTED);
    assert_true(cc_verdict_uncertain(&usual, &a));
    a.encodings = 5; /* 1.25, in 0.625 to 2.5 */
    assert_int_equal(cc_verdict_rule(&usual, &a), CC_OUT_ERROR);
    assert_true(cc_verdict_uncertain(&usual, &a));
    cc_ruling_print(CC_OUT_ERROR, &usual, &a, why, sizeof why);
    assert_string_equal(why, "sum_error above 1");
    a.encodings = 9; /* 1.125 to 4.5 */
    assert_false(cc_verdict_uncertain(&usual, &a));
    const struct cc_verdict_limits loose = {.sum_error = 1e9}, exact = {1, .lossless = true};
    assert_int_equal(cc_verdict_rule(&loose, &a), CC_ADMITTED);
    assert_int_equal(cc_verdict_rule(&exact, &a), CC_OUT_LOSSY);
    /* Trainings decide in place of errors, of lossy schemes. */
    const struct cc_verdict_limits trained = {.sum_error = 1, .by = CC_BY_TRAININGS, .lost = 0.01};
    a.lost = 0.01;
    assert_int_equal(cc_verdict_rule(&trained, &a), CC_ADMITTED);
    a.lost = 0.0241;
    assert_int_equal(cc_verdict_rule(&trained, &a), CC_OUT_LOST);
    cc_ruling_print(CC_OUT_LOST, &trained, &a, why, sizeof why);
    assert_string_equal(why, "lost 2.41 points");
    a.lost = INFINITY;
    assert_int_equal(cc_verdict_rule(&trained, &a), CC_OUT_DIVERGED);
    a.lost = NAN;
    assert_int_equal(cc_verdict_rule(&trained, &a), CC_OUT_UNTRAINED);
    assert_false(cc_verdict_uncertain(&trained, &a));
    /* The program's own: a scheme without one is untried; the error counts where an exchange
     * encodes sums more often than these trainings, or keeps a part of them. */
    const struct cc_verdict_limits own = {.sum_error = 1, .by = CC_BY_EVIDENCE, .lost = 0.01};
    assert_int_equal(cc_verdict_rule(&own, &a), CC_OUT_UNTRIED);
    a.lost = 0.009, a.lost_low = 0.002, a.lost_high = 0.0099;
    a.encodings = 2;
    a.error = 5;
    assert_int_equal(cc_verdict_rule(&own, &a), CC_ADMITTED);
    assert_false(cc_verdict_uncertain(&own, &a));
    a.lost_high = 0.0101;
    assert_true(cc_verdict_uncertain(&own, &a));
    a.lost_high = 0.0099;
    a.encodings = 2.5;
    assert_int_equal(cc_verdict_rule(&own, &a), CC_OUT_ERROR);
    a.error = 0.25; /* 0.625, in 0.3 to 1.25 */
    assert_int_equal(cc_verdict_rule(&own, &a), CC_ADMITTED);
    assert_true(cc_verdict_uncertain(&own, &a));
    a.encodings = NAN;
    assert_int_equal(cc_verdict_rule(&own, &a), CC_OUT_UNPREDICTED);
    /* What was lost may lie within the limit, but the error does not. */
    a.encodings = 9;
    a.lost = 0.011, a.lost_high = 0.02;
    assert_int_equal(cc_verdict_rule(&own, &a), CC_OUT_LOST);
    assert_false(cc_verdict_uncertain(&own, &a));
    a.encodings = 2;
    assert_true(cc_verdict_uncertain(&own, &a));
    a.encodings = 9;
    a.lost = 0.011;
    assert_int_equal(cc_verdict_rule(&own, &a), CC_OUT_LOST);
    a.lost = INFINITY;
    assert_int_equal(cc_verdict_rule(&own, &a), CC_OUT_DIVERGED);
    a.lossy = false; /* a lossless scheme needs no training */
    a.error = 0, a.lost = NAN;
    assert_int_equal(cc_verdict_rule(&own, &a), CC_ADMITTED);
    a.lossy = true, a.error = 0.25;
    a.absolute = "tau";
    assert_int_equal(cc_verdict_rule(&loose, &a), CC_OUT_ABSOLUTE);
    a.absolute = NULL;
    a.low = a.high = NAN; /* one step */
    assert_false(cc_verdict_uncertain(&usual, &a));
    a.encodings = NAN; /* the sum is not kept whole */
    assert_int_equal(cc_verdict_rule(&loose, &a), CC_OUT_UNPREDICTED);
    assert_false(cc_verdict_uncertain(&loose, &a));
    a.error = NAN;
    assert_int_equal(cc_verdict_rule(&loose, &a), CC_OUT_UNKNOWN);
    a.by_shape = true;
    assert_int_equal(cc_verdict_rule(&loose, &a), CC_OUT_BY_SHAPE);
    a.error = 0.5; /* known, as of vectors */
    a.encodings = 1;
    assert_int_equal(cc_verdict_rule(&loose, &a), CC_ADMITTED);
    cc_ruling_print(CC_ADMITTED, &usual, &a, why, sizeof why);
    assert_string_equal(why, "");
}

/* --- errors: one value through each algorithm, with variances --- */

/* A partial sum of `members` gradients of variance 1. Each encoding adds an error of the sum's own
 * size. */
struct part {
    double members, error;
};

static struct part coded(struct part p)
{
    p.error += p.members;
    return p;
}

static struct part plus(struct part a, struct part b)
{
    return (struct part){a.members + b.members, a.error + b.error};
}

static double round_a_ring(int workers)
{
    struct part sum = {1, 0};
    for (int i = 1; i < workers; i++)
        sum = plus(coded(sum), (struct part){1, 0});
    return coded(sum).error / workers;
}

/* The owner adds what all others have encoded to its own, and encodes that. */
static double two_shots(int workers)
{
    struct part sum = {1, 0};
    for (int i = 1; i < workers; i++)
        sum = plus(sum, coded((struct part){1, 0}));
    return coded(sum).error / workers;
}

/* Hosts beyond the power of two first add their gradients to others'. Then hosts i and i + d
 * exchange their sums, and each also uses the encoded form of its own; or, with halving, one gives
 * and the other keeps: the first keeps if bit d of the value's place is 0. */
static double by_pairs(int workers, int power, bool halving, int place)
{
    struct part host[32];
    for (int i = 0; i < workers; i++)
        host[i] = (struct part){1, 0};
    for (int i = power; i < workers; i++)
        host[i - power] = plus(host[i - power], coded(host[i]));
    for (int d = power / 2; d >= 1; d /= 2)
        for (int i = 0; i < d; i++) {
            bool first = halving && (place & d) == 0, second = halving && !first;
            host[i] =
                plus(first ? host[i] : coded(host[i]), second ? host[i + d] : coded(host[i + d]));
        }
    assert_true(host[0].members == workers);
    bool last = halving || power < workers;
    return (last ? coded(host[0]) : host[0]).error / workers;
}

/* The error of a value, averaged over its places. */
static double pairs(int workers, bool halving)
{
    int power = 1;
    double sum = 0;
    while (2 * power <= workers)
        power *= 2;
    for (int place = 0; place < power; place++)
        sum += by_pairs(workers, power, halving, place);
    return sum / power;
}

static double of(enum cc_exchange x, enum cc_reduction r, enum cc_via via, int workers)
{
    const struct cc_cluster c = {.workers = workers, .via = via};
    return cc_exchange_encodings(x, r, &c);
}

/* Inside a host, then between hosts, then the whole sum. */
static double three_shots(int hosts, int ranks)
{
    struct part host = {1, 0}, sum;
    for (int i = 1; i < ranks; i++)
        host = plus(host, coded((struct part){1, 0}));
    sum = host;
    for (int i = 1; i < hosts; i++)
        sum = plus(sum, coded(host));
    return coded(sum).error / (hosts * ranks);
}

static void encodings(void **state)
{
    (void)state;
    const enum cc_reduction any = CC_REDUCE_DECODED;
    for (int p = 2; p <= 17; p++) {
        assert_near(of(CC_RING, any, CC_VIA_HOPS, p), round_a_ring(p));
        assert_near(of(CC_RECDOUBLE, any, CC_VIA_HOPS, p), pairs(p, false));
        assert_near(of(CC_RABENSEIFNER, any, CC_VIA_HOPS, p), pairs(p, true));
        assert_near(of(CC_TWOSHOT, any, CC_VIA_HOPS, p), two_shots(p));
        for (int ranks = 1; ranks <= 4; ranks++) {
            const struct cc_cluster c = {.workers = p * ranks, .per_host = ranks};
            assert_near(cc_exchange_encodings(CC_HIERARCHICAL, any, &c), three_shots(p, ranks));
        }
        assert_near(of(CC_PS, any, CC_VIA_HOPS, p), 2);
        assert_near(of(CC_RING, any, CC_VIA_ALLGATHER, p), 1);
        assert_near(of(CC_RING, CC_REDUCE_SUM, CC_VIA_HOPS, p), 1);
        assert_near(of(CC_SSAR_SPLIT, CC_REDUCE_PAIRS, CC_VIA_HOPS, p), 1);
        assert_near(of(CC_MPI, any, CC_VIA_HOPS, p), 1);
    }
}

static void errors_pass(void **state)
{
    (void)state;
    struct rig r = rig_open(8, 2, 1, 1);
    struct cc_baseline baseline;
    struct cc_best best;
    struct cc_paying pays;
    r.s.timing.compute_s = -1;
    cc_baseline_own(&r.p, &r.s, &r.raw, &baseline);
    assert_int_equal(cc_advice_paying(&baseline, &r.s, &r.coded, &pays, &e), CC_USAGE);
    assert_int_equal(cc_verdict_best(&r.p, &r.s, &r.raw, &best, &e), CC_USAGE);
    assert_int_equal(cc_baseline_open(&r.p, &r.s, &r.raw, &baseline, &e), CC_USAGE);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pays_below),
        cmocka_unit_test(pays_always_or_never),
        cmocka_unit_test(pays_from),
        cmocka_unit_test(best_choice),
        cmocka_unit_test(pays_against_the_best),
        cmocka_unit_test(codec_speed),
        cmocka_unit_test(rulings),
        cmocka_unit_test(encodings),
        cmocka_unit_test(errors_pass),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
