/* Advice: where a scheme pays, and how many workers are enough, against algebra by hand and against
 * trying every number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "models/advice.h"

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

static struct cc_paying paying(struct rig *r)
{
    struct cc_paying pays;
    assert_int_equal(cc_advice_paying(&r->p, &r->s, &r->coded, &r->raw, &pays, &e), CC_OK);
    return pays;
}

static void assert_near(double got, double want)
{
    if (!(fabs(got / want - 1) < 1e-5))
        fail_msg("%.9g instead of %.9g", got, want);
}

/* Ten workers and a server: ten payloads pass its port each way, each of them 24 bits a value
 * smaller than fp32. The codec: a worker encodes (2 ms), the server adds ten (10 ms) and encodes (2
 * ms), a worker decodes (1 ms). 2 x 10 x 10^6 x 24 bits / 15 ms = 32 Gbit/s. */
static void pays_below(void **state)
{
    (void)state;
    struct rig r = rig_open(8, 2, 1, 1);
    struct cc_paying pays = paying(&r);
    assert_true(pays.ever && pays.from_bps == 0 && pays.ranges == 1);
    assert_near(pays.below_bps, 32e9);
    /* Each of two servers handles half of the values: 5 ms and 1 ms, and half of the bits at its
     * port. A worker's own port carries a tenth of the total. 10 x 10^6 x 24 / (2 + 6 + 1) ms. */
    r.s.cluster.servers = 2;
    assert_near(paying(&r).below_bps, 240e6 / 9e-3);
    rig_close(&r);
}

static void pays_always_or_never(void **state)
{
    (void)state;
    struct rig r = rig_open(8, 0, 0, 0);
    struct cc_paying pays = paying(&r);
    assert_true(pays.ever && pays.from_bps == 0 && isinf(pays.below_bps));
    rig_close(&r);
    r = rig_open(32, 0, 0, 0); /* no difference */
    assert_false(paying(&r).ever);
    rig_close(&r);
    r = rig_open(33, 1, 1, 1);
    assert_false(paying(&r).ever);
    rig_close(&r);
}

/* The reverse: with the raw and the coded payload exchanged, the scheme pays above that rate. */
static void pays_from(void **state)
{
    (void)state;
    struct rig r = rig_open(8, 2, 1, 1);
    struct cc_step_payloads raw = r.raw;
    r.raw = r.coded;
    r.coded = raw;
    struct cc_paying pays = paying(&r);
    assert_true(pays.ever && pays.ranges == 1 && isinf(pays.below_bps));
    assert_near(pays.from_bps, 32e9);
    rig_close(&r);
}

/* The smallest number of workers that is not worth doubling, by trying them all. */
static int tried(struct rig *r, const struct cc_step_payloads *payloads, int most)
{
    struct cc_prediction now, twice;
    for (int workers = 1; workers <= most; workers++) {
        r->s.cluster.workers = workers;
        assert_int_equal(cc_predict(&r->p, &r->s, payloads, &now, &e), CC_OK);
        r->s.cluster.workers = 2 * workers;
        assert_int_equal(cc_predict(&r->p, &r->s, payloads, &twice, &e), CC_OK);
        if (2 / twice.step_s < 1.25 / now.step_s)
            return workers;
    }
    return 0;
}

static int enough(struct rig *r, const struct cc_step_payloads *payloads)
{
    int workers = -1, most = 0;
    assert_int_equal(cc_advice_workers(&r->p, &r->s, payloads, &workers, &most, &e), CC_OK);
    assert_true(most == 65536 || most == 256);
    return workers;
}

/* fp32 on one server at 1 Gbit/s: a step takes 100 ms + 64 ms for each worker. Twice the workers
 * achieve 1.25 times as much where 64 P = 1.5 x 100: between 2 and 3. */
static void enough_workers(void **state)
{
    (void)state;
    struct rig r = rig_open(8, 2, 1, 1);
    assert_int_equal(enough(&r, &r.raw), 3);
    r.s.timing.compute_s = 10; /* 15 s / 64 ms = 234.4 */
    assert_int_equal(enough(&r, &r.raw), 235);
    r.s.timing.compute_s = 0; /* a second worker adds nothing */
    assert_int_equal(enough(&r, &r.raw), 1);
    r.s.timing.compute_s = 0.1;
    assert_int_equal(enough(&r, &r.coded), tried(&r, &r.coded, 1000));
    r.s.exchange = CC_RING; /* without latency there is no limit */
    assert_int_equal(enough(&r, &r.raw), 0);
    r.s.link.latency_s = 1e-4;
    int ring = enough(&r, &r.raw);
    assert_true(ring > 100);
    assert_int_equal(ring, tried(&r, &r.raw, 100000));
    rig_close(&r);
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

static void encodings(void **state)
{
    (void)state;
    const enum cc_reduction any = CC_REDUCE_DECODED;
    for (int p = 2; p <= 17; p++) {
        assert_near(cc_exchange_encodings(CC_RING, any, CC_VIA_HOPS, p), round_a_ring(p));
        assert_near(cc_exchange_encodings(CC_RECDOUBLE, any, CC_VIA_HOPS, p), pairs(p, false));
        assert_near(cc_exchange_encodings(CC_RABENSEIFNER, any, CC_VIA_HOPS, p), pairs(p, true));
        assert_near(cc_exchange_encodings(CC_PS, any, CC_VIA_HOPS, p), 2);
        assert_near(cc_exchange_encodings(CC_RING, any, CC_VIA_ALLGATHER, p), 1);
        assert_near(cc_exchange_encodings(CC_RING, CC_REDUCE_SUM, CC_VIA_HOPS, p), 1);
        assert_near(cc_exchange_encodings(CC_SSAR_SPLIT, CC_REDUCE_PAIRS, CC_VIA_HOPS, p), 1);
        assert_near(cc_exchange_encodings(CC_MPI, any, CC_VIA_HOPS, p), 1);
    }
}

static void errors_pass(void **state)
{
    (void)state;
    struct rig r = rig_open(8, 2, 1, 1);
    struct cc_paying pays;
    int workers, most;
    r.s.timing.compute_s = -1;
    assert_int_equal(cc_advice_paying(&r.p, &r.s, &r.coded, &r.raw, &pays, &e), CC_USAGE);
    assert_int_equal(cc_advice_workers(&r.p, &r.s, &r.coded, &workers, &most, &e), CC_USAGE);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pays_below), cmocka_unit_test(pays_always_or_never),
        cmocka_unit_test(pays_from),  cmocka_unit_test(enough_workers),
        cmocka_unit_test(encodings),  cmocka_unit_test(errors_pass),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
