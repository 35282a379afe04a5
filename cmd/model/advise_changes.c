/* Advice on what would change the verdict: other codecs, another batch, another exchange, another
 * step mode. */
#include <math.h>
#include <stdio.h>

#include "cmd/model/advise.h"
#include "core/memory.h"

/* --- the speed of codecs --- */

/* Names the speed of the codecs at which the verdict turns: of the recommended scheme, or, of those
 * that do not pay, of the one that needs the least. */
static int note_codec_speed(struct advise *a, const struct ranking *r, struct cc_error *e)
{
    const char *const source = a->forecast.profile_args.device != NULL
                                   ? "their times are assumed, of --device"
                                   : "their times are of one core of the profile's machine";
    const double speed = r->s->codec_speed;
    const struct candidate *needs = NULL;
    double least = INFINITY, factor = 0;
    for (size_t i = 0; i < r->ranked; i++) {
        const struct candidate *c = &r->c[i];
        if (r->use != NULL ? c != r->use : cc_advise_is_baseline(a, c))
            continue;
        CC_TRY(cc_advice_codec_speed(&r->baseline, &c->s, c->payloads, &factor, e));
        if (needs != NULL && factor >= least)
            continue;
        least = factor;
        needs = c;
    }
    if (needs == NULL)
        return CC_OK;
    const char *scheme = cc_forecast_scheme(&a->forecast, needs->scheme);
    const char *base = cc_forecast_baseline(&a->forecast);
    if (r->use != NULL && (isinf(least) || strcmp(base, scheme) == 0))
        return CC_OK; /* no codec works on what is recommended */
    if (r->use == NULL && isinf(least))
        return cc_record_note(a->record, e, "codecs: %s; no speed of theirs would change this",
                              source);
    if (r->use == NULL)
        return cc_record_note(a->record, e,
                              "codecs: %s; %.3g times as fast (--codec-speed %.3g), %s would pay",
                              source, least * speed, least * speed, scheme);
    if (least == 0)
        return cc_record_note(a->record, e, "codecs: %s; %s would pay with much slower ones, too",
                              source, scheme);
    return cc_record_note(a->record, e,
                          "codecs: %s; with less than %.3g times its speed (--codec-speed), %s at "
                          "its best would be the choice, instead of %s",
                          source, least * speed, base, scheme);
}

/* --- the batch --- */

/* The fastest candidate that pays where a worker's step has another batch, at the same throughput;
 * NULL if none does. */
static int find_paying(struct advise *a, const struct ranking *r, double batch,
                       const struct candidate **out, struct cc_error *e)
{
    struct cc_forecast *f = &a->forecast;
    struct cc_setting s = r->baseline.setting;
    struct cc_best best;
    struct cc_prediction p;
    s.timing.compute_s = batch / f->cluster.batch_per_s;
    CC_TRY(cc_verdict_best(&f->predictor, &s, &f->baseline, &best, e));
    double least = best.p.step_s / r->baseline.worth;
    *out = NULL;
    for (size_t i = 0; i < r->ranked; i++) {
        s = r->c[i].s;
        s.timing.compute_s = batch / f->cluster.batch_per_s;
        CC_TRY(cc_predict(&f->predictor, &s, r->c[i].payloads, &p, e));
        if (cc_advise_is_baseline(a, &r->c[i]) || p.step_s >= least)
            continue;
        least = p.step_s;
        *out = &r->c[i];
    }
    return CC_OK;
}

/* Finds the last batch, going up or down by factors of two, at which it is as at the setting's own
 * whether a scheme pays, and who pays at the next; 0 if it is so at all batches that are tried. */
static int find_turn(struct advise *a, const struct ranking *r, double factor, double *out,
                     const struct candidate **beyond, struct cc_error *e)
{
    enum { DOUBLINGS = 6 };
    const double own = a->forecast.cluster.batch;
    const struct candidate *pays;
    double same = own, other = own;
    *out = 0;
    for (int i = 0; (*beyond != NULL) == (r->use != NULL); i++) {
        same = other;
        other = fmax(1, floor(other * factor));
        if (other == same || (factor > 1 && i == DOUBLINGS))
            return CC_OK;
        CC_TRY(find_paying(a, r, other, beyond, e));
    }
    while (fabs(other - same) > 1) {
        const double middle = floor((same + other) / 2);
        CC_TRY(find_paying(a, r, middle, &pays, e));
        if ((pays != NULL) == (r->use != NULL)) {
            same = middle;
        } else {
            other = middle;
            *beyond = pays;
        }
    }
    *out = same;
    return CC_OK;
}

/* Names the batch that --device implies, and those at which the verdict turns. */
static int note_batch(struct advise *a, const struct ranking *r, struct cc_error *e)
{
    const struct cc_cluster_args *c = &a->forecast.cluster;
    char text[320] = "";
    if (c->batch == 0)
        return CC_OK;
    /* Where gradients go as they are, by another system than today's, no batch decides on a scheme.
     */
    const bool plain = r->use != NULL && cc_advise_is_baseline(a, r->use);
    for (int up = 0; up < 2 && !plain; up++) {
        const struct candidate *beyond = r->use;
        double turn;
        CC_TRY(find_turn(a, r, up ? 2 : 0.5, &turn, &beyond, e));
        if (turn == 0)
            continue;
        cc_list_add(
            text, sizeof text, "; ", "with %s than %.0f, %s would pay", up ? "more" : "fewer", turn,
            beyond != NULL ? cc_forecast_scheme(&a->forecast, beyond->scheme) : "no scheme");
    }
    const bool given = c->wanted_batch > 0;
    return cc_record_note_at(a->record, given || text[0] == '\0' ? CC_NOTE_BELOW : CC_NOTE_WARNING,
                             e, "batch: %.0f %s a worker%s; %s", c->batch, c->batch_unit,
                             given ? "" : ", assumed (--batch: yours)",
                             text[0] != '\0' ? text : "no other would change the verdict");
}

/* --- exchange and step mode --- */

/* Which schemes count in another setting: those that may be named; or those with index-value pairs
 * that nothing but the limit on sum_error leaves out. */
enum wanted { ADMITTED, BEYOND };

static bool is_beyond(const struct advise *a, const struct cc_setting *s, size_t scheme)
{
    const struct cc_forecast *f = &a->forecast;
    const struct cc_accuracy accuracy = cc_forecast_accuracy(f, s, scheme);
    return f->payloads[scheme].reduction == CC_REDUCE_PAIRS &&
           cc_verdict_rule(&f->limits, &accuracy) == CC_OUT_ERROR;
}

/* Finds the fastest scheme in another setting, of those whose step is below best->p.step_s. False
 * if there is none. */
static bool best_with(struct advise *a, const struct cc_setting *changed, enum wanted wanted,
                      struct candidate *best)
{
    bool found = false;
    for (size_t i = 0; i < a->forecast.schemes->count; i++) {
        struct candidate c;
        if ((wanted == BEYOND && !is_beyond(a, changed, i)) ||
            cc_advise_candidate(a, changed, &cc_deployments[CC_BY_OWN], i, &c, NULL) != CC_OK ||
            (wanted == BEYOND ? c.p.step_s == 0 : c.refused[0] != '\0') ||
            c.p.step_s >= best->p.step_s)
            continue;
        *best = c;
        found = true;
    }
    return found;
}

/* The sparse exchanges can carry floats, but are advised for index-value pairs only. */
static bool is_misplaced(const struct advise *a, enum cc_exchange x, const struct candidate *c)
{
    return cc_exchange_has(x, CC_X_MERGES) &&
           a->forecast.payloads[c->scheme].reduction != CC_REDUCE_PAIRS;
}

/* "label: --exchange ring with int8 takes 118 ms (1.33 times as fast), sum_error 0.0024; fp32 takes
 * 150 ms there". `step_s` is that of the recommendation. */
static int note_change(struct advise *a, const char *label, const struct cc_setting *changed,
                       const struct candidate *c, double step_s, struct cc_error *e)
{
    const struct cc_forecast *f = &a->forecast;
    const char *base = cc_forecast_baseline(f);
    const double gain = cc_forecast_speedup(step_s, c->p.step_s);
    struct cc_prediction p;
    char time[32], error[96], there[32], than[128] = "";
    cc_advise_time(c->p.step_s, time);
    if (cc_advise_is_baseline(a, c))
        return cc_record_note(a->record, e, "%s with %s takes %s (%.3g times as fast)", label, base,
                              time, gain);
    if (cc_exchange_check(changed->exchange, f->baseline.reduction, base, NULL) == CC_OK) {
        CC_TRY(cc_predict(&a->forecast.predictor, changed, &f->baseline, &p, e));
        (void)snprintf(than, sizeof than, "; %.60s takes %s there", base,
                       cc_advise_time(p.step_s, there));
    }
    return cc_record_note(a->record, e, "%s with %s takes %s (%.3g times as fast), %s%s", label,
                          cc_forecast_scheme(f, c->scheme), time, gain,
                          cc_advise_error_text(a, c, error), than);
}

/* Finds the exchange, of all or of those that merge pairs, whose fastest scheme has the shortest
 * step, below best->p.step_s; *there is the setting with it. False if there is none. */
static bool best_exchange(struct advise *a, const struct ranking *r, bool merging,
                          enum wanted wanted, struct candidate *best, struct cc_setting *there)
{
    struct cc_setting changed = *r->s;
    bool found = false;
    for (int x = 0; cc_exchange_names[x] != NULL; x++) {
        const bool merges = cc_exchange_has((enum cc_exchange)x, CC_X_MERGES);
        struct candidate c = *best;
        changed.exchange = (enum cc_exchange)x;
        changed.cluster.keep = merges ? r->s->cluster.keep : 0;
        changed.cluster.gather =
            cc_exchange_has(changed.exchange, CC_X_STAGES) ? r->s->cluster.gather : NULL;
        if (cc_exchange_has(changed.exchange, CC_X_FORMULA) ||
            (wanted == ADMITTED && x == (int)r->s->exchange) || (merging && !merges) ||
            !best_with(a, &changed, wanted, &c) || is_misplaced(a, changed.exchange, &c))
            continue;
        *best = c;
        *there = changed;
        found = true;
    }
    return found;
}

/* The least number of two digits that is above the error and its interval: a limit that certainly
 * admits the scheme. */
static double limit_above(const struct cc_accuracy *accuracy)
{
    const double most = fmax(accuracy->high * accuracy->encodings,
                             cc_accuracy_sum_error(accuracy)); /* without an interval, the error */
    const double unit = pow(10, floor(log10(most)) - 1);
    return (floor(most / unit) + 1) * unit;
}

/* Names the sparse exchange that --max-nmse alone keeps from being advised, with the options that
 * admit it. */
static int note_beyond(struct advise *a, const struct ranking *r, double than_s, double step_s,
                       struct cc_error *e)
{
    const struct cc_forecast *f = &a->forecast;
    struct candidate best = {.p.step_s = than_s / CC_VERDICT_WORTH};
    struct cc_setting there;
    char time[32], error[96];
    if (!best_exchange(a, r, true, BEYOND, &best, &there))
        return CC_OK;
    const struct cc_accuracy accuracy = cc_forecast_accuracy(f, &there, best.scheme);
    return cc_record_note(a->record, e,
                          "a sparse exchange, if its error is accepted: --exchange %s --scheme %s "
                          "--max-nmse %.2g takes %s (%.3g times as fast); %s, and the limit is %g",
                          cc_exchange_names[there.exchange], cc_forecast_scheme(f, best.scheme),
                          limit_above(&accuracy), cc_advise_time(best.p.step_s, time),
                          cc_forecast_speedup(step_s, best.p.step_s),
                          cc_advise_error_text(a, &best, error), f->limits.sum_error);
}

/* Names the exchange whose fastest scheme has the shortest step, if that is worth a change. Where
 * it encodes sums again on their way, also the fastest one that adds index-value pairs instead,
 * which keeps the error of a single encoding; and a sparse exchange that takes less than all of
 * these, with too large an error. */
static int note_exchange(struct advise *a, const struct ranking *r, double step_s,
                         struct cc_error *e)
{
    struct candidate best = {.p.step_s = step_s / CC_VERDICT_WORTH}, merged = best;
    struct cc_setting there, sparse;
    char label[96];
    if (!best_exchange(a, r, false, ADMITTED, &best, &there))
        return note_beyond(a, r, step_s, step_s, e);
    (void)snprintf(label, sizeof label, "another exchange: --exchange %s",
                   cc_exchange_names[there.exchange]);
    CC_TRY(note_change(a, label, &there, &best, step_s, e));
    if (!cc_exchange_has(there.exchange, CC_X_MERGES) &&
        best_exchange(a, r, true, ADMITTED, &merged, &sparse) && merged.compared < best.compared) {
        (void)snprintf(label, sizeof label,
                       "sums that are not encoded again at each hop: --exchange %s",
                       cc_exchange_names[sparse.exchange]);
        CC_TRY(note_change(a, label, &sparse, &merged, step_s, e));
    }
    return note_beyond(a, r, best.p.step_s, step_s, e);
}

static int note_overlap(struct advise *a, const struct ranking *r, double step_s,
                        struct cc_error *e)
{
    struct cc_setting changed = *r->s;
    struct candidate best = {.p.step_s = INFINITY};
    changed.timing.mode = CC_OVERLAP;
    if (r->s->timing.mode != CC_SEQUENTIAL || r->s->timing.consistency != CC_BULK ||
        !best_with(a, &changed, ADMITTED, &best) || best.p.step_s * CC_VERDICT_WORTH >= step_s)
        return CC_OK;
    return note_change(a, "overlapping: --mode overlap", &changed, &best, step_s, e);
}

int cc_advise_note_changes(struct advise *a, const struct ranking *r, struct cc_error *e)
{
    const double step_s = r->use != NULL ? r->use->p.step_s : r->best.p.step_s;
    CC_TRY(note_codec_speed(a, r, e));
    CC_TRY(note_batch(a, r, e));
    if (a->deployed)
        return CC_OK;
    CC_TRY(note_exchange(a, r, step_s, e));
    return note_overlap(a, r, step_s, e);
}
