/* The answer of advise: one sentence, with what it gains and how sure that is; what is to be
 * pasted; and three reasons. The others follow where they are asked for. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cmd/model/advise.h"
#include "core/memory.h"
#include "core/units.h"

static const char *name_of(const struct advise *a, const struct candidate *c)
{
    return cc_forecast_scheme(&a->forecast, c->scheme);
}

/* "1.93 s (1.8 s to 2.4 s)" */
static const char *span_text(const struct candidate *c, char text[112])
{
    char time[32], low[32], high[32];
    cc_advise_time(c->p.step_s, time);
    cc_advise_time(c->step.low, low);
    cc_advise_time(c->step.high, high);
    (void)snprintf(text, 112, "%s (%s to %s)", time, low, high);
    return text;
}

/* ", in buckets of 100 MiB" */
static const char *bucket_text(const struct candidate *c, char text[64])
{
    text[0] = '\0';
    if (c->plan.fuse_bytes > 0)
        (void)snprintf(text, 64, ", in buckets of %.3g MiB", c->plan.fuse_bytes / (1024 * 1024));
    return text;
}

/* --- how sure --- */

/* How sure the gain of a recommendation is, and what it costs in accuracy. */
static const char *sure_text(const struct advise *a, const struct ranking *r,
                             const struct candidate *c, char text[160])
{
    const bool lossy = (a->forecast.schemes->item[c->scheme]->scheme->flags & CC_LOSSY) != 0;
    const char *speed = c->gain.low >= r->baseline.worth ? "sure to be faster within that"
                        : c->gain.low >= 1               ? "at worst it gains little"
                                                         : "at worst it is slower";
    (void)snprintf(text, 160, "%s%s", speed,
                   c->uncertain && a->forecast.limits.of_loss
                       ? ", and undecided in its loss: train longer"
                   : c->uncertain ? ", and undecided in accuracy: make a trial"
                   : lossy && c->lost > 0 && a->forecast.limits.by == CC_BY_TRAININGS
                       ? ", and your trainings lost little by it"
                   : lossy && c->lost > 0 ? ", and our trainings lost little by it"
                                          : "");
    return text;
}

/* --- the sentences --- */

static int answer_use(struct advise *a, const char *where, const struct ranking *r,
                      struct cc_error *e)
{
    const struct candidate *c = r->use;
    char span[112], today[32], bucket[64], sure[160];
    return cc_record_note_at(
        a->record, CC_NOTE_FIRST, e,
        "%sUse %s by %s%s: a step takes %s instead of %s with %s, %.3g times as fast (%.3g to "
        "%.3g); %s.",
        where, name_of(a, c), c->plan.by->text, bucket_text(c, bucket), span_text(c, span),
        cc_advise_time(r->today.p.step_s, today), name_of(a, &r->today),
        r->today.p.step_s / c->p.step_s, c->gain.low, c->gain.high, sure_text(a, r, c, sure));
}

static int answer_stay(struct advise *a, const char *where, const struct ranking *r,
                       struct cc_error *e)
{
    const struct candidate *other = cc_advise_fastest_other(a, r);
    const double gain = r->today.p.step_s / r->base.p.step_s;
    char span[112], bucket[64], time[32], rest[224] = "", gained[96] = "";
    if (other != NULL && other->gain.high >= r->baseline.worth)
        (void)snprintf(rest, sizeof rest, "; not sure: %s by %s is %.3g to %.3g times as fast",
                       name_of(a, other), other->plan.by->text, other->gain.low, other->gain.high);
    else if (other != NULL)
        (void)snprintf(rest, sizeof rest, ", for sure: %s by %s takes %s", name_of(a, other),
                       other->plan.by->text, cc_advise_time(other->p.step_s, time));
    if (gain >= r->baseline.worth)
        (void)snprintf(gained, sizeof gained,
                       ", %.3g times as fast as in its own buckets (%.3g to "
                       "%.3g)",
                       gain, r->base.gain.low, r->base.gain.high);
    return cc_record_note_at(a->record, CC_NOTE_FIRST, e,
                             "%sKeep %s by %s%s: a step takes %s%s, and nothing that can be "
                             "deployed is %s faster%s.",
                             where, name_of(a, &r->base), r->base.plan.by->text,
                             gain >= r->baseline.worth ? bucket_text(&r->base, bucket) : "",
                             span_text(&r->base, span), gained, CC_PLAN_WORTH_TEXT, rest);
}

/* Without a compute time, nobody knows how much of the exchange it would hide. */
static int answer_nothing(struct advise *a, const char *where, const struct ranking *r,
                          struct cc_error *e)
{
    const struct candidate *c = r->use != NULL ? r->use : &r->base;
    char time[32];
    return cc_record_note_at(
        a->record, CC_NOTE_FIRST, e,
        "%sNo verdict: the compute time of %s is not known, and decides what the network costs: "
        "give "
        "--compute TIME (forward and backward pass of a step on one worker), or --device, or "
        "--measured with two steps of yours; without computing, %s by %s is fastest (%s).",
        where, r->s->net->name, name_of(a, c), c->plan.by->text, cc_advise_time(c->p.step_s, time));
}

static int answer_memory(struct advise *a, const char *where, const struct ranking *r,
                         struct cc_error *e)
{
    const struct cc_device *d = a->forecast.cluster.accelerator;
    const struct candidate *c = r->use;
    char span[112];
    if (c == NULL)
        return cc_record_note_at(
            a->record, CC_NOTE_FIRST, e,
            "%sIt does not fit: the states of %s take %.3g GB of %s's %.3g GB, and "
            "sharded over %d workers still too much: take more of them.",
            where, r->s->net->name, r->states_bytes / 1e9, d->name, cc_device_memory_bytes(d) / 1e9,
            r->s->cluster.workers);
    return cc_record_note_at(a->record, CC_NOTE_FIRST, e,
                             "%sShard the states, by %s in %s: without, they take %.3g GB of %s's "
                             "%.3g GB, so that DDP is "
                             "ruled out; a step takes %s.",
                             where, c->plan.by->text, name_of(a, c), r->states_bytes / 1e9, d->name,
                             cc_device_memory_bytes(d) / 1e9, span_text(c, span));
}

static int answer(struct advise *a, const struct ranking *r, struct cc_error *e)
{
    char where[176] = "", place[160];
    cc_forecast_place(r->s, place, sizeof place);
    if (a->settings > 1) {
        const char *at = strstr(place, " at ");
        (void)snprintf(where, sizeof where, "%s: ", at != NULL ? at + 4 : place);
    }
    if (!r->fits)
        return answer_memory(a, where, r, e);
    if (!cc_advise_decides(a, r))
        return answer_nothing(a, where, r, e);
    return r->use != NULL ? answer_use(a, where, r, e) : answer_stay(a, where, r, e);
}

/* --- three reasons --- */

static int why_accuracy(struct advise *a, const struct candidate *c, struct cc_error *e)
{
    const struct cc_forecast *f = &a->forecast;
    struct cc_evidence found;
    if ((f->schemes->item[c->scheme]->scheme->flags & CC_LOSSY) == 0 ||
        f->limits.by != CC_BY_EVIDENCE ||
        !cc_evidence_find(&f->evidence, c->s.exchange, name_of(a, c), &found) || isinf(found.lost))
        return CC_OK;
    return cc_record_note(a->record, e,
                          "accuracy: %s lost %.2f points (%.2f to %.2f) in the nearest of our own "
                          "trainings (%.*s); a trial of yours decides (docs/trial.md)",
                          name_of(a, c), 100 * found.lost, 100 * found.low, 100 * found.high,
                          (int)strcspn(found.about, ","), found.about);
}

static int why_step(struct advise *a, const struct ranking *r, const struct candidate *c,
                    struct cc_error *e)
{
    const struct cc_prediction *p = &c->p, *t = &r->today.p;
    const struct cc_cluster_args *given = &a->forecast.cluster;
    char comm[32], codec[32], before[32], works[128] = "", batch[96] = "";
    const bool host = c->plan.by->on_host && a->forecast.profile_args.device != NULL;
    cc_advise_time(p->comm_s, comm);
    cc_advise_time(p->codec_s, codec);
    if (p->codec_s > 0)
        (void)snprintf(works, sizeof works, ", and codecs work for %s%s", codec,
                       host ? " on the host (its path to accelerators is untested)"
                       : a->codec_origin == CC_TIME_ASSUMED ? " (assumed)"
                                                            : "");
    cc_advise_time(t->comm_s, before);
    if (given->batch > 0 && given->wanted_batch == 0)
        (void)snprintf(batch, sizeof batch, " of %.0f %s (assumed; --batch: yours)", given->batch,
                       given->batch_unit);
    if (p->compute_s == 0)
        return CC_OK;
    return cc_record_note(
        a->record, e,
        "step: computing%s is %.0f%% of it (%.0f%% with %s); messages are under way "
        "for %s (%s)%s",
        batch, 100 * p->compute_s / p->step_s, 100 * t->compute_s / t->step_s,
        name_of(a, &r->today), comm, before, works);
}

/* The interval: its causes, and the point in it where the verdict turns. */
static int why_interval(struct advise *a, const struct ranking *r, struct cc_error *e)
{
    const struct cc_doubt *d = &r->doubt;
    const struct candidate *other = r->use != NULL ? r->use : cc_advise_fastest_other(a, r);
    char turns[160] = "", compute[64] = "", codec[64] = "", links[48] = "", source[64] = "";
    double share = NAN;
    if (other != NULL) {
        const struct cc_step_of with = {&other->s, other->payloads};
        const struct cc_step_of without = {&r->base.s, r->base.payloads};
        CC_TRY(cc_interval_turn(&a->forecast.predictor, d, r->baseline.worth, &with, &without,
                                &share, e));
    }
    if (!isnan(share) && r->use == NULL && other != NULL)
        (void)snprintf(turns, sizeof turns, "; below %.0f%% %s would be worth it", 100 * share,
                       name_of(a, other));
    else if (!isnan(share))
        (void)snprintf(turns, sizeof turns, "; below %.0f%% it would not be worth it", 100 * share);
    if (d->compute.best != d->compute.worst)
        (void)snprintf(compute, sizeof compute, ", computing %.0f to %.0f%% of what was %s",
                       100 * d->compute.best, 100 * d->compute.worst,
                       r->fit.compute_s > 0 ? "fitted" : "published");
    if (d->codec.best != d->codec.worst)
        (void)snprintf(codec, sizeof codec, ", codecs %.0f to %.0f%% as fast", 100 * d->codec.worst,
                       100 * d->codec.best);
    const char *of = d->measured       ? "what was measured"
                     : d->kind != NULL ? "their rate"
                                       : "the rate of payload";
    if (d->kind != NULL && !d->measured)
        (void)snprintf(source, sizeof source, " (published of %s: docs/advise.md)", d->kind->name);
    if (d->link.worst < d->link.best)
        (void)snprintf(links, sizeof links, "%.0f to %.0f%% of ", 100 * d->link.worst,
                       100 * d->link.best);
    return cc_record_note(a->record, e, "interval: links at %s%s%s%s%s%s", links, of, source, codec,
                          compute, turns);
}

static int why_fitted(struct advise *a, const struct ranking *r, struct cc_error *e)
{
    const struct measured_fit *m = &r->fit;
    char compute[64] = "", steps[256] = "";
    if (m->count == 0)
        return CC_OK;
    if (m->compute_s > 0)
        (void)snprintf(compute, sizeof compute, ", computing %.3g ms", 1e3 * m->compute_s);
    for (size_t i = 0; i < m->count; i++) {
        char was[32], is[32];
        cc_list_add(steps, sizeof steps, ", ", "%s %s for %s", a->measured[i].scheme,
                    cc_advise_time(m->predicted[i], is),
                    cc_advise_time(a->measured[i].step_s, was));
    }
    return cc_record_note(
        a->record, e,
        "fitted to your %zu step%s: links reach %.0f%% of their rate, overlapping "
        "loses %.0f%% of what it might save%s; rms %.1f%%%s: %s",
        m->count, m->count == 1 ? "" : "s", 100 * m->share, 100 * m->unhidden, compute,
        100 * m->rms, m->count <= m->constants ? " (as many unknowns as steps)" : "", steps);
}

/* Names the fastest candidate that would be recommended if trainings decided for it. */
static int why_faster(struct advise *a, const struct ranking *r, bool *named, struct cc_error *e)
{
    const double least =
        (r->use != NULL ? r->use->p.step_s : r->best.p.step_s) / CC_ADVISE_CLOSE_PLAN;
    *named = false;
    for (size_t i = 0; i < r->ranked && !*named; i++) {
        const struct candidate *c = &r->c[i];
        char time[32];
        if (!c->uncertain || c->p.step_s >= least || (r->use != NULL && r->use->uncertain))
            continue;
        *named = true;
        CC_TRY(cc_record_note(a->record, e,
                              "faster: %s by %s takes %s, but trainings have not decided whether "
                              "it costs accuracy: a trial of yours does (docs/trial.md)",
                              name_of(a, c), c->plan.by->text, cc_advise_time(c->p.step_s, time)));
    }
    return CC_OK;
}

static int reasons(struct advise *a, const struct ranking *r, struct cc_error *e)
{
    const struct candidate *c = r->use != NULL ? r->use : &r->base;
    bool named = false;
    CC_TRY(
        cc_forecast_note_data_parallel(&a->forecast, a->record, &c->s, c->scheme, c->p.step_s, e));
    CC_TRY(why_fitted(a, r, e));
    if (r->use != NULL && !cc_advise_is_baseline(a, c))
        CC_TRY(why_accuracy(a, c, e));
    if (r->fits)
        CC_TRY(why_faster(a, r, &named, e));
    if (!named)
        CC_TRY(why_step(a, r, c, e));
    return why_interval(a, r, e);
}

/* --- all of it --- */

int cc_advise_answer(struct advise *a, const struct ranking *r, struct cc_error *e)
{
    struct cc_record *record = a->record;
    const bool alone = r->s->cluster.workers == 1;
    const struct candidate *c = r->use != NULL ? r->use : &r->base;
    if (a->deployed && !alone)
        CC_TRY(answer(a, r, e));
    const size_t own = record->note_count;
    if (a->deployed && !alone && a->settings == 1) {
        if (cc_advise_decides(a, r))
            CC_TRY(cc_advise_paste(a, r, c, e));
        CC_TRY(reasons(a, r, e));
    }
    const size_t rest = record->note_count;
    CC_TRY(cc_advise_notes(a, r, e));
    if (!a->deployed || alone) { /* the first of them is the answer */
        record->note_place[own] = CC_NOTE_FIRST;
        cc_record_move_notes(record, own + 1, CC_NOTE_REASON);
        if (!alone && a->settings == 1) {
            CC_TRY(cc_advise_paste(a, r, c, e));
            CC_TRY(reasons(a, r, e));
        }
        return CC_OK;
    }
    cc_record_move_notes(record, rest, CC_NOTE_REASON);
    return CC_OK;
}
