/* Diagnoses of made-up rows, each wrong in one known way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "models/diagnosis.h"
#include "tests/lib/text.h"

/* A lab in which all answers agree: a step of 100 ms, 90 of them transfers, 4 latencies in 2
 * rounds, 2 the codec's. Ten workers on two cores, which do not work at the same time. */
static struct cc_comparison agreeing(void)
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

static struct cc_diagnosis diagnosed(struct cc_comparison t)
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

/* Asserts that the row does not agree, for this one cause, and that the sentence contains the
 * part. */
static void expect_cause(struct cc_comparison t, enum cc_cause_kind want, const char *part)
{
    struct cc_diagnosis v = diagnosed(t);
    assert_false(v.agree);
    assert_causes(&v, want, CC_CAUSE_NOTHING);
    assert_contains(v.cause[0].why, part);
}

static void forecast_of(struct cc_comparison t, enum cc_cause_kind want, const char *part)
{
    struct cc_diagnosis v = diagnosed(t);
    if (v.forecast.kind != want || strstr(v.forecast.why, part) == NULL)
        fail_msg("\"%s\" (%s) instead of \"%s\" (%s)", cc_cause_names[v.forecast.kind],
                 v.forecast.why, cc_cause_names[want], part);
}

/* One case: `t` is the comparison in which all agrees, with the given changes. It must not agree,
 * for this cause, with this part in the sentence. */
#define CASE(cause, part, ...)                                                                     \
    do {                                                                                           \
        struct cc_comparison t = agreeing();                                                       \
        __VA_ARGS__;                                                                               \
        expect_cause(t, cause, part);                                                              \
    } while (0)

/* The same for the cause of a wrong forecast, whether the row agrees or not. */
#define FORECAST(cause, part, ...)                                                                 \
    do {                                                                                           \
        struct cc_comparison t = agreeing();                                                       \
        __VA_ARGS__;                                                                               \
        forecast_of(t, cause, part);                                                               \
    } while (0)

static void agreement(void **state)
{
    (void)state;
    struct cc_diagnosis v = diagnosed(agreeing());
    assert_true(v.agree);
    assert_int_equal(v.answers, 3);
    assert_causes(&v, CC_CAUSE_NOTHING, CC_CAUSE_NOTHING);
    assert_int_equal(v.forecast.kind, CC_CAUSE_NOTHING);
    assert_string_equal(v.cause[0].why, "");
    assert_true(fabs(v.off.model_run - 2.0 / 102) < 1e-12);
    assert_true(fabs(v.off.sim_run - 1.0 / 102) < 1e-12);
    assert_true(fabs(v.off.model_sim - 1.0 / 101) < 1e-12);
    assert_true(fabs(v.off.forecast - 2.0 / 102) < 1e-12);
    /* A difference within the tolerance agrees, a little more does not; any two of the three
     * answers count. */
    struct cc_comparison t = agreeing();
    t.tolerance = 1.99 / 102;
    assert_false(diagnosed(t).agree);
    t.tolerance = 2.01 / 102;
    assert_true(diagnosed(t).agree);
    t = agreeing();
    t.sim_s = 0.0985; /* below both, and 3.4% from the run alone */
    assert_false(diagnosed(t).agree);
}

/* Computing is the same in all answers and cannot make them agree: a network that takes no time, or
 * half of what it should. */
static void what_is_added(void **state)
{
    (void)state;
    struct cc_comparison t = agreeing();
    t.model_s += 0.9;
    t.sim_s += 0.9;
    t.run_s += 0.9;
    t.compute_s = t.sim_compute_s = 0.9;
    struct cc_diagnosis v = diagnosed(t);
    assert_true(v.agree && v.adds);
    assert_true(fabs(v.added.model_run - 2.0 / 102) < 1e-12);
    assert_true(fabs(v.off.model_run - 2.0 / 1002) < 1e-12);
    t.model_s = 0.995;
    v = diagnosed(t);
    assert_true(fabs(v.off.model_run) < 0.01 && fabs(v.added.model_run) > 0.06);
    assert_false(v.agree);
    t.model_s = 0.9;
    assert_false(diagnosed(t).agree);
    /* The simulated workers compute a little longer: not the network's time. */
    t = agreeing();
    t.compute_s = 0;
    t.sim_compute_s = 0.05;
    t.sim_s += 0.05;
    t.tolerance = 0.5;
    v = diagnosed(t);
    assert_true(fabs(v.added.model_sim - 1.0 / 101) < 1e-12);
    /* Almost all is computing: the step says nothing of the rest. */
    t = agreeing();
    t.model_s = 4.001;
    t.sim_s = 4.002;
    t.run_s = 4.004;
    t.compute_s = t.sim_compute_s = 4;
    v = diagnosed(t);
    assert_true(v.agree && !v.adds);
}

static void missing_answers(void **state)
{
    (void)state;
    struct cc_comparison t = agreeing();
    t.sim_s = NAN;
    struct cc_diagnosis v = diagnosed(t);
    assert_true(v.agree && v.answers == 2 && isnan(v.off.sim_run) && isnan(v.off.model_sim));
    t.run_s = NAN;
    v = diagnosed(t);
    assert_true(v.agree && v.answers == 1 && isnan(v.off.forecast));
    t.sim_s = 0.101;
    v = diagnosed(t);
    assert_true(v.agree && v.answers == 2 && isnan(v.off.sim_run));
    assert_true(fabs(v.off.forecast - 1.0 / 101) < 1e-12);
}

/* --- model and sim agree --- */

static void run_differs(void **state)
{
    (void)state;
    CASE(CC_CAUSE_UNCLEAR, "model and sim 100.5 ms, 16.2% below run (120 ms): none of",
         t.run_s = 0.120);
    CASE(CC_CAUSE_LINKS, "other traffic", t.run_s = 0.120, t.lab = false);
    /* Other traffic makes no step shorter. */
    CASE(CC_CAUSE_UNCLEAR, "", t.lab = false, t.run_s = 0.080);
    /* Two standard errors are 20 ms. */
    CASE(CC_CAUSE_SCATTER, "standard error of 10 ms", t.run_s = 0.120, t.error_s = 0.010);
    CASE(CC_CAUSE_UNCLEAR, "", t.run_s = 0.120, t.error_s = 0.0097);
    /* Answers about different bytes cannot be compared, whatever the scatter. */
    CASE(CC_CAUSE_BYTES, "1010000 bytes, the run's 1000000", t.run_s = 0.120, t.sim_bytes = 1.01e6,
         t.error_s = 0.1);
    CASE(CC_CAUSE_PROTOCOL, "chooses how it sums", t.run_s = 0.120, t.exchange = CC_MPI);
}

static void network_of_run(void **state)
{
    (void)state;
    CASE(CC_CAUSE_REPEATS, "4.8% more bytes", t.run_s = 0.120, t.wire_bytes = 1.10e6);
    CASE(CC_CAUSE_UNCLEAR, "", t.run_s = 0.120, t.wire_bytes = 1.06e6);
    CASE(CC_CAUSE_UNCLEAR, "", t.run_s = 0.120, t.wire_bytes = NAN);
    /* Lost segments make no step shorter. 96 ms are 4.5 below the other two: latencies are 4. */
    CASE(CC_CAUSE_LATENCY, "4 ms of the formula's answer are latencies, of 2 rounds",
         t.run_s = 0.096, t.wire_bytes = 1.10e6);
    /* Latencies explain less than half of 9.5 ms. */
    CASE(CC_CAUSE_UNCLEAR, "10.4% above run", t.wire_bytes = 1.10e6, t.run_s = 0.091);
    /* The formula's latencies do not explain a longer step. */
    CASE(CC_CAUSE_UNCLEAR, "4.3% below run", t.run_s = 0.105, t.wire_bytes = NAN);
    /* The formula counts full buckets: 6 ms of them explain 5.5 either way. */
    CASE(CC_CAUSE_BURST, "what would take 6 ms", t.run_s = 0.105, t.wire_bytes = NAN,
         t.burst_s = 0.006);
    CASE(CC_CAUSE_BURST, "in the run they save more", t.wire_bytes = NAN, t.burst_s = 0.006,
         t.run_s = 0.096);
    CASE(CC_CAUSE_UNCLEAR, "", t.wire_bytes = NAN, t.run_s = 0.096, t.burst_s = 0.002,
         t.latency_s = 0);
}

static void host_of_run(void **state)
{
    (void)state;
    /* Ten ranks on two cores, each with 2 ms of codec work: a rank waits for up to 8 ms. */
    CASE(CC_CAUSE_OVERSUBSCRIBED, "10 busy ranks take turns on 2 cores, for 2 ms of codec work",
         t.run_s = 0.112, t.ranks_per_core = 5);
    CASE(CC_CAUSE_UNCLEAR, "", t.ranks_per_core = 5, t.run_s = 0.120);
    /* 12 ms of codec work: the first ranks send while the last encode, for up to 9.6 ms. */
    CASE(CC_CAUSE_OVERSUBSCRIBED, "the first ones send while the last ones still encode",
         t.ranks_per_core = 5, t.run_s = 0.088, t.codec_s = 0.012);
    CASE(CC_CAUSE_UNCLEAR, "", t.ranks_per_core = 5, t.run_s = 0.088, t.codec_s = 0.006);
    /* Waking up explains half a millisecond for each of two rounds. */
    CASE(CC_CAUSE_WAKING, "2 rounds is so short", t.model_s = 0.010, t.sim_s = 0.010,
         t.run_s = 0.0106, t.forecast_s = NAN);
    CASE(CC_CAUSE_UNCLEAR, "", t.model_s = 0.010, t.sim_s = 0.010, t.forecast_s = NAN,
         t.run_s = 0.0125);
    /* 10 MB in 12 ms: 6.7 Gbit/s, where two cores carry 4. */
    CASE(CC_CAUSE_CORES, "2 cores carry 6.67 Gbit/s", t.model_s = 0.010, t.sim_s = 0.010,
         t.forecast_s = NAN, t.run_s = 0.0125, t.all_bytes = 1e7, t.transfer_s = 0.0095);
    CASE(CC_CAUSE_UNCLEAR, "", t.model_s = 0.010, t.sim_s = 0.010, t.forecast_s = NAN,
         t.run_s = 0.0125, t.all_bytes = 1e7, t.transfer_s = 0.0095, t.cores = 4);
}

/* Other programs have 1.5 cores, for which the ranks wait 30 ms a step together. Whatever else the
 * figures allow, as a burst of 6 ms, they are named first. */
static void busy_machine(void **state)
{
    (void)state;
#define BUSY t.other_cores = 1.5, t.core_wait_s = 0.012, t.core_wait_all_s = 0.030
    CASE(CC_CAUSE_BUSY,
         "other programs had 1.5 cores, and the ranks waited for one for 30 ms of a step, one of "
         "them for 12; the lower quartile of steps, 98 ms, is 2.0% below model and 3.1% below sim",
         BUSY, t.run_s = 0.105, t.run_q25_s = 0.098, t.burst_s = 0.006, t.error_s = 0.005);
    CASE(CC_CAUSE_BUSY, "102 ms, is 2.0% above model", BUSY, t.run_s = 0.120, t.sim_s = NAN,
         t.run_q25_s = 0.102);
    /* Without a quartile, nothing is said of it. */
    CASE(CC_CAUSE_BUSY, "one of them for 12", BUSY, t.run_s = 0.120, t.run_q25_s = NAN);
    /* Late wakes, which the formula counts in each round, make the run the shorter one. */
    CASE(CC_CAUSE_BUSY, "", BUSY, t.run_s = 0.085);
    /* The waits explain up to twice 30 ms, and need other programs. */
    CASE(CC_CAUSE_BUSY, "", BUSY, t.run_s = 0.160);
    CASE(CC_CAUSE_UNCLEAR, "", BUSY, t.run_s = 0.162);
    CASE(CC_CAUSE_BURST, "", BUSY, t.run_s = 0.105, t.burst_s = 0.006, t.other_cores = 0.15);
    CASE(CC_CAUSE_BURST, "", BUSY, t.run_s = 0.105, t.burst_s = 0.006, t.other_cores = NAN);
    /* Other bytes are no wonder. */
    CASE(CC_CAUSE_BYTES, "", BUSY, t.run_s = 0.120, t.sim_bytes = 1.01e6);
    /* All that the formula and the simulation are given comes from such a run. */
    CASE(CC_CAUSE_BUSY, "", BUSY, t.model_s = 0.080);
    CASE(CC_CAUSE_BUSY, "", BUSY, t.sim_s = 0.120);
    struct cc_comparison t = agreeing();
    t.run_q25_s = 0.098;
    const struct cc_diagnosis v = diagnosed(t);
    assert_true(fabs(v.quartile.model_run + 2.0 / 98) < 1e-12);
    assert_true(fabs(v.quartile.sim_run + 3.0 / 98) < 1e-12);
    assert_true(v.agree);
#undef BUSY
}

/* --- sim and run agree --- */

static void model_differs(void **state)
{
    (void)state;
    CASE(CC_CAUSE_UNCLEAR, "model 80 ms, 21.2% below sim and run (101.5 ms)", t.model_s = 0.080);
    /* Both have what the formula's buckets save: they explain nothing. */
    CASE(CC_CAUSE_UNCLEAR, "", t.model_s = 0.080, t.burst_s = 0.022);
    CASE(CC_CAUSE_CONTENTION, "share links unevenly", t.model_s = 0.080, t.mode = CC_OVERLAP);
    CASE(CC_CAUSE_COMPOSITION, "follow one another", t.mode = CC_OVERLAP, t.model_s = 0.120);
    CASE(CC_CAUSE_COMPOSITION, "", t.model_s = 0.120, t.mode = CC_SEQUENTIAL, t.exchange = CC_RING);
    CASE(CC_CAUSE_CONTENTION, "", t.mode = CC_SEQUENTIAL, t.exchange = CC_RING, t.model_s = 0.080);
    CASE(CC_CAUSE_STRAGGLERS, "some draws", t.mode = CC_SEQUENTIAL, t.exchange = CC_RING,
         t.model_s = 0.080, t.stragglers = true);
    CASE(CC_CAUSE_TOPOLOGY, "sim and run", t.mode = CC_SEQUENTIAL, t.exchange = CC_RING,
         t.model_s = 0.080, t.stragglers = true, t.elsewhere = true);
    CASE(CC_CAUSE_PROTOCOL, "", t.mode = CC_SEQUENTIAL, t.model_s = 0.080, t.stragglers = true,
         t.elsewhere = true, t.exchange = CC_MPI);
    /* A run that agrees with the simulation confirms its model of TCP. */
    CASE(CC_CAUSE_UNCLEAR, "", t.model_s = 0.080, t.tcp = true);
    /* The run's scatter is not a cause, as the simulation agrees with the run. */
    CASE(CC_CAUSE_UNCLEAR, "", t.model_s = 0.080, t.error_s = 0.1);
}

/* --- model and run agree --- */

static void sim_differs(void **state)
{
    (void)state;
    CASE(CC_CAUSE_FIDELITY, "model and run 101 ms, 15.8% below sim (120 ms)", t.sim_s = 0.120);
    CASE(CC_CAUSE_FIDELITY, "above sim", t.burst_s = 0.018, t.sim_s = 0.080);
    CASE(CC_CAUSE_PROTOCOL, "", t.sim_s = 0.080, t.exchange = CC_MPI);
    CASE(CC_CAUSE_BYTES, "", t.sim_s = 0.080, t.exchange = CC_MPI, t.sim_bytes = 0.5e6);
}

/* --- none agrees --- */

static void all_differ(void **state)
{
    (void)state;
    struct cc_comparison t = agreeing();
    struct cc_diagnosis v;
    /* Overlapping messages in order: the run lies between the formula and the simulation, which
     * has them in order through servers. */
    t.mode = CC_OVERLAP;
    t.exchange = CC_RING;
    t.model_s = 0.080, t.sim_s = 0.120, t.run_s = 0.090;
    v = diagnosed(t);
    assert_causes(&v, CC_CAUSE_CONTENTION, CC_CAUSE_FIDELITY);
    assert_contains(v.cause[1].why, "one after another");
    t.exchange = CC_PS;
    v = diagnosed(t);
    assert_causes(&v, CC_CAUSE_CONTENTION, CC_CAUSE_UNCLEAR);
    t.mode = CC_SEQUENTIAL;
    v = diagnosed(t);
    assert_causes(&v, CC_CAUSE_UNCLEAR, CC_CAUSE_UNCLEAR);
    t = agreeing();
    t.mode = CC_OVERLAP;
    t.model_s = 0.080, t.sim_s = 0.101, t.run_s = 0.110, t.ranks_per_core = 5;
    v = diagnosed(t);
    assert_causes(&v, CC_CAUSE_CONTENTION, CC_CAUSE_OVERSUBSCRIBED);
    assert_contains(v.cause[0].why, "model 80 ms, 20.8% below sim (101 ms)");
    assert_contains(v.cause[1].why, "sim 101 ms, 8.2% below run (110 ms)");
    /* Beside 60 ms of computing, the difference is also given relative to the rest. */
    t = agreeing();
    t.compute_s = t.sim_compute_s = 0.060;
    t.model_s = t.sim_s = 0.100, t.run_s = 0.110;
    v = diagnosed(t);
    assert_contains(
        v.cause[0].why,
        "model and sim 100 ms, 9.1% below run (110 ms), 20.0% of what network and codecs add: ");
    t = agreeing();
    t.mode = CC_OVERLAP, t.ranks_per_core = 5;
    t.sim_s = 0.101;
    /* The larger difference comes first. */
    t.model_s = 0.096, t.codec_s = 0.010, t.run_s = 0.130;
    v = diagnosed(t);
    assert_causes(&v, CC_CAUSE_OVERSUBSCRIBED, CC_CAUSE_CONTENTION);
}

/* --- two answers --- */

static void without_sim(void **state)
{
    (void)state;
    CASE(CC_CAUSE_UNCLEAR, "model 100 ms, 16.7% below run (120 ms)", t.sim_s = NAN,
         t.run_s = 0.120);
    CASE(CC_CAUSE_CONTENTION, "", t.sim_s = NAN, t.run_s = 0.120, t.mode = CC_PIPE);
    /* Shared cores are a cause only where steps follow one another. */
    CASE(CC_CAUSE_CONTENTION, "", t.sim_s = NAN, t.run_s = 0.120, t.mode = CC_PIPE,
         t.ranks_per_core = 5, t.codec_s = 0.010);
    CASE(CC_CAUSE_OVERSUBSCRIBED, "", t.sim_s = NAN, t.run_s = 0.120, t.ranks_per_core = 5,
         t.codec_s = 0.010, t.mode = CC_SEQUENTIAL, t.exchange = CC_RING);
    CASE(CC_CAUSE_CONTENTION, "", t.sim_s = NAN, t.run_s = 0.120, t.codec_s = 0.010,
         t.mode = CC_SEQUENTIAL, t.exchange = CC_RING, t.ranks_per_core = 1);
    CASE(CC_CAUSE_COMPOSITION, "", t.sim_s = NAN, t.codec_s = 0.010, t.ranks_per_core = 1,
         t.mode = CC_PIPE, t.exchange = CC_PS, t.run_s = 0.080);
    CASE(CC_CAUSE_STRAGGLERS, "", t.sim_s = NAN, t.codec_s = 0.010, t.ranks_per_core = 1,
         t.mode = CC_PIPE, t.exchange = CC_PS, t.run_s = 0.080, t.stragglers = true);
    /* The simulation's bytes do not count without a simulation. */
    CASE(CC_CAUSE_STRAGGLERS, "", t.sim_s = NAN, t.codec_s = 0.010, t.ranks_per_core = 1,
         t.mode = CC_PIPE, t.exchange = CC_PS, t.run_s = 0.080, t.stragglers = true,
         t.sim_bytes = 5);
}

/* Causes that the formula leaves out come before faults of the links. */
static void cluster_without_sim(void **state)
{
    (void)state;
    CASE(CC_CAUSE_LINKS, "other traffic", t.lab = false, t.sim_s = NAN, t.run_s = 0.120);
    CASE(CC_CAUSE_CONTENTION, "", t.lab = false, t.sim_s = NAN, t.run_s = 0.120,
         t.exchange = CC_RING);
    CASE(CC_CAUSE_COMPOSITION, "", t.lab = false, t.sim_s = NAN, t.exchange = CC_RING,
         t.run_s = 0.080);
    CASE(CC_CAUSE_UNCLEAR, "", t.lab = false, t.sim_s = NAN, t.run_s = 0.080, t.exchange = CC_PS);
}

static void without_run(void **state)
{
    (void)state;
    CASE(CC_CAUSE_UNCLEAR, "model 100 ms, 16.7% below sim (120 ms)", t.run_s = NAN,
         t.sim_s = 0.120);
    CASE(CC_CAUSE_CONTENTION, "", t.run_s = NAN, t.sim_s = 0.120, t.mode = CC_OVERLAP);
    CASE(CC_CAUSE_FIDELITY, "", t.run_s = NAN, t.sim_s = 0.120, t.mode = CC_OVERLAP, t.tcp = true);
    CASE(CC_CAUSE_STRAGGLERS, "", t.run_s = NAN, t.sim_s = 0.120, t.mode = CC_OVERLAP, t.tcp = true,
         t.stragglers = true);
    CASE(CC_CAUSE_TOPOLOGY, "one switch", t.run_s = NAN, t.sim_s = 0.120, t.mode = CC_OVERLAP,
         t.tcp = true, t.stragglers = true, t.elsewhere = true);
    /* Sim and run without a formula, which would know what buckets save. */
    CASE(CC_CAUSE_UNCLEAR, "below run (112 ms)", t.model_s = NAN, t.forecast_s = NAN,
         t.burst_s = NAN, t.run_s = 0.112);
}

/* --- the forecast --- */

static void forecasts(void **state)
{
    (void)state;
    /* A forecast of 150 ms for payloads of 1.6 MB; with the measured sizes it would be 105. */
    struct cc_comparison larger = agreeing();
    larger.forecast_s = 0.150, larger.resized_s = 0.105, larger.forecast_bytes = 1.6e6;
    assert_true(diagnosed(larger).agree);
    FORECAST(CC_CAUSE_SIZES, "1000 kB a step instead of the profile's 1600, which is -45 ms of -48",
             t.forecast_s = 0.150, t.resized_s = 0.105, t.forecast_bytes = 1.6e6);
    /* A forecast of 70 ms; the codec took 30 ms instead of 2. */
    FORECAST(CC_CAUSE_CODECS, "codecs take 30 ms instead of the profile's 2, which is +30",
             t.forecast_s = 0.070, t.resized_s = 0.070, t.codec_s = 0.030);
    FORECAST(CC_CAUSE_OVERSUBSCRIBED, "(10 busy ranks on 2 cores)", t.forecast_s = 0.070,
             t.resized_s = 0.070, t.codec_s = 0.030, t.ranks_per_core = 5);
    FORECAST(CC_CAUSE_CODECS, "", t.forecast_s = 0.070, t.resized_s = 0.070, t.codec_s = 0.030,
             t.ranks_per_core = 5, t.lab = false);
    /* A run faster than the profile: no rank waited for a core. */
    FORECAST(CC_CAUSE_CODECS, "", t.ranks_per_core = 5, t.forecast_s = 0.130, t.resized_s = 0.130);
    /* Sizes and codec times were right; the network was not. */
    FORECAST(CC_CAUSE_REPEATS,
             "forecast 100 ms: the formula's own error is +20 ms of +20: ", t.run_s = 0.120,
             t.wire_bytes = 1.2e6);
    /* Sizes, codecs and network each explain a part. */
    FORECAST(CC_CAUSE_UNCLEAR, "payload sizes are +0.7, codec times +0.8, and +2",
             t.forecast_s = 0.0985, t.resized_s = 0.0992);
    /* Without a run, the forecast is compared with the simulation. */
    FORECAST(CC_CAUSE_SIZES, "+15 ms of +21", t.run_s = NAN, t.forecast_s = 0.080,
             t.resized_s = 0.095, t.forecast_bytes = 0.8e6);
    /* A change in the opposite direction is not the cause. */
    FORECAST(CC_CAUSE_CODECS, "+50 ms, of which other differences take back 28",
             t.forecast_s = 0.080, t.resized_s = 0.050);
}

/* --- unknown values --- */

/* A platform whose links no option describes: the formula gives no answer. */
static struct cc_comparison no_formula(void)
{
    struct cc_comparison t = agreeing();
    t.model_s = t.forecast_s = t.resized_s = NAN;
    t.latency_s = t.transfer_s = t.rounds = t.burst_s = NAN;
    t.lab = false;
    return t;
}

static void without_formula(void **state)
{
    (void)state;
    struct cc_comparison t = no_formula();
    struct cc_diagnosis v = diagnosed(t);
    assert_true(v.agree && v.answers == 2);
    assert_true(isnan(v.off.model_run) && isnan(v.off.model_sim) && isnan(v.off.forecast));
    assert_int_equal(v.forecast.kind, CC_CAUSE_NOTHING);
    t.run_s = 0.120;
    expect_cause(t, CC_CAUSE_LINKS, "sim 101 ms, 15.8% below run (120 ms)");
    t.run_s = 0.080;
    expect_cause(t, CC_CAUSE_UNCLEAR, "above run");
    t.sim_bytes = 1.01e6;
    expect_cause(t, CC_CAUSE_BYTES, "");
    t.run_s = NAN; /* a single answer agrees with itself */
    assert_true(diagnosed(t).agree && diagnosed(t).answers == 1);
    /* A forecast whose parts are unknown. */
    t = agreeing();
    t.forecast_s = 0.150, t.resized_s = NAN;
    v = diagnosed(t);
    assert_int_equal(v.forecast.kind, CC_CAUSE_UNCLEAR);
    assert_string_equal(v.forecast.why,
                        "forecast 150 ms: what it would have been with the measured "
                        "sizes and codec times is not known");
}

static void no_nan_in(const struct cc_diagnosis *v)
{
    const char *const text[] = {v->cause[0].why, v->cause[1].why, v->forecast.why};
    for (size_t i = 0; i < sizeof text / sizeof text[0]; i++)
        if (strstr(text[i], "nan") != NULL)
            fail_msg("\"%s\"", text[i]);
}

/* With any values missing, no sentence contains "nan", and every difference has a cause. */
static void no_text_has_nan(void **state)
{
    (void)state;
    static const double times[] = {NAN, 0.010, 0.096, 0.100, 0.104, 0.120};
    enum { TIMES = sizeof times / sizeof times[0], UNKNOWN = 6 };
    for (unsigned at = 0; at < TIMES * TIMES * TIMES * TIMES << UNKNOWN; at++) {
        unsigned which = at >> UNKNOWN;
        struct cc_comparison t = agreeing();
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
        struct cc_diagnosis v = diagnosed(t);
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
        cmocka_unit_test(agreement),       cmocka_unit_test(what_is_added),
        cmocka_unit_test(missing_answers), cmocka_unit_test(run_differs),
        cmocka_unit_test(network_of_run),  cmocka_unit_test(host_of_run),
        cmocka_unit_test(busy_machine),    cmocka_unit_test(model_differs),
        cmocka_unit_test(sim_differs),     cmocka_unit_test(all_differ),
        cmocka_unit_test(without_sim),     cmocka_unit_test(without_run),
        cmocka_unit_test(forecasts),       cmocka_unit_test(cluster_without_sim),
        cmocka_unit_test(without_formula), cmocka_unit_test(no_text_has_nan),
        cmocka_unit_test(names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
