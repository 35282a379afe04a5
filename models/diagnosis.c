#include "models/diagnosis.h"

#include <math.h>
#include <stdio.h>

const char *const cc_suspect_names[] = {"",
                                        "different bytes",
                                        "scatter",
                                        "the library's exchange",
                                        "burst",
                                        "repeated segments",
                                        "latency",
                                        "oversubscribed",
                                        "waking up",
                                        "cores",
                                        "links",
                                        "stragglers",
                                        "contention",
                                        "composition",
                                        "topology",
                                        "fidelity",
                                        "payload sizes",
                                        "codec times",
                                        "unclear",
                                        NULL};

/* The most that a rank is taken to need in a round to notice that it can go on, where it sleeps
 * while it waits: its longest nap has 0.2 ms, and whoever is to wake up waits for a core besides.
 */
#define WAKING_S 0.5e-3
/* What one core carries through a lab's links before it is the limit, bits per second. */
#define CORE_BPS 2e9
/* How far the bytes on the wire are from what they should be without any loss (docs/run.md). */
#define WIRE_EXCESS 0.03
/* Payloads are the same bytes; what differs more is another payload. */
#define SAME_BYTES 1e-3

/* Two answers that differ, by `gap` = second - first. */
struct pair {
    const struct cc_comparison *t;
    bool simulated; /* one of them is the simulation's */
    bool formula;   /* one of them is the formula's */
    double gap;
};

/* Whether a cause that adds between low and high to the second answer leaves at most half of the
 * gap. One of which nobody knows how much it adds does not. */
static bool halves(double gap, double low, double high)
{
    if (isnan(low) || isnan(high))
        return false;
    double with = fmin(fmax(gap, low), high);
    return fabs(gap - with) <= fabs(gap) / 2;
}

/* --- causes: each says whether it would explain a gap, and how --- */

enum { ROOM = 200 };
typedef bool cause(const struct pair *p, enum cc_suspect *suspect, char why[ROOM]);

static bool bytes(const struct pair *p, enum cc_suspect *suspect, char why[ROOM])
{
    const struct cc_comparison *t = p->t;
    *suspect = CC_CAUSE_BYTES;
    if (!p->simulated || !(fabs(t->sim_bytes / t->bytes - 1) > SAME_BYTES))
        return false;
    (void)snprintf(why, ROOM, "the simulation's payloads have %.0f bytes, the run's %.0f",
                   t->sim_bytes, t->bytes);
    return true;
}

static bool scatter(const struct pair *p, enum cc_suspect *suspect, char why[ROOM])
{
    *suspect = CC_CAUSE_SCATTER;
    if (!(fabs(p->gap) <= 2 * p->t->error_s))
        return false;
    (void)snprintf(why, ROOM, "the mean of the measured steps has a standard error of %.3g ms",
                   1e3 * p->t->error_s);
    return true;
}

static bool protocol(const struct pair *p, enum cc_suspect *suspect, char why[ROOM])
{
    *suspect = CC_CAUSE_PROTOCOL;
    (void)snprintf(why, ROOM,
                   "the MPI library chooses how it sums; the formula takes the fastest way that it "
                   "might");
    return cc_exchange_has(p->t->exchange, CC_X_LIBRARY);
}

/* The formula counts a bucket whole in each phase; what a run saves by it may be less. */
static bool burst(const struct pair *p, enum cc_suspect *suspect, char why[ROOM])
{
    double b = p->t->burst_s;
    bool explains = halves(p->gap, -b, p->formula ? b : 0);
    *suspect = CC_CAUSE_BURST;
    (void)snprintf(why, ROOM, "token buckets let pass at once what would take %.3g ms%s", 1e3 * b,
                   p->formula ? "" : ", and the simulation has none");
    return explains;
}

static bool burst_of_formula(const struct pair *p, enum cc_suspect *suspect, char why[ROOM])
{
    *suspect = CC_CAUSE_BURST;
    (void)snprintf(why, ROOM,
                   "the formula has token buckets that let pass at once what would take %.3g ms, "
                   "the simulation has none",
                   1e3 * p->t->burst_s);
    return halves(p->gap, p->t->burst_s, p->t->burst_s);
}

static bool burst_of_both(const struct pair *p, enum cc_suspect *suspect, char why[ROOM])
{
    *suspect = CC_CAUSE_BURST;
    (void)snprintf(why, ROOM,
                   "the formula has token buckets that let pass at once what would take %.3g ms; "
                   "in the run they save less, and the simulation has none",
                   1e3 * p->t->burst_s);
    return p->gap > 0 && halves(p->gap, 0, p->t->burst_s);
}

static bool repeats(const struct pair *p, enum cc_suspect *suspect, char why[ROOM])
{
    double excess = p->t->wire_bytes / p->t->wire_should - 1;
    *suspect = CC_CAUSE_REPEATS;
    (void)snprintf(why, ROOM,
                   "the busiest host's interface counted %.1f%% more bytes than it "
                   "should have sent",
                   100 * excess);
    return p->gap > 0 && excess > WIRE_EXCESS;
}

static bool latency(const struct pair *p, enum cc_suspect *suspect, char why[ROOM])
{
    *suspect = CC_CAUSE_LATENCY;
    (void)snprintf(why, ROOM,
                   "%.3g ms of the formula's answer are latencies, of %.0f rounds; real ones may "
                   "be shorter",
                   1e3 * p->t->latency_s, p->t->rounds);
    return p->gap < 0 && halves(p->gap, -p->t->latency_s, 0);
}

/* What others' turns on the cores add; or save, where the first ones send while the last ones still
 * encode: the others have all of them encode until the last one is ready. */
static bool ranks_per_core(const struct pair *p, enum cc_suspect *suspect, char why[ROOM])
{
    const struct cc_comparison *t = p->t;
    *suspect = CC_CAUSE_OVERSUBSCRIBED;
    (void)snprintf(why, ROOM,
                   "%.0f busy ranks take turns on %.0f cores, for %.3g ms of codec work, %s",
                   t->ranks_per_core * t->cores, t->cores, 1e3 * t->codec_s,
                   p->gap > 0 ? "and the network waits for them"
                              : "and the first ones send while the last ones still encode");
    return t->lab && t->ranks_per_core > 1 &&
           halves(p->gap, -(1 - 1 / t->ranks_per_core) * t->codec_s,
                  (t->ranks_per_core - 1) * t->codec_s);
}

static bool waking(const struct pair *p, enum cc_suspect *suspect, char why[ROOM])
{
    const struct cc_comparison *t = p->t;
    *suspect = CC_CAUSE_WAKING;
    (void)snprintf(why, ROOM,
                   "a step of %.0f rounds is so short that it counts how long ranks take to notice "
                   "that they can go on, about %.2g ms a round",
                   t->rounds, 1e3 * p->gap / t->rounds);
    return p->gap > 0 && halves(p->gap, 0, t->rounds * WAKING_S);
}

static bool cores(const struct pair *p, enum cc_suspect *suspect, char why[ROOM])
{
    const struct cc_comparison *t = p->t;
    double bps = 8 * t->all_bytes / (t->transfer_s + p->gap);
    *suspect = CC_CAUSE_CORES;
    (void)snprintf(why, ROOM,
                   "%.0f cores carry %.3g Gbit/s through all links together, and every byte "
                   "several times",
                   t->cores, 1e-9 * bps);
    return p->gap > 0 && t->lab && bps > CORE_BPS * t->cores;
}

static bool links(const struct pair *p, enum cc_suspect *suspect, char why[ROOM])
{
    *suspect = CC_CAUSE_LINKS;
    (void)snprintf(why, ROOM, "other traffic, or links that are not what the options say");
    return p->gap > 0 && !p->t->lab;
}

static bool stragglers(const struct pair *p, enum cc_suspect *suspect, char why[ROOM])
{
    *suspect = CC_CAUSE_STRAGGLERS;
    (void)snprintf(why, ROOM,
                   "the formula has the mean over all stragglers, the others some draws");
    return p->t->stragglers;
}

static bool topology(const struct pair *p, enum cc_suspect *suspect, char why[ROOM])
{
    *suspect = CC_CAUSE_TOPOLOGY;
    (void)snprintf(why, ROOM, "the formula has hosts that are alike on one switch");
    return p->t->elsewhere;
}

static bool contention(const struct pair *p, enum cc_suspect *suspect, char why[ROOM])
{
    *suspect = CC_CAUSE_CONTENTION;
    (void)snprintf(why, ROOM,
                   "the formula leaves out that flows share links unevenly and that messages wait "
                   "for each other");
    return p->gap > 0 &&
           (p->t->mode != CC_SEQUENTIAL || !cc_exchange_has(p->t->exchange, CC_X_SERVERS));
}

static bool composition(const struct pair *p, enum cc_suspect *suspect, char why[ROOM])
{
    *suspect = CC_CAUSE_COMPOSITION;
    (void)snprintf(why, ROOM,
                   "the formula lets parts of a step follow one another that go on at once");
    return p->gap < 0 &&
           (p->t->mode != CC_SEQUENTIAL || !cc_exchange_has(p->t->exchange, CC_X_SERVERS));
}

/* Steps of many messages under way at a time. */
static bool overlapped(const struct pair *p, enum cc_suspect *suspect, char why[ROOM])
{
    return p->t->mode != CC_SEQUENTIAL && contention(p, suspect, why);
}

static bool order(const struct pair *p, enum cc_suspect *suspect, char why[ROOM])
{
    *suspect = CC_CAUSE_FIDELITY;
    (void)snprintf(why, ROOM,
                   "the simulation has all messages that are under way share the links, where MPI "
                   "sends those of a connection one after another");
    return p->gap < 0 && p->simulated && p->t->mode != CC_SEQUENTIAL;
}

static bool fidelity(const struct pair *p, enum cc_suspect *suspect, char why[ROOM])
{
    (void)p;
    *suspect = CC_CAUSE_FIDELITY;
    (void)snprintf(why, ROOM, "what the simulation assumes of the network, by its --fidelity");
    return true;
}

static bool fidelity_of_tcp(const struct pair *p, enum cc_suspect *suspect, char why[ROOM])
{
    return fidelity(p, suspect, why) && p->t->tcp;
}

static bool unclear(const struct pair *p, enum cc_suspect *suspect, char why[ROOM])
{
    (void)p;
    *suspect = CC_CAUSE_UNCLEAR;
    (void)snprintf(why, ROOM, "none of the causes that are known explains half of it");
    return true;
}

/* --- verdicts --- */

/* In the order in which they are asked: what is known for certain first, then what predicts a
 * figure, then what only sets a limit. */
static cause *const of_run[] = {bytes,          scatter, protocol, burst, repeats, latency,
                                ranks_per_core, waking,  cores,    order, links,   unclear};
static cause *const of_run_alone[] = {scatter, protocol,   stragglers,  topology,       burst,
                                      repeats, latency,    overlapped,  ranks_per_core, waking,
                                      cores,   contention, composition, links,          unclear};
/* Sim against model, where no run is there; where it says the same as sim; */
static cause *const of_formula[] = {protocol,        topology,   burst_of_formula, stragglers,
                                    fidelity_of_tcp, contention, composition,      unclear};
static cause *const of_both[] = {protocol,   topology,    stragglers, burst_of_both,
                                 contention, composition, unclear};
/* and where it says the same as the model. */
static cause *const of_simulation[] = {bytes, protocol, topology, burst_of_formula, fidelity};

/* "run 13.2 ms, 13.1% above sim (11.5 ms): " and the cause. */
static void suspect(const struct pair *p, cause *const *causes, const char *second, double is,
                    const char *first, double was, struct cc_cause *out)
{
    char why[ROOM];
    while (!(*causes)(p, &out->suspect, why))
        causes++;
    (void)snprintf(out->why, sizeof out->why, "%s %.4g ms, %.1f%% %s %s (%.4g ms): %s", second,
                   1e3 * is, 100 * fabs(is - was) / is, is > was ? "above" : "below", first,
                   1e3 * was, why);
}

static void run_against_sim(const struct cc_comparison *t, struct cc_cause *out)
{
    struct pair p = {.t = t, .simulated = true, .gap = t->run_s - t->sim_s};
    suspect(&p, of_run, "run", t->run_s, "sim", t->sim_s, out);
}

static void sim_against_model(const struct cc_comparison *t, struct cc_cause *out)
{
    struct pair p = {.t = t, .formula = true, .gap = t->sim_s - t->model_s};
    suspect(&p, of_formula, "sim", t->sim_s, "model", t->model_s, out);
}

static void run_against_model(const struct cc_comparison *t, struct cc_cause *out)
{
    struct pair p = {.t = t, .formula = true, .gap = t->run_s - t->model_s};
    suspect(&p, of_run_alone, "run", t->run_s, "model", t->model_s, out);
}

static void run_against_both(const struct cc_comparison *t, struct cc_cause *out)
{
    double both = (t->model_s + t->sim_s) / 2;
    struct pair p = {.t = t, .simulated = true, .formula = true, .gap = t->run_s - both};
    suspect(&p, of_run, "run", t->run_s, "model and sim", both, out);
}

static void model_against_both(const struct cc_comparison *t, struct cc_cause *out)
{
    double both = (t->sim_s + t->run_s) / 2;
    struct pair p = {.t = t, .simulated = true, .formula = true, .gap = both - t->model_s};
    suspect(&p, of_both, "sim and run", both, "model", t->model_s, out);
}

static void sim_against_both(const struct cc_comparison *t, struct cc_cause *out)
{
    double both = (t->model_s + t->run_s) / 2;
    struct pair p = {.t = t, .simulated = true, .formula = true, .gap = t->sim_s - both};
    suspect(&p, of_simulation, "sim", t->sim_s, "model and run", both, out);
}

/* No two of three agree: what the formula leaves out, and what the simulation does. */
static void all_differ(const struct cc_comparison *t, struct cc_cause out[2])
{
    bool formula_first = fabs(t->sim_s - t->model_s) > fabs(t->run_s - t->sim_s);
    sim_against_model(t, &out[formula_first ? 0 : 1]);
    run_against_sim(t, &out[formula_first ? 1 : 0]);
}

static void three_answers(const struct cc_comparison *t, struct cc_diagnosis *v)
{
    const struct cc_differences *off = &v->off;
    double mr = fabs(off->model_run), sr = fabs(off->sim_run), ms = fabs(off->model_sim);
    double nearest = fmin(mr, fmin(sr, ms));
    if (nearest > t->tolerance)
        all_differ(t, v->cause);
    else if (nearest == ms)
        run_against_both(t, &v->cause[0]);
    else if (nearest == sr)
        model_against_both(t, &v->cause[0]);
    else
        sim_against_both(t, &v->cause[0]);
}

static void two_answers(const struct cc_comparison *t, struct cc_diagnosis *v)
{
    if (isfinite(t->model_s) && isfinite(t->run_s))
        run_against_model(t, &v->cause[0]);
    else if (isfinite(t->model_s))
        sim_against_model(t, &v->cause[0]);
    else
        run_against_sim(t, &v->cause[0]);
}

/* --- the forecast --- */

static void forecast_sizes(const struct cc_comparison *t, double part, double gap,
                           struct cc_cause *out)
{
    out->suspect = CC_CAUSE_SIZES;
    (void)snprintf(out->why, sizeof out->why,
                   "forecast %.4g ms: a worker's payloads have %.4g kB a step instead of the "
                   "profile's %.4g, which "
                   "is %+.4g ms of %+.4g",
                   1e3 * t->forecast_s, 1e-3 * t->bytes, 1e-3 * t->forecast_bytes, 1e3 * part,
                   1e3 * gap);
}

static void forecast_codecs(const struct cc_comparison *t, double part, double gap,
                            struct cc_cause *out)
{
    bool turns = t->lab && t->ranks_per_core > 1 && part > 0;
    char with[64] = "";
    out->suspect = turns ? CC_CAUSE_OVERSUBSCRIBED : CC_CAUSE_CODECS;
    if (turns)
        (void)snprintf(with, sizeof with, " (%.0f busy ranks on %.0f cores)",
                       t->ranks_per_core * t->cores, t->cores);
    (void)snprintf(out->why, sizeof out->why,
                   "forecast %.4g ms: codecs take %.4g ms instead of the profile's %.4g%s, which "
                   "is %+.4g ms of %+.4g",
                   1e3 * t->forecast_s, 1e3 * t->codec_s, 1e3 * t->forecast_codec_s, with,
                   1e3 * part, 1e3 * gap);
}

/* A forecast becomes the answer that it was for in three steps: other sizes, other codec times, and
 * what the formula has wrong. The longest in the direction of the whole is suspect. */
static void judge_forecast(const struct cc_comparison *t, double is, struct cc_diagnosis *v)
{
    double gap = is - t->forecast_s, way = gap < 0 ? -1 : 1;
    double sizes = t->resized_s - t->forecast_s, codecs = t->model_s - t->resized_s,
           rest = is - t->model_s;
    bool formula = way * rest > fmax(way * sizes, way * codecs);
    if (!isfinite(sizes + codecs + rest)) {
        v->forecast.suspect = CC_CAUSE_UNCLEAR;
        (void)snprintf(
            v->forecast.why, sizeof v->forecast.why,
            "forecast %.4g ms: what it would have been with the measured sizes and codec "
            "times is not known",
            1e3 * t->forecast_s);
    } else if (formula && fabs(rest) > t->tolerance * is && isfinite(t->run_s)) {
        run_against_model(t, &v->forecast);
    } else if (formula && fabs(rest) > t->tolerance * is) {
        sim_against_model(t, &v->forecast);
    } else if (formula) {
        v->forecast.suspect = CC_CAUSE_UNCLEAR;
        (void)snprintf(v->forecast.why, sizeof v->forecast.why,
                       "forecast %.4g ms: of %+.4g ms, payload sizes are %+.4g, codec times %+.4g, "
                       "and %+.4g is between the formula and what it is for",
                       1e3 * t->forecast_s, 1e3 * gap, 1e3 * sizes, 1e3 * codecs, 1e3 * rest);
    } else if (way * sizes > way * codecs) {
        forecast_sizes(t, sizes, gap, &v->forecast);
    } else {
        forecast_codecs(t, codecs, gap, &v->forecast);
    }
}

static int known(double answer)
{
    return isfinite(answer) ? 1 : 0;
}

static double difference(double first, double second)
{
    return (second - first) / second; /* NAN if one of them is */
}

void cc_diagnose(const struct cc_comparison *t, struct cc_diagnosis *out)
{
    double is = isfinite(t->run_s) ? t->run_s : t->sim_s;
    struct cc_diagnosis v = {.off = {.model_run = difference(t->model_s, t->run_s),
                                     .sim_run = difference(t->sim_s, t->run_s),
                                     .model_sim = difference(t->model_s, t->sim_s),
                                     .forecast = difference(t->forecast_s, is)},
                             .answers = known(t->model_s) + known(t->sim_s) + known(t->run_s)};
    /* What is not known is not beyond it. */
    v.agree = !(fabs(v.off.model_run) > t->tolerance || fabs(v.off.sim_run) > t->tolerance ||
                fabs(v.off.model_sim) > t->tolerance);
    if (!v.agree && v.answers == 3)
        three_answers(t, &v);
    else if (!v.agree)
        two_answers(t, &v);
    if (fabs(v.off.forecast) > t->tolerance)
        judge_forecast(t, is, &v);
    *out = v;
}
