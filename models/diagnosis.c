/* Diagnosis of differences between model, sim and run.
 *
 * Two answers that differ by more than the tolerance are compared; with three answers, the odd one
 * out is compared with the mean of the other two, or, if no two agree, each is compared with its
 * neighbour. The possible causes of the pair are then tried in a fixed order: causes that are
 * certain first, then causes that predict the gap's size, then causes that only bound it. The first
 * that applies is named. A cause that predicts between low and high seconds applies if it would
 * leave at most half of the gap.
 *
 * A forecast differs from the answer for three reasons, which are compared: payload sizes, codec
 * times, and the formula itself. docs/validate.md has the table of causes. */
#include "models/diagnosis.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#define NAME(name, text) text,
const char *const cc_cause_names[] = {CC_CAUSES(NAME) NULL};

/* The longest time per round that a sleeping rank is taken to need to notice that it can continue:
 * it sleeps for up to 0.2 ms at a time, and then waits for a core. */
#define WAKING_S 0.5e-3
/* The traffic through a lab's links at which one core is the limit, bits per second. */
#define CORE_BPS 2e9
/* The relative excess of bytes on the wire that is normal without losses (docs/run.md). */
#define WIRE_EXCESS 0.03
/* Payloads whose sizes differ by more than this, relatively, are not the same. */
#define SAME_BYTES 1e-3

/* Two answers that differ; gap = second - first. */
struct pair {
    const struct cc_comparison *t;
    double gap;
};

/* Whether a cause that adds between low and high to the second answer leaves at most half of the
 * gap. False if the bounds are unknown. */
static bool halves(double gap, double low, double high)
{
    if (isnan(low) || isnan(high))
        return false;
    double with = fmin(fmax(gap, low), high);
    return fabs(gap - with) <= fabs(gap) / 2;
}

/* --- causes: each returns whether it would explain the gap, and writes its sentence --- */

typedef bool cause(const struct pair *p, struct cc_cause *out);

/* Sets the cause; `explains` is the value. */
static bool set_cause(bool explains, enum cc_cause_kind kind, struct cc_cause *out, const char *fmt,
                      ...) CC_PRINTF(4, 5);

static bool set_cause(bool explains, enum cc_cause_kind kind, struct cc_cause *out, const char *fmt,
                      ...)
{
    va_list args;
    out->kind = kind;
    va_start(args, fmt);
    (void)vsnprintf(out->why, sizeof out->why, fmt, args);
    va_end(args);
    return explains;
}

/* Whether messages may be on their way at once: in steps that are not sequential, and wherever no
 * server puts them in order. */
static bool overlaps(const struct cc_comparison *t)
{
    return t->mode != CC_SEQUENTIAL || !cc_exchange_has(t->exchange, CC_X_SERVERS);
}

static bool bytes(const struct pair *p, struct cc_cause *out)
{
    const struct cc_comparison *t = p->t;
    return set_cause(fabs(t->sim_bytes / t->bytes - 1) > SAME_BYTES, CC_CAUSE_BYTES, out,
                     "the simulation's payloads have %.0f bytes, the run's %.0f", t->sim_bytes,
                     t->bytes);
}

static double difference(double first, double second)
{
    return (second - first) / second; /* NAN if one of them is */
}

/* Writes "; the lower quartile of steps, 12 ms, is 1.2% above model and 0.5% below sim": how far
 * the steps are off that other programs delayed least. */
static void quartile_text(const struct cc_comparison *t, char *out, size_t cap)
{
    const struct {
        const char *name;
        double s;
    } answers[] = {{"model", t->model_s}, {"sim", t->sim_s}};
    size_t n = 0;
    out[0] = '\0';
    for (size_t i = 0; i < 2 && isfinite(t->run_q25_s) && n < cap; i++) {
        const double off = difference(answers[i].s, t->run_q25_s);
        if (!isfinite(off))
            continue;
        if (n == 0)
            n = (size_t)snprintf(out, cap, "; the lower quartile of steps, %.4g ms, is ",
                                 1e3 * t->run_q25_s);
        else
            n += (size_t)snprintf(out + n, cap - n, " and ");
        n += (size_t)snprintf(out + n, cap - n, "%.1f%% %s %s", 100 * fabs(off),
                              off < 0 ? "below" : "above", answers[i].name);
    }
}

/* Ranks wait for each other, so their waits for a core add up, at most to their sum. A wait also
 * makes a rank wake late, which the formula and the simulation are given and count once a round: it
 * may make them longer than the run, too. */
static bool busy_machine(const struct pair *p, struct cc_cause *out)
{
    const struct cc_comparison *t = p->t;
    const double most = t->core_wait_all_s;
    char quartile[128];
    quartile_text(t, quartile, sizeof quartile);
    return set_cause(t->other_cores > CC_BUSY_CORES && halves(p->gap, -most, most), CC_CAUSE_BUSY,
                     out,
                     "other programs had %.2g cores, and the ranks waited for one for %.3g ms of a "
                     "step, one of them for %.3g%s",
                     t->other_cores, 1e3 * most, 1e3 * t->core_wait_s, quartile);
}

static bool scatter(const struct pair *p, struct cc_cause *out)
{
    return set_cause(fabs(p->gap) <= 2 * p->t->error_s, CC_CAUSE_SCATTER, out,
                     "the mean of the measured steps has a standard error of %.3g ms",
                     1e3 * p->t->error_s);
}

static bool protocol(const struct pair *p, struct cc_cause *out)
{
    return set_cause(
        cc_exchange_has(p->t->exchange, CC_X_LIBRARY), CC_CAUSE_PROTOCOL, out,
        "the MPI library chooses how it sums; the formula takes the fastest way that it "
        "might");
}

/* The formula counts a whole bucket in each phase, and so does the simulation, whose answer has the
 * formula's saving; a run may save less, or more. */
static bool burst(const struct pair *p, struct cc_cause *out)
{
    const double b = p->t->burst_s;
    return set_cause(
        halves(p->gap, -b, b), CC_CAUSE_BURST, out,
        "by the formula, token buckets let pass at once what would take %.3g ms; in the "
        "run they save %s",
        1e3 * b, p->gap > 0 ? "less" : "more");
}

static bool repeats(const struct pair *p, struct cc_cause *out)
{
    const double excess = p->t->wire_bytes / p->t->wire_should - 1;
    return set_cause(
        p->gap > 0 && excess > WIRE_EXCESS, CC_CAUSE_REPEATS, out,
        "the busiest host's interface counted %.1f%% more bytes than it should have sent",
        100 * excess);
}

static bool latency(const struct pair *p, struct cc_cause *out)
{
    const struct cc_comparison *t = p->t;
    return set_cause(
        p->gap < 0 && halves(p->gap, -t->latency_s, 0), CC_CAUSE_LATENCY, out,
        "%.3g ms of the formula's answer are latencies, of %.0f rounds; real ones may be "
        "shorter",
        1e3 * t->latency_s, t->rounds);
}

/* More busy ranks than cores add codec time, or save time if the first ranks send while the last
 * ones still encode, which model and sim do not have. */
static bool ranks_per_core(const struct pair *p, struct cc_cause *out)
{
    const struct cc_comparison *t = p->t;
    const double ranks = t->ranks_per_core;
    return set_cause(t->lab && ranks > 1 &&
                         halves(p->gap, -(1 - 1 / ranks) * t->codec_s, (ranks - 1) * t->codec_s),
                     CC_CAUSE_OVERSUBSCRIBED, out,
                     "%.0f busy ranks take turns on %.0f cores, for %.3g ms of codec work, %s",
                     ranks * t->cores, t->cores, 1e3 * t->codec_s,
                     p->gap > 0 ? "and the network waits for them"
                                : "and the first ones send while the last ones still encode");
}

static bool waking(const struct pair *p, struct cc_cause *out)
{
    const double rounds = p->t->rounds;
    return set_cause(
        p->gap > 0 && halves(p->gap, 0, rounds * WAKING_S), CC_CAUSE_WAKING, out,
        "a step of %.0f rounds is so short that it counts how long ranks take to notice "
        "that they can go on, about %.2g ms a round",
        rounds, 1e3 * p->gap / rounds);
}

static bool cores(const struct pair *p, struct cc_cause *out)
{
    const struct cc_comparison *t = p->t;
    const double bps = 8 * t->all_bytes / (t->transfer_s + p->gap);
    return set_cause(
        p->gap > 0 && t->lab && bps > CORE_BPS * t->cores, CC_CAUSE_CORES, out,
        "%.0f cores carry %.3g Gbit/s through all links together, and every byte several "
        "times",
        t->cores, 1e-9 * bps);
}

static bool links(const struct pair *p, struct cc_cause *out)
{
    return set_cause(p->gap > 0 && !p->t->lab, CC_CAUSE_LINKS, out,
                     "other traffic, or links that are not what the options say");
}

static bool stragglers(const struct pair *p, struct cc_cause *out)
{
    return set_cause(p->t->stragglers, CC_CAUSE_STRAGGLERS, out,
                     "the formula has the mean over all stragglers, the others some draws");
}

static bool topology(const struct pair *p, struct cc_cause *out)
{
    return set_cause(p->t->elsewhere, CC_CAUSE_TOPOLOGY, out,
                     "the formula assumes equal hosts on one switch");
}

static bool contention(const struct pair *p, struct cc_cause *out)
{
    return set_cause(
        p->gap > 0 && overlaps(p->t), CC_CAUSE_CONTENTION, out,
        "the formula leaves out that flows share links unevenly and that messages wait for "
        "each other");
}

static bool composition(const struct pair *p, struct cc_cause *out)
{
    return set_cause(p->gap < 0 && overlaps(p->t), CC_CAUSE_COMPOSITION, out,
                     "the formula lets parts of a step follow one another that go on at once");
}

/* Contention in steps with several messages in flight. */
static bool overlapped(const struct pair *p, struct cc_cause *out)
{
    return p->t->mode != CC_SEQUENTIAL && contention(p, out);
}

/* Through servers, messages leave in order in the simulation, too. */
static bool order(const struct pair *p, struct cc_cause *out)
{
    return set_cause(
        p->gap < 0 && p->t->mode != CC_SEQUENTIAL && !cc_exchange_has(p->t->exchange, CC_X_SERVERS),
        CC_CAUSE_FIDELITY, out,
        "the simulation has all messages that are under way share the links, where MPI "
        "sends those of a connection one after another");
}

static bool fidelity(const struct pair *p, struct cc_cause *out)
{
    (void)p;
    return set_cause(true, CC_CAUSE_FIDELITY, out, "the network that --fidelity assumes");
}

static bool fidelity_of_tcp(const struct pair *p, struct cc_cause *out)
{
    return fidelity(p, out) && p->t->tcp;
}

static bool unclear(const struct pair *p, struct cc_cause *out)
{
    (void)p;
    return set_cause(true, CC_CAUSE_UNCLEAR, out,
                     "none of the causes that are known explains half of it");
}

/* --- which causes are tried for which pair --- */

/* Each list is in the order in which causes are tried; the last always applies. */
static cause *const of_run[] = {bytes,   busy_machine, scatter,        protocol, burst,
                                repeats, latency,      ranks_per_core, waking,   cores,
                                order,   links,        unclear};
static cause *const of_run_alone[] = {
    busy_machine, scatter,        protocol, stragglers, topology,   burst,       repeats, latency,
    overlapped,   ranks_per_core, waking,   cores,      contention, composition, links,   unclear};
/* Sim against model: without a run; then if run and sim agree. */
static cause *const of_formula[] = {busy_machine,    protocol,   topology,    stragglers,
                                    fidelity_of_tcp, contention, composition, unclear};
static cause *const of_both[] = {busy_machine, protocol,    topology, stragglers,
                                 contention,   composition, unclear};
/* Sim against model and run, which agree. */
static cause *const of_simulation[] = {bytes, busy_machine, protocol, topology, fidelity};

/* The largest part that network and codecs have in an answer; fmax ignores unknown ones. */
static double added_share(const struct cc_comparison *t)
{
    return fmax(fmax(1 - t->compute_s / t->model_s, 1 - t->compute_s / t->run_s),
                1 - t->sim_compute_s / t->sim_s);
}

/* Writes ", 45.1% of what is added": a difference relative to what network and codecs add, where
 * that counts and computing is a part of the step. */
static void added_text(const struct cc_comparison *t, double gap, double whole_s, char *out,
                       size_t cap)
{
    const double added_s = whole_s - t->compute_s;
    out[0] = '\0';
    if (t->compute_s > 0.05 * whole_s && added_s > 0 && added_share(t) >= t->tolerance)
        (void)snprintf(out, cap, ", %.1f%% of what network and codecs add", 100 * gap / added_s);
}

/* One of the answers, or the mean of two. */
struct answer {
    const char *name;
    double s;
};

/* Finds the cause and writes "sim 11.5 ms, 12.9% below run (13.2 ms): " and its sentence. The
 * percentage is of `second`, as in the columns of differences. */
static void find_cause(const struct cc_comparison *t, cause *const *causes, struct answer first,
                       struct answer second, struct cc_cause *out)
{
    const struct pair p = {.t = t, .gap = second.s - first.s};
    const double off = fabs(p.gap);
    struct cc_cause found;
    char added[64];
    while (!(*causes)(&p, &found))
        causes++;
    added_text(t, off, second.s, added, sizeof added);
    (void)set_cause(true, found.kind, out, "%s %.4g ms, %.1f%% %s %s (%.4g ms)%s: %s", first.name,
                    1e3 * first.s, 100 * off / second.s, first.s > second.s ? "above" : "below",
                    second.name, 1e3 * second.s, added, found.why);
}

/* If no two of three agree: one cause between model and sim, one between sim and run. */
static void find_causes(const struct cc_comparison *t, struct cc_diagnosis *v)
{
    const struct answer model = {"model", t->model_s}, sim = {"sim", t->sim_s},
                        run = {"run", t->run_s};
    const struct cc_differences *off = v->adds ? &v->added : &v->off;
    const double mr = fabs(off->model_run), sr = fabs(off->sim_run), ms = fabs(off->model_sim);
    const double nearest = fmin(mr, fmin(sr, ms));
    const bool formula_first = fabs(sim.s - model.s) > fabs(run.s - sim.s);
    if (v->answers < 3 && isfinite(model.s) && isfinite(run.s)) {
        find_cause(t, of_run_alone, model, run, &v->cause[0]);
    } else if (v->answers < 3 && isfinite(model.s)) {
        find_cause(t, of_formula, model, sim, &v->cause[0]);
    } else if (v->answers < 3) {
        find_cause(t, of_run, sim, run, &v->cause[0]);
    } else if (nearest > t->tolerance) {
        find_cause(t, of_formula, model, sim, &v->cause[formula_first ? 0 : 1]);
        find_cause(t, of_run, sim, run, &v->cause[formula_first ? 1 : 0]);
    } else if (nearest == ms) {
        const struct answer both = {"model and sim", (model.s + sim.s) / 2};
        find_cause(t, of_run, both, run, &v->cause[0]);
    } else if (nearest == sr) {
        const struct answer both = {"sim and run", (sim.s + run.s) / 2};
        find_cause(t, of_both, model, both, &v->cause[0]);
    } else {
        const struct answer both = {"model and run", (model.s + run.s) / 2};
        find_cause(t, of_simulation, both, sim, &v->cause[0]);
    }
}

/* --- the forecast --- */

/* Writes "+2 ms of +3"; a part may be larger than the whole, if others have the opposite sign. */
static void share_text(double part, double gap, char *out, size_t cap)
{
    if (fabs(part) <= fabs(gap))
        (void)snprintf(out, cap, "%+.4g ms of %+.4g", 1e3 * part, 1e3 * gap);
    else
        (void)snprintf(out, cap, "%+.4g ms, of which other differences take back %.4g", 1e3 * part,
                       1e3 * fabs(part - gap));
}

static void forecast_sizes(const struct cc_comparison *t, double part, double gap,
                           struct cc_cause *out)
{
    char share[96];
    share_text(part, gap, share, sizeof share);
    (void)set_cause(true, CC_CAUSE_SIZES, out,
                    "forecast %.4g ms: a worker's payloads have %.4g kB a step instead of the "
                    "profile's %.4g, which is %s",
                    1e3 * t->forecast_s, 1e-3 * t->bytes, 1e-3 * t->forecast_bytes, share);
}

static void forecast_codecs(const struct cc_comparison *t, double part, double gap,
                            struct cc_cause *out)
{
    bool oversubscribed = t->lab && t->ranks_per_core > 1 && part > 0;
    char with[64] = "", share[96];
    share_text(part, gap, share, sizeof share);
    if (oversubscribed)
        (void)snprintf(with, sizeof with, " (%.0f busy ranks on %.0f cores)",
                       t->ranks_per_core * t->cores, t->cores);
    (void)set_cause(true, oversubscribed ? CC_CAUSE_OVERSUBSCRIBED : CC_CAUSE_CODECS, out,
                    "forecast %.4g ms: codecs take %.4g ms instead of the profile's %.4g%s, which "
                    "is %s",
                    1e3 * t->forecast_s, 1e3 * t->codec_s, 1e3 * t->forecast_codec_s, with, share);
}

/* The formula's own error, with its cause. */
static void forecast_formula(const struct cc_comparison *t, double part, double gap,
                             struct cc_cause *out)
{
    const bool ran = isfinite(t->run_s);
    const struct pair p = {.t = t, .gap = (ran ? t->run_s : t->sim_s) - t->model_s};
    cause *const *causes = ran ? of_run_alone : of_formula;
    struct cc_cause found;
    char share[96];
    while (!(*causes)(&p, &found))
        causes++;
    share_text(part, gap, share, sizeof share);
    (void)set_cause(true, found.kind, out, "forecast %.4g ms: the formula's own error is %s: %s",
                    1e3 * t->forecast_s, share, found.why);
}

/* The gap between forecast and answer has three parts: other payload sizes, other codec times, and
 * the formula's error. The largest in the gap's direction is the cause. */
static void diagnose_forecast(const struct cc_comparison *t, double answer_s,
                              struct cc_diagnosis *v)
{
    double gap = answer_s - t->forecast_s, sign = gap < 0 ? -1 : 1;
    double sizes = t->resized_s - t->forecast_s, codecs = t->model_s - t->resized_s,
           formula_gap = answer_s - t->model_s;
    bool formula = sign * formula_gap > fmax(sign * sizes, sign * codecs);
    if (!isfinite(sizes + codecs + formula_gap)) {
        (void)set_cause(
            true, CC_CAUSE_UNCLEAR, &v->forecast,
            "forecast %.4g ms: what it would have been with the measured sizes and codec "
            "times is not known",
            1e3 * t->forecast_s);
    } else if (formula && fabs(formula_gap) > t->tolerance * answer_s) {
        forecast_formula(t, formula_gap, gap, &v->forecast);
    } else if (formula) {
        (void)set_cause(
            true, CC_CAUSE_UNCLEAR, &v->forecast,
            "forecast %.4g ms: of %+.4g ms, payload sizes are %+.4g, codec times %+.4g, "
            "and %+.4g is the formula's own error",
            1e3 * t->forecast_s, 1e3 * gap, 1e3 * sizes, 1e3 * codecs, 1e3 * formula_gap);
    } else if (sign * sizes > sign * codecs) {
        forecast_sizes(t, sizes, gap, &v->forecast);
    } else {
        forecast_codecs(t, codecs, gap, &v->forecast);
    }
}

/* Whether no two answers differ by more than the tolerance. Unknown differences are NAN and compare
 * as false: they count as agreement. */
static bool within(const struct cc_differences *off, double tolerance)
{
    return !(fabs(off->model_run) > tolerance || fabs(off->sim_run) > tolerance ||
             fabs(off->model_sim) > tolerance);
}

void cc_diagnose(const struct cc_comparison *t, struct cc_diagnosis *out)
{
    const double answer_s = isfinite(t->run_s) ? t->run_s : t->sim_s;
    const double model_adds = t->model_s - t->compute_s, sim_adds = t->sim_s - t->sim_compute_s,
                 run_adds = t->run_s - t->compute_s;
    struct cc_diagnosis v = {.off = {.model_run = difference(t->model_s, t->run_s),
                                     .sim_run = difference(t->sim_s, t->run_s),
                                     .model_sim = difference(t->model_s, t->sim_s),
                                     .forecast = difference(t->forecast_s, answer_s)},
                             .answers = (isfinite(t->model_s) != 0) + (isfinite(t->sim_s) != 0) +
                                        (isfinite(t->run_s) != 0)};
    v.added = (struct cc_differences){
        .model_run = difference(model_adds, run_adds),
        .sim_run = difference(sim_adds, run_adds),
        .model_sim = difference(model_adds, sim_adds),
        .forecast = difference(t->forecast_s - t->compute_s, answer_s - t->compute_s)};
    v.quartile = (struct cc_differences){.model_run = difference(t->model_s, t->run_q25_s),
                                         .sim_run = difference(t->sim_s, t->run_q25_s),
                                         .model_sim = v.off.model_sim,
                                         .forecast = NAN};
    v.adds = added_share(t) >= t->tolerance;
    v.agree = within(&v.off, t->tolerance) && (!v.adds || within(&v.added, t->tolerance));
    if (!v.agree)
        find_causes(t, &v);
    if (fabs(v.off.forecast) > t->tolerance)
        diagnose_forecast(t, answer_s, &v);
    *out = v;
}
