/* The judge: made-up rows, each wrong in one known way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "models/diagnosis.h"
#include "tests/lib/text.h"

/* A lab in which all is well: a step of 100 ms, 90 of them transfers, 4 latencies in 2 rounds, 2
 * the codec's. Ten workers on two cores, but they do not work at a time. */
static struct cc_comparison well(void)
{
    return (struct cc_comparison){.tolerance = 0.03,
                                  .model_s = 0.100,
                                  .sim_s = 0.101,
                                  .run_s = 0.102,
                                  .forecast_s = 0.100,
                                  .resized_s = 0.100,
                                  .exchange = CC_PS,
                                  .mode = CC_SEQUENTIAL,
                                  .latency_s = 0.004,
                                  .transfer_s = 0.090,
                                  .rounds = 2,
                                  .burst_s = 0.0001,
                                  .codec_s = 0.002,
                                  .forecast_codec_s = 0.002,
                                  .bytes = 1e6,
                                  .forecast_bytes = 1e6,
                                  .sim_bytes = 1e6,
                                  .error_s = NAN,
                                  .wire_bytes = 1.05e6,
                                  .wire_should = 1.05e6,
                                  .all_bytes = 2e6,
                                  .lab = true,
                                  .cores = 2,
                                  .ranks_per_core = 1};
}

static struct cc_diagnosis judged(struct cc_comparison t)
{
    struct cc_diagnosis v;
    memset(&v, 0x55, sizeof v);
    cc_diagnose(&t, &v);
    return v;
}

static void assert_causes(const struct cc_diagnosis *v, enum cc_cause_kind first,
                          enum cc_cause_kind second)
{
    if (v->cause[0].kind != first || v->cause[1].kind != second)
        fail_msg("\"%s\" (%s) and \"%s\" (%s) instead of \"%s\" and \"%s\"",
                 cc_cause_names[v->cause[0].kind], v->cause[0].why,
                 cc_cause_names[v->cause[1].kind], v->cause[1].why, cc_cause_names[first],
                 cc_cause_names[second]);
}

/* The row does not agree, for this reason, and the sentence has these words. */
static void expect_cause(struct cc_comparison t, enum cc_cause_kind want, const char *words)
{
    struct cc_diagnosis v = judged(t);
    assert_false(v.agree);
    assert_causes(&v, want, CC_CAUSE_NOTHING);
    assert_contains(v.cause[0].why, words);
}

static void agreement(void **state)
{
    (void)state;
    struct cc_diagnosis v = judged(well());
    assert_true(v.agree);
    assert_int_equal(v.answers, 3);
    assert_causes(&v, CC_CAUSE_NOTHING, CC_CAUSE_NOTHING);
    assert_int_equal(v.forecast.kind, CC_CAUSE_NOTHING);
    assert_string_equal(v.cause[0].why, "");
    assert_true(fabs(v.off.model_run - 2.0 / 102) < 1e-12);
    assert_true(fabs(v.off.sim_run - 1.0 / 102) < 1e-12);
    assert_true(fabs(v.off.model_sim - 1.0 / 101) < 1e-12);
    assert_true(fabs(v.off.forecast - 2.0 / 102) < 1e-12);
    /* The tolerance itself is within it, a little more is not; any two of the three count. */
    struct cc_comparison t = well();
    t.tolerance = 1.99 / 102;
    assert_false(judged(t).agree);
    t.tolerance = 2.01 / 102;
    assert_true(judged(t).agree);
    t = well();
    t.sim_s = 0.0985; /* below both, and 3.4% from the run alone */
    assert_false(judged(t).agree);
}

static void missing_answers(void **state)
{
    (void)state;
    struct cc_comparison t = well();
    t.sim_s = NAN;
    struct cc_diagnosis v = judged(t);
    assert_true(v.agree && v.answers == 2 && isnan(v.off.sim_run) && isnan(v.off.model_sim));
    t.run_s = NAN;
    v = judged(t);
    assert_true(v.agree && v.answers == 1 && isnan(v.off.forecast));
    t.sim_s = 0.101;
    v = judged(t);
    assert_true(v.agree && v.answers == 2 && isnan(v.off.sim_run));
    assert_true(fabs(v.off.forecast - 1.0 / 101) < 1e-12);
}

/* --- model and sim agree --- */

static void run_differs(void **state)
{
    (void)state;
    struct cc_comparison t = well();
    t.run_s = 0.120;
    expect_cause(t, CC_CAUSE_UNCLEAR, "run 120 ms, 16.2% above model and sim (100.5 ms): none of");
    t.lab = false;
    expect_cause(t, CC_CAUSE_LINKS, "other traffic");
    /* Which make no step shorter. */
    t.run_s = 0.080;
    expect_cause(t, CC_CAUSE_UNCLEAR, "");
    /* Two standard errors are 20 ms. */
    t = well();
    t.run_s = 0.120, t.error_s = 0.010;
    expect_cause(t, CC_CAUSE_SCATTER, "standard error of 10 ms");
    t.error_s = 0.0097;
    expect_cause(t, CC_CAUSE_UNCLEAR, "");
    /* Other bytes are no comparison, whatever the scatter. */
    t.sim_bytes = 1.01e6, t.error_s = 0.1;
    expect_cause(t, CC_CAUSE_BYTES, "1010000 bytes, the run's 1000000");
    t = well();
    t.run_s = 0.120, t.exchange = CC_MPI;
    expect_cause(t, CC_CAUSE_PROTOCOL, "chooses how it sums");
}

static void network_of_run(void **state)
{
    (void)state;
    struct cc_comparison t = well();
    t.run_s = 0.120, t.wire_bytes = 1.10e6;
    expect_cause(t, CC_CAUSE_REPEATS, "4.8% more bytes");
    t.wire_bytes = 1.06e6;
    expect_cause(t, CC_CAUSE_UNCLEAR, "");
    t.wire_bytes = NAN;
    expect_cause(t, CC_CAUSE_UNCLEAR, "");
    /* Lost segments make no step shorter. 96 ms are 4.5 below the other two: latencies are 4. */
    t = well();
    t.run_s = 0.096, t.wire_bytes = 1.10e6;
    expect_cause(t, CC_CAUSE_LATENCY, "4 ms of the formula's answer are latencies, of 2 rounds");
    /* They explain less than half of 9.5. */
    t.run_s = 0.091;
    expect_cause(t, CC_CAUSE_UNCLEAR, "10.4% below model and sim");
    /* A longer latency than assumed is no matter of the formula's latencies. */
    t.run_s = 0.105, t.wire_bytes = NAN;
    expect_cause(t, CC_CAUSE_UNCLEAR, "above");
    /* The formula counts buckets whole: 6 ms of them explain 5.5 either way. */
    t.burst_s = 0.006;
    expect_cause(t, CC_CAUSE_BURST, "what would take 6 ms");
    t.run_s = 0.096;
    expect_cause(t, CC_CAUSE_BURST, "what would take 6 ms");
    t.burst_s = 0.002, t.latency_s = 0;
    expect_cause(t, CC_CAUSE_UNCLEAR, "");
}

static void host_of_run(void **state)
{
    (void)state;
    /* Ten ranks on two cores, each with 2 ms of codec work: others' turns are up to 8 ms. */
    struct cc_comparison t = well();
    t.run_s = 0.112, t.ranks_per_core = 5;
    expect_cause(t, CC_CAUSE_OVERSUBSCRIBED,
                 "10 busy ranks take turns on 2 cores, for 2 ms of codec work");
    t.run_s = 0.120;
    expect_cause(t, CC_CAUSE_UNCLEAR, "");
    /* 12 ms of it: the first send while the last encode, for up to 9.6 ms. */
    t.run_s = 0.088, t.codec_s = 0.012;
    expect_cause(t, CC_CAUSE_OVERSUBSCRIBED,
                 "the first ones send while the last ones still encode");
    t.codec_s = 0.006;
    expect_cause(t, CC_CAUSE_UNCLEAR, "");
    /* A step of two rounds: half a millisecond each. */
    t = well();
    t.model_s = 0.010, t.sim_s = 0.010, t.run_s = 0.0106, t.forecast_s = NAN;
    expect_cause(t, CC_CAUSE_WAKING, "2 rounds is so short");
    t.run_s = 0.0125;
    expect_cause(t, CC_CAUSE_UNCLEAR, "");
    /* 10 MB in 12 ms: 6.7 Gbit/s, where two cores carry 4. */
    t.all_bytes = 1e7, t.transfer_s = 0.0095;
    expect_cause(t, CC_CAUSE_CORES, "2 cores carry 6.67 Gbit/s");
    t.cores = 4;
    expect_cause(t, CC_CAUSE_UNCLEAR, "");
}

/* --- sim and run agree --- */

static void model_differs(void **state)
{
    (void)state;
    struct cc_comparison t = well();
    t.model_s = 0.080;
    expect_cause(t, CC_CAUSE_UNCLEAR, "sim and run 101.5 ms, 21.2% above model (80 ms)");
    /* It counts 22 ms for what the buckets save; there they save 0.5. */
    t.burst_s = 0.022;
    expect_cause(t, CC_CAUSE_BURST, "in the run they save less");
    t.burst_s = 0.010;
    expect_cause(t, CC_CAUSE_UNCLEAR, "");
    t.mode = CC_OVERLAP;
    expect_cause(t, CC_CAUSE_CONTENTION, "share links unevenly");
    t.model_s = 0.120;
    expect_cause(t, CC_CAUSE_COMPOSITION, "follow one another");
    t.mode = CC_SEQUENTIAL, t.exchange = CC_RING;
    expect_cause(t, CC_CAUSE_COMPOSITION, "");
    t.model_s = 0.080;
    expect_cause(t, CC_CAUSE_CONTENTION, "");
    t.stragglers = true;
    expect_cause(t, CC_CAUSE_STRAGGLERS, "some draws");
    t.elsewhere = true;
    expect_cause(t, CC_CAUSE_TOPOLOGY, "sim and run");
    t.exchange = CC_MPI;
    expect_cause(t, CC_CAUSE_PROTOCOL, "");
    /* A run that says the same as the simulation vouches for what that knows of TCP. */
    t = well();
    t.model_s = 0.080, t.tcp = true;
    expect_cause(t, CC_CAUSE_UNCLEAR, "");
    /* The run's scatter is no excuse: the simulation says the same as it. */
    t = well();
    t.model_s = 0.080, t.error_s = 0.1;
    expect_cause(t, CC_CAUSE_UNCLEAR, "");
}

/* --- model and run agree --- */

static void sim_differs(void **state)
{
    (void)state;
    struct cc_comparison t = well();
    t.sim_s = 0.120;
    expect_cause(t, CC_CAUSE_FIDELITY, "sim 120 ms, 15.8% above model and run (101 ms)");
    t.burst_s = 0.018;
    expect_cause(t, CC_CAUSE_BURST, "18 ms, the simulation has none");
    /* Without buckets it would be longer, not shorter. */
    t.sim_s = 0.080;
    expect_cause(t, CC_CAUSE_FIDELITY, "below");
    t.exchange = CC_MPI;
    expect_cause(t, CC_CAUSE_PROTOCOL, "");
    t.sim_bytes = 0.5e6;
    expect_cause(t, CC_CAUSE_BYTES, "");
}

/* --- none agrees --- */

static void all_differ(void **state)
{
    (void)state;
    struct cc_comparison t = well();
    struct cc_diagnosis v;
    /* Messages that overlap, in order: between the formula and the simulation. */
    t.mode = CC_OVERLAP;
    t.model_s = 0.080, t.sim_s = 0.120, t.run_s = 0.090;
    v = judged(t);
    assert_causes(&v, CC_CAUSE_CONTENTION, CC_CAUSE_FIDELITY);
    assert_contains(v.cause[1].why, "one after another");
    t.mode = CC_SEQUENTIAL;
    v = judged(t);
    assert_causes(&v, CC_CAUSE_UNCLEAR, CC_CAUSE_UNCLEAR);
    t = well();
    t.mode = CC_OVERLAP;
    t.model_s = 0.080, t.sim_s = 0.101, t.run_s = 0.110, t.ranks_per_core = 5;
    v = judged(t);
    assert_causes(&v, CC_CAUSE_CONTENTION, CC_CAUSE_OVERSUBSCRIBED);
    assert_contains(v.cause[0].why, "sim 101 ms, 20.8% above model (80 ms)");
    assert_contains(v.cause[1].why, "run 110 ms, 8.2% above sim (101 ms)");
    /* The graver one first. */
    t.model_s = 0.096, t.codec_s = 0.010, t.run_s = 0.130;
    v = judged(t);
    assert_causes(&v, CC_CAUSE_OVERSUBSCRIBED, CC_CAUSE_CONTENTION);
}

/* --- two answers --- */

static void without_sim(void **state)
{
    (void)state;
    struct cc_comparison t = well();
    t.sim_s = NAN, t.run_s = 0.120;
    expect_cause(t, CC_CAUSE_UNCLEAR, "run 120 ms, 16.7% above model (100 ms)");
    t.mode = CC_PIPE;
    expect_cause(t, CC_CAUSE_CONTENTION, "");
    t.ranks_per_core = 5, t.codec_s = 0.010; /* which is a cause where steps follow one another */
    expect_cause(t, CC_CAUSE_CONTENTION, "");
    t.mode = CC_SEQUENTIAL, t.exchange = CC_RING;
    expect_cause(t, CC_CAUSE_OVERSUBSCRIBED, "");
    t.ranks_per_core = 1;
    expect_cause(t, CC_CAUSE_CONTENTION, "");
    t.mode = CC_PIPE, t.exchange = CC_PS;
    t.run_s = 0.080;
    expect_cause(t, CC_CAUSE_COMPOSITION, "");
    t.stragglers = true;
    expect_cause(t, CC_CAUSE_STRAGGLERS, "");
    t.sim_bytes = 5; /* of no simulation */
    expect_cause(t, CC_CAUSE_STRAGGLERS, "");
}

/* What the formula leaves out comes before what may be wrong with the links. */
static void cluster_without_sim(void **state)
{
    (void)state;
    struct cc_comparison t = well();
    t.lab = false, t.sim_s = NAN, t.run_s = 0.120;
    expect_cause(t, CC_CAUSE_LINKS, "other traffic");
    t.exchange = CC_RING;
    expect_cause(t, CC_CAUSE_CONTENTION, "");
    t.run_s = 0.080;
    expect_cause(t, CC_CAUSE_COMPOSITION, "");
    t.exchange = CC_PS;
    expect_cause(t, CC_CAUSE_UNCLEAR, "");
}

static void without_run(void **state)
{
    (void)state;
    struct cc_comparison t = well();
    t.run_s = NAN, t.sim_s = 0.120;
    expect_cause(t, CC_CAUSE_UNCLEAR, "sim 120 ms, 16.7% above model (100 ms)");
    t.burst_s = 0.018;
    expect_cause(t, CC_CAUSE_BURST, "the simulation has none");
    t.burst_s = 0, t.mode = CC_OVERLAP;
    expect_cause(t, CC_CAUSE_CONTENTION, "");
    t.tcp = true;
    expect_cause(t, CC_CAUSE_FIDELITY, "");
    t.stragglers = true;
    expect_cause(t, CC_CAUSE_STRAGGLERS, "");
    t.elsewhere = true;
    expect_cause(t, CC_CAUSE_TOPOLOGY, "one switch");
    /* Sim and run with no formula between them: the run's bucket makes it shorter. */
    t = well();
    t.model_s = NAN, t.forecast_s = NAN, t.run_s = 0.090, t.burst_s = 0.010;
    expect_cause(t, CC_CAUSE_BURST, "the simulation has none");
    t.run_s = 0.112;
    expect_cause(t, CC_CAUSE_UNCLEAR, "run 112 ms");
}

/* --- the forecast --- */

static void forecast_of(struct cc_comparison t, enum cc_cause_kind want, const char *words)
{
    struct cc_diagnosis v = judged(t);
    if (v.forecast.kind != want || strstr(v.forecast.why, words) == NULL)
        fail_msg("\"%s\" (%s) instead of \"%s\" (%s)", cc_cause_names[v.forecast.kind],
                 v.forecast.why, cc_cause_names[want], words);
}

static void forecasts(void **state)
{
    (void)state;
    /* 150 ms were said, with payloads of 1.6 MB; smaller ones alone would have made it 105. */
    struct cc_comparison t = well();
    t.forecast_s = 0.150, t.resized_s = 0.105, t.forecast_bytes = 1.6e6;
    assert_true(judged(t).agree);
    forecast_of(t, CC_CAUSE_SIZES,
                "1000 kB a step instead of the profile's 1600, which is -45 ms of -48");
    /* 70 ms were said, the codec took 30 instead of 2. */
    t = well();
    t.forecast_s = t.resized_s = 0.070, t.codec_s = 0.030;
    forecast_of(t, CC_CAUSE_CODECS, "codecs take 30 ms instead of the profile's 2, which is +30");
    t.ranks_per_core = 5;
    forecast_of(t, CC_CAUSE_OVERSUBSCRIBED, "(10 busy ranks on 2 cores)");
    t.lab = false;
    forecast_of(t, CC_CAUSE_CODECS, "");
    /* Faster than the profile says: nobody waited for a turn. */
    t = well();
    t.ranks_per_core = 5, t.forecast_s = t.resized_s = 0.130;
    forecast_of(t, CC_CAUSE_CODECS, "");
    /* Sizes and codecs were right; the network was not. */
    t = well();
    t.run_s = 0.120, t.wire_bytes = 1.2e6;
    forecast_of(t, CC_CAUSE_REPEATS, "run 120 ms");
    /* Each a little. */
    t = well();
    t.forecast_s = 0.0985, t.resized_s = 0.0992;
    forecast_of(t, CC_CAUSE_UNCLEAR, "payload sizes are +0.7, codec times +0.8, and +2");
    /* Of the simulation, where there is no run. */
    t = well();
    t.run_s = NAN, t.forecast_s = 0.080, t.resized_s = 0.095, t.forecast_bytes = 0.8e6;
    forecast_of(t, CC_CAUSE_SIZES, "+15 ms of +21");
    /* What opposes the whole is not its reason. */
    t = well();
    t.forecast_s = 0.080, t.resized_s = 0.050;
    forecast_of(t, CC_CAUSE_CODECS, "+50 ms of +22");
}

/* --- what nobody knows --- */

/* As on a platform whose links no option describes: the formula says nothing at all. */
static struct cc_comparison no_formula(void)
{
    struct cc_comparison t = well();
    t.model_s = t.forecast_s = t.resized_s = NAN;
    t.latency_s = t.transfer_s = t.rounds = t.burst_s = NAN;
    t.lab = false;
    return t;
}

static void without_formula(void **state)
{
    (void)state;
    struct cc_comparison t = no_formula();
    struct cc_diagnosis v = judged(t);
    assert_true(v.agree && v.answers == 2);
    assert_true(isnan(v.off.model_run) && isnan(v.off.model_sim) && isnan(v.off.forecast));
    assert_int_equal(v.forecast.kind, CC_CAUSE_NOTHING);
    t.run_s = 0.120;
    expect_cause(t, CC_CAUSE_LINKS, "run 120 ms, 15.8% above sim (101 ms)");
    t.run_s = 0.080;
    expect_cause(t, CC_CAUSE_UNCLEAR, "below sim");
    t.sim_bytes = 1.01e6;
    expect_cause(t, CC_CAUSE_BYTES, "");
    t.run_s = NAN; /* a single answer contradicts nobody */
    assert_true(judged(t).agree && judged(t).answers == 1);
    /* A forecast of which nobody knows what it is made of. */
    t = well();
    t.forecast_s = 0.150, t.resized_s = NAN;
    v = judged(t);
    assert_int_equal(v.forecast.kind, CC_CAUSE_UNCLEAR);
    assert_string_equal(v.forecast.why,
                        "forecast 150 ms: what it would have been with the measured "
                        "sizes and codec times is not known");
}

static void no_nan_in(const struct cc_diagnosis *v)
{
    const char *const said[] = {v->cause[0].why, v->cause[1].why, v->forecast.why};
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++)
        if (strstr(said[i], "nan") != NULL)
            fail_msg("\"%s\"", said[i]);
}

/* Whatever is missing, no sentence says "nan", and a difference has a reason. */
static void nothing_says_nan(void **state)
{
    (void)state;
    static const double times[] = {NAN, 0.010, 0.096, 0.100, 0.104, 0.120};
    enum { TIMES = sizeof times / sizeof times[0], UNKNOWN = 6 };
    for (unsigned at = 0; at < TIMES * TIMES * TIMES * TIMES << UNKNOWN; at++) {
        unsigned which = at >> UNKNOWN;
        struct cc_comparison t = well();
        t.run_s = times[which % TIMES], t.sim_s = times[which / TIMES % TIMES];
        t.model_s = times[which / TIMES / TIMES % TIMES];
        t.forecast_s = times[which / TIMES / TIMES / TIMES];
        t.resized_s = (at & 1) != 0 ? NAN : 0.100;
        t.burst_s = (at & 2) != 0 ? NAN : 0.002;
        if ((at & 4) != 0)
            t.latency_s = t.transfer_s = t.rounds = NAN;
        if ((at & 8) != 0)
            t.wire_bytes = t.wire_should = t.all_bytes = NAN;
        t.mode = (at & 16) != 0 ? CC_OVERLAP : CC_SEQUENTIAL;
        t.lab = (at & 32) != 0;
        struct cc_diagnosis v = judged(t);
        no_nan_in(&v);
        assert_int_equal(v.cause[0].kind == CC_CAUSE_NOTHING, v.agree);
    }
}

static void names(void **state)
{
    (void)state;
    size_t count = 0;
    while (cc_cause_names[count] != NULL)
        count++;
    assert_int_equal(count, CC_CAUSE_UNCLEAR + 1);
    assert_string_equal(cc_cause_names[CC_CAUSE_NOTHING], "");
    assert_string_equal(cc_cause_names[CC_CAUSE_CONTENTION], "contention");
    assert_string_equal(cc_cause_names[CC_CAUSE_SIZES], "payload sizes");
    assert_string_equal(cc_cause_names[CC_CAUSE_UNCLEAR], "unclear");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agreement),       cmocka_unit_test(missing_answers),
        cmocka_unit_test(run_differs),     cmocka_unit_test(network_of_run),
        cmocka_unit_test(host_of_run),     cmocka_unit_test(model_differs),
        cmocka_unit_test(sim_differs),     cmocka_unit_test(all_differ),
        cmocka_unit_test(without_sim),     cmocka_unit_test(without_run),
        cmocka_unit_test(forecasts),       cmocka_unit_test(cluster_without_sim),
        cmocka_unit_test(without_formula), cmocka_unit_test(nothing_says_nan),
        cmocka_unit_test(names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
