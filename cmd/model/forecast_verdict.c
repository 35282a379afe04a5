/* Verdicts in sentences, of predicted and of measured steps alike: the fastest scheme, those that
 * are ruled out, and the best of several exchanges. The rules are those of models/verdict.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/input/carries.h"
#include "cmd/input/evidence.h"
#include "cmd/model/forecast.h"
#include "core/interrupt.h"
#include "core/memory.h"
#include "core/units.h"

enum { MOST_NOTES = 12 };

/* --- texts --- */

void cc_forecast_place(const struct cc_setting *s, char *out, size_t cap)
{
    char servers[48] = "";
    if (cc_exchange_has(s->exchange, CC_X_SERVERS) && s->cluster.servers > 1)
        (void)snprintf(servers, sizeof servers, ", %d servers%s", s->cluster.servers,
                       s->cluster.colocated ? " beside them" : "");
    (void)snprintf(out, cap, "%s at %s, %d worker%s%s", cc_exchange_names[s->exchange],
                   s->link.name, s->cluster.workers, s->cluster.workers == 1 ? "" : "s", servers);
}

const char *cc_forecast_baseline(const struct cc_forecast *f)
{
    return f->baseline_scheme.item[0]->name;
}

void cc_forecast_best_text(const struct cc_forecast *f, const struct cc_best *best, char *out,
                           size_t cap)
{
    char choice[96], time[32], local[40] = "";
    cc_choice_print(&best->choice, choice, sizeof choice);
    cc_print_si(best->p.step_s, "s", time, sizeof time);
    if (best->local_steps > 0)
        (void)snprintf(local, sizeof local, "%zu local steps, ", best->local_steps);
    (void)snprintf(out, cap, "%.60s at its best (%s%s: %s a step)", cc_forecast_baseline(f), local,
                   choice, time);
}

/* "1.33 times as fast as fp32 at its best (...)", "slower than ..." */
static void against_best(const struct cc_forecast *f, double step_s, const struct cc_best *best,
                         char *out, size_t cap)
{
    const double speedup = cc_forecast_speedup(best->p.step_s, step_s);
    char than[224];
    cc_forecast_best_text(f, best, than, sizeof than);
    if (speedup > CC_VERDICT_WORTH)
        (void)snprintf(out, cap, "%.3g times as fast as %s", speedup, than);
    else if (speedup > 1.0005)
        (void)snprintf(out, cap, "less than %s faster than %s", CC_VERDICT_WORTH_TEXT, than);
    else
        (void)snprintf(out, cap, "%s %s", speedup < 0.9995 ? "slower than" : "as fast as", than);
}

/* --- which schemes may be named --- */

/* Whether a verdict may name the scheme; where errors are not known, any. */
static bool is_admitted(const struct cc_forecast *f, const struct cc_setting *s, size_t scheme)
{
    if (!f->errors)
        return true;
    const struct cc_accuracy a = cc_forecast_accuracy(f, s, scheme);
    return cc_verdict_rule(&f->limits, &a) == CC_ADMITTED;
}

/* Where the verdict of one setting stands: it is the answer unless exchanges are compared. */
static enum cc_note_place place_of_verdict(const struct cc_forecast *f)
{
    return f->cluster.exchanges * f->cluster.server_counts > 1 ? CC_NOTE_BELOW : CC_NOTE_ANSWER;
}

/* Adds a note that depends on exchange and workers, and not on the link, once. */
static int note_once(struct cc_record *r, const struct cc_setting *s, const char *what,
                     struct cc_error *e)
{
    return cc_record_note_once(r, e, "%s, %d worker%s: %s", cc_exchange_names[s->exchange],
                               s->cluster.workers, s->cluster.workers == 1 ? "" : "s", what);
}

static int note_alone(struct cc_record *r, const struct cc_setting *s, struct cc_error *e)
{
    const size_t first = r->note_count;
    CC_TRY(note_once(r, s, CC_FORECAST_ALONE, e));
    cc_record_move_notes(r, first, CC_NOTE_ANSWER);
    return CC_OK;
}

/* Whether a ruling is the same for all schemes, and stands once behind their names. */
static bool is_common(enum cc_ruling ruling)
{
    return ruling == CC_OUT_UNPREDICTED || ruling == CC_OUT_BY_SHAPE || ruling == CC_OUT_UNTRIED;
}

/* Notes which of the steps' schemes are ruled out by a common ruling. */
static int note_common(const struct cc_forecast *f, struct cc_record *r, const struct cc_setting *s,
                       const struct cc_forecast_step *step, size_t count, enum cc_ruling ruling,
                       struct cc_error *e)
{
    char list[640] = "", why[128], text[900];
    for (size_t i = 0; i < count; i++) {
        const struct cc_accuracy a = cc_forecast_accuracy(f, s, step[i].scheme);
        if (cc_verdict_rule(&f->limits, &a) == ruling)
            cc_forecast_add_item(list, sizeof list, cc_forecast_scheme(f, step[i].scheme), "");
    }
    if (list[0] == '\0')
        return CC_OK;
    cc_ruling_print(ruling, &f->limits, NULL, why, sizeof why);
    if (ruling == CC_OUT_UNTRIED)
        (void)snprintf(text, sizeof text,
                       "untried: no training of ours has %s; a trial of your own training decides "
                       "(docs/trial.md)",
                       list);
    else
        (void)snprintf(text, sizeof text, "ruled out: %s; %s", list, why);
    return note_once(r, s, text, e);
}

/* Notes which of the steps' schemes are ruled out, and why. */
static int note_ruled_out(const struct cc_forecast *f, struct cc_record *r,
                          const struct cc_setting *s, const struct cc_forecast_step *step,
                          size_t count, struct cc_error *e)
{
    char list[640] = "", why[128], text[900], limit[96] = "";
    for (size_t i = 0; i < count; i++) {
        const struct cc_accuracy a = cc_forecast_accuracy(f, s, step[i].scheme);
        const enum cc_ruling ruling = cc_verdict_rule(&f->limits, &a);
        cc_ruling_print(ruling, &f->limits, &a, why, sizeof why);
        if (ruling == CC_OUT_ERROR && !cc_verdict_uncertain(&f->limits, &a)) {
            (void)snprintf(why, sizeof why, "sum_error %.3g", cc_accuracy_sum_error(&a));
            (void)snprintf(limit, sizeof limit,
                           "; the limit of sum_error is %g, the error of sending nothing",
                           f->limits.sum_error);
        }
        if (ruling != CC_ADMITTED && !is_common(ruling) && !cc_verdict_uncertain(&f->limits, &a))
            cc_forecast_add_item(list, sizeof list, cc_forecast_scheme(f, step[i].scheme), why);
    }
    (void)snprintf(text, sizeof text, "ruled out: %s%s", list, limit);
    if (list[0] != '\0')
        CC_TRY(note_once(r, s, text, e));
    CC_TRY(note_common(f, r, s, step, count, CC_OUT_UNTRIED, e));
    CC_TRY(note_common(f, r, s, step, count, CC_OUT_UNPREDICTED, e));
    return note_common(f, r, s, step, count, CC_OUT_BY_SHAPE, e);
}

int cc_forecast_note_uncertain(const struct cc_forecast *f, struct cc_record *r,
                               const struct cc_setting *s, struct cc_error *e)
{
    char list[640] = "", why[64], text[900];
    for (size_t i = 0; i < f->schemes->count; i++) {
        const struct cc_accuracy a = cc_forecast_accuracy(f, s, i);
        if (cc_input_carries(s, f->schemes->item[i], NULL) != CC_OK ||
            !cc_verdict_uncertain(&f->limits, &a))
            continue;
        if (f->limits.by == CC_BY_ERRORS ||
            (f->limits.by == CC_BY_EVIDENCE && !(a.lost_high > f->limits.lost)))
            (void)snprintf(why, sizeof why, "sum_error %.2g to %.2g", a.low * a.encodings,
                           a.high * a.encodings);
        else if (isnan(a.lost_low))
            (void)snprintf(why, sizeof why, "open in the trial");
        else
            (void)snprintf(why, sizeof why, "%.2g to %.2g%s", 100 * a.lost_low, 100 * a.lost_high,
                           f->limits.of_loss ? "%" : " points");
        cc_forecast_add_item(list, sizeof list, cc_forecast_scheme(f, i), why);
    }
    if (list[0] == '\0')
        return CC_OK;
    if (f->limits.by == CC_BY_ERRORS)
        (void)snprintf(text, sizeof text,
                       "undecided: the interval of sum_error includes the limit %g: %s; a --trace "
                       "with more steps decides",
                       f->limits.sum_error, list);
    else if (f->limits.by == CC_BY_EVIDENCE)
        (void)snprintf(text, sizeof text,
                       "undecided, as the interval of what was lost in our own trainings, or of "
                       "sum_error, includes the limit: %s; a trial of your own training decides",
                       list);
    else
        (void)snprintf(
            text, sizeof text,
            "undecided: the interval of %s includes the limit of %g%s: %s; more --steps or "
            "--seeds decide",
            f->limits.of_loss ? "the loss beyond fp32's" : "what was lost", 100 * f->limits.lost,
            f->limits.of_loss ? "%" : " points, or the trial was too short", list);
    return note_once(r, s, text, e);
}

/* --- the fastest --- */

/* The fastest of the steps that may be named, or NULL. */
static const struct cc_forecast_step *find_fastest(const struct cc_forecast *f,
                                                   const struct cc_setting *s,
                                                   const struct cc_forecast_step *step,
                                                   size_t count)
{
    const struct cc_forecast_step *found = NULL;
    for (size_t i = 0; i < count; i++)
        if (is_admitted(f, s, step[i].scheme) && (found == NULL || step[i].step_s < found->step_s))
            found = &step[i];
    return found;
}

int cc_forecast_note_data_parallel(struct cc_forecast *f, struct cc_record *r,
                                   const struct cc_setting *s, size_t scheme, double step_s,
                                   struct cc_error *e)
{
    const struct cc_setting plain = cc_data_parallel(s);
    struct cc_best best;
    char where[160], against[320];
    if (s->timing.local.steps == 0)
        return CC_OK;
    CC_TRY(cc_verdict_best(&f->predictor, &plain, &f->baseline, &best, e));
    cc_forecast_place(s, where, sizeof where);
    against_best(f, step_s, &best, against, sizeof against);
    return cc_record_note(r, e, "%s: %s with %zu local steps is %s without local steps", where,
                          cc_forecast_scheme(f, scheme),
                          s->timing.local.steps * s->timing.local.parts, against);
}

/* `first` is the fastest of the steps that may be named, fastest_s the shortest of all. */
static int note_step(const struct cc_forecast *f, struct cc_record *r, const struct cc_setting *s,
                     const struct cc_forecast_step *first, double fastest_s,
                     const struct cc_best *best, struct cc_error *e)
{
    const char *scheme = cc_forecast_scheme(f, first->scheme);
    char where[160], time[32], factor[320] = "", longest[96] = "";
    const bool out = fastest_s < first->step_s; /* one that is faster is ruled out */
    cc_print_si(first->step_s, "s", time, sizeof time);
    cc_forecast_place(s, where, sizeof where);
    if (best != NULL && !(first->step_s < best->p.step_s)) {
        cc_forecast_best_text(f, best, factor, sizeof factor);
        const bool ruled_out = fastest_s < best->p.step_s;
        const char *of = ruled_out ? " of them" : out ? " admitted" : "";
        return cc_record_note_at(
            r, place_of_verdict(f), e, "%s: %s is faster than %s; %s, the fastest%s, takes %s",
            where, ruled_out ? "no admitted scheme" : "nothing here", factor, scheme, of, time);
    }
    if (best != NULL) {
        factor[0] = ',';
        factor[1] = ' ';
        against_best(f, first->step_s, best, factor + 2, sizeof factor - 2);
    } else if (isfinite(first->speedup)) {
        (void)snprintf(factor, sizeof factor, ", %.2f times as fast as fp32 here", first->speedup);
    }
    if (first->bottleneck != NULL)
        (void)snprintf(longest, sizeof longest, "; bottleneck: %s", first->bottleneck);
    return cc_record_note_at(r, place_of_verdict(f), e, "%s: %s is %s, %s a step%s%s", where,
                             scheme, out ? "the fastest admitted" : "fastest", time, factor,
                             longest);
}

/* The step of a setting's only scheme. */
static int note_only(const struct cc_forecast *f, struct cc_record *r, const struct cc_setting *s,
                     const struct cc_forecast_step *only, struct cc_error *e)
{
    char where[160], time[32], longest[96] = "";
    cc_print_si(only->step_s, "s", time, sizeof time);
    cc_forecast_place(s, where, sizeof where);
    if (only->bottleneck != NULL)
        (void)snprintf(longest, sizeof longest, "; bottleneck: %s", only->bottleneck);
    return cc_record_note_at(r, place_of_verdict(f), e, "%s: %s takes %s a step%s", where,
                             cc_forecast_scheme(f, only->scheme), time, longest);
}

static int note_evidence(const struct cc_forecast *f, struct cc_record *r,
                         enum cc_exchange exchange, const struct cc_spec *spec, struct cc_error *e)
{
    char text[640];
    if (f->limits.by != CC_BY_EVIDENCE || (spec->scheme->flags & CC_LOSSY) == 0)
        return CC_OK;
    cc_evidence_print(&f->evidence, exchange, spec->name, text, sizeof text);
    return cc_record_note_once(r, e, "%s", text);
}

int cc_forecast_note_evidence(const struct cc_forecast *f, struct cc_record *r,
                              const struct cc_setting *s, size_t scheme, struct cc_error *e)
{
    const struct cc_spec *gather = cc_forecast_gather(f, s, scheme);
    const struct cc_spec *inner = cc_forecast_inner(f, s, scheme);
    CC_TRY(note_evidence(f, r, s->exchange, f->schemes->item[scheme], e));
    if (inner != NULL)
        CC_TRY(note_evidence(f, r, s->exchange, inner, e));
    return gather != NULL ? note_evidence(f, r, s->exchange, gather, e) : CC_OK;
}

int cc_forecast_note_fastest(struct cc_forecast *f, struct cc_record *r, const struct cc_setting *s,
                             const struct cc_forecast_step *step, size_t count,
                             const struct cc_best *best, struct cc_error *e)
{
    const struct cc_forecast_step *first = find_fastest(f, s, step, count);
    double fastest_s = INFINITY;
    if (count == 0 || r->note_count >= MOST_NOTES || cc_interrupted())
        return CC_OK;
    if (s->cluster.workers == 1 && !cc_exchange_has(s->exchange, CC_X_SERVERS))
        return note_alone(r, s, e);
    if (count == 1)
        return note_only(f, r, s, step, e);
    for (size_t i = 0; i < count; i++)
        fastest_s = fmin(fastest_s, step[i].step_s);
    if (first != NULL)
        CC_TRY(note_step(f, r, s, first, fastest_s, best, e));
    if (first != NULL && best != NULL)
        CC_TRY(cc_forecast_note_data_parallel(f, r, s, first->scheme, first->step_s, e));
    if (first != NULL && f->errors)
        CC_TRY(cc_forecast_note_evidence(f, r, s, first->scheme, e));
    if (!f->errors)
        return CC_OK;
    /* A user who chose the schemes and sees a faster row than the one named asks why. */
    const bool asks = first != NULL && fastest_s < first->step_s && !f->catalogue;
    const size_t reasons = r->note_count;
    CC_TRY(note_ruled_out(f, r, s, step, count, e));
    CC_TRY(cc_forecast_note_uncertain(f, r, s, e));
    cc_record_move_notes(r, reasons, asks ? CC_NOTE_WARNING : CC_NOTE_REASON);
    return CC_OK;
}

void cc_forecast_shorten(const struct cc_forecast *f, struct cc_record *r,
                         const struct cc_setting *s, const struct cc_forecast_step *step,
                         size_t count)
{
    enum { MOST_ROWS = 7 };
    for (size_t i = 0; i < count; i++) {
        const bool plain = (f->schemes->item[step[i].scheme]->scheme->flags & CC_LOSSY) == 0 &&
                           step[i].speedup == 1;
        size_t faster = 0;
        for (size_t k = 0; k < count; k++)
            faster +=
                (step[k].step_s < step[i].step_s || (step[k].step_s == step[i].step_s && k < i)) &&
                is_admitted(f, s, step[k].scheme);
        if (!plain && (faster >= MOST_ROWS || !is_admitted(f, s, step[i].scheme)))
            r->rows[step[i].row].detail = true;
    }
}

/* --- the best of several exchanges --- */

int cc_forecast_consider(struct cc_forecast *f, const struct cc_setting *s, size_t scheme,
                         double step_s, const struct cc_best *best, struct cc_error *e)
{
    const bool admitted = is_admitted(f, s, scheme);
    const struct cc_forecast_winner now = {.s = *s,
                                           .scheme = scheme,
                                           .step_s = admitted ? step_s : (double)INFINITY,
                                           .out_s = admitted ? (double)INFINITY : step_s,
                                           .best = *best};
    struct cc_forecast_winner *w = f->winner, *end = w + f->winners;
    if (f->cluster.exchanges * f->cluster.server_counts == 1)
        return CC_OK;
    while (w != end &&
           (w->s.link.bw_bps != s->link.bw_bps || w->s.link.latency_s != s->link.latency_s ||
            w->s.cluster.workers != s->cluster.workers))
        w++;
    if (w == end) {
        CC_TRY(CC_GROW(f->winner, &f->winner_capacity, f->winners + 1, e));
        f->winner[f->winners++] = now;
        return CC_OK;
    }
    const struct cc_best least = best->p.step_s < w->best.p.step_s ? *best : w->best;
    const double out_s = fmin(w->out_s, now.out_s);
    if (now.step_s < w->step_s)
        *w = now;
    w->best = least;
    w->out_s = out_s;
    return CC_OK;
}

int cc_forecast_note_winners(const struct cc_forecast *f, struct cc_record *r, struct cc_error *e)
{
    for (size_t i = 0; i < f->winners && i < MOST_NOTES && !cc_interrupted(); i++) {
        const struct cc_forecast_winner *w = &f->winner[i];
        char where[160], time[32], against[320];
        if (isinf(w->step_s))
            continue;
        cc_forecast_place(&w->s, where, sizeof where);
        cc_print_si(w->step_s, "s", time, sizeof time);
        against_best(f, w->step_s, &w->best, against, sizeof against);
        CC_TRY(cc_record_note_at(r, CC_NOTE_ANSWER, e,
                                 "fastest%s of the exchanges compared: %s, with %s: %s a step, %s",
                                 w->out_s < w->step_s ? " admitted" : "", where,
                                 cc_forecast_scheme(f, w->scheme), time, against));
    }
    return CC_OK;
}
