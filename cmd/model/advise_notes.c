/* The verdict of advise in sentences. Every figure in them was predicted for the sentence, or
 * measured. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cmd/model/advise.h"
#include "core/units.h"

static const char *name_of(const struct advise *a, const struct candidate *c)
{
    return cc_forecast_scheme(&a->forecast, c->scheme);
}

/* "pays below 2 Gbit/s" */
static const char *pays_text(const struct candidate *c, char text[96])
{
    char where[80];
    cc_advise_pays(&c->pays, where);
    bool adverb = strcmp(where, "never") == 0 || strcmp(where, "always") == 0;
    (void)snprintf(text, 96, adverb ? "%s pays" : "pays %s", where);
    return text;
}

/* --- what to use --- */

const struct candidate *cc_advise_fastest_other(const struct advise *a, const struct ranking *r)
{
    for (size_t i = 0; i < r->ranked; i++)
        if (!cc_advise_is_baseline(a, &r->c[i]))
            return &r->c[i];
    return NULL;
}

/* Advises the baseline: compression is not worth it, or every other scheme is ruled out. */
static int note_stay(struct advise *a, const char *where, const struct ranking *r,
                     struct cc_error *e)
{
    const struct candidate *other = cc_advise_fastest_other(a, r);
    char with[32], without[32], pays[96], choice[96];
    cc_choice_print(&r->best.choice, choice, sizeof choice);
    cc_advise_time(r->best.p.step_s, without);
    if (other == NULL)
        return cc_record_note(a->record, e,
                              "%s: use %s (%s: %s a step): all other schemes are ruled out", where,
                              name_of(a, &r->base), choice, without);
    return cc_record_note(a->record, e,
                          "%s: use %s (%s: %s a step): no scheme pays here, by %s or more; %s, the "
                          "fastest of the others, takes %s and %s",
                          where, name_of(a, &r->base), choice, without, CC_VERDICT_WORTH_TEXT,
                          name_of(a, other), cc_advise_time(other->p.step_s, with),
                          pays_text(other, pays));
}

/* The fastest scheme that is faster than the recommended one and would be recommended if the ruling
 * on it, which is not certain, were the other one or certain; or NULL. */
static const struct candidate *find_faster(const struct ranking *r)
{
    const struct candidate *found = NULL;
    for (size_t i = 0; i < r->count; i++) {
        const struct candidate *c = &r->c[i];
        const bool admitted = c->refused[0] == '\0';
        if (c->uncertain && !(admitted && r->use->uncertain) && c->p.step_s > 0 &&
            CC_ADVISE_CLOSE * c->p.step_s < r->use->p.step_s &&
            (found == NULL || c->p.step_s < found->p.step_s))
            found = c;
    }
    return found;
}

static int note_faster(struct advise *a, const struct ranking *r, struct cc_error *e)
{
    const struct candidate *first = find_faster(r);
    char with[32], error[96];
    if (first == NULL)
        return CC_OK;
    return cc_record_note(
        a->record, e, "faster: %s takes %s, %s; it is %s", name_of(a, first),
        cc_advise_time(first->p.step_s, with), cc_advise_error_text(a, first, error),
        a->forecast.limits.by != CC_BY_ERRORS ? "undecided by the trainings"
        : first->refused[0] == '\0' ? "not recommended, as a longer trace might rule it out"
                                    : "ruled out, and a longer trace might admit it");
}

static int note_use(struct advise *a, const char *where, const struct ranking *r,
                    struct cc_error *e)
{
    const struct candidate *use = r->use;
    const bool by_errors = a->forecast.limits.by == CC_BY_ERRORS;
    char with[32], than[224], pays[96], error[96];
    cc_forecast_best_text(&a->forecast, &r->best, than, sizeof than);
    return cc_record_note(a->record, e,
                          "%s: use %s: a step%s takes %s, %.3g times as fast as %s; it %s (by %s "
                          "or more)%s%s%s%s",
                          where, name_of(a, use), use->p.compute_s > 0 ? "" : "'s communication",
                          cc_advise_time(use->p.step_s, with), r->best.p.step_s / use->p.step_s,
                          than, pays_text(use, pays), CC_VERDICT_WORTH_TEXT, by_errors ? "; " : "",
                          by_errors ? cc_advise_error_text(a, use, error) : "",
                          by_errors && !isnan(use->error) ? ", where sending nothing has 1" : "",
                          use->uncertain ? "; undecided in accuracy: make a trial" : "");
}

/* Names the fastest scheme that is faster than the recommended step and that our own trainings
 * alone rule out. */
static int note_for_trial(struct advise *a, const struct ranking *r, struct cc_error *e)
{
    double than = (r->use != NULL ? r->use->p.step_s : r->best.p.step_s) / CC_VERDICT_WORTH;
    const struct candidate *found = NULL;
    char time[32];
    for (size_t i = 0; i < r->count && a->forecast.limits.by == CC_BY_EVIDENCE; i++) {
        const struct candidate *c = &r->c[i];
        const bool ours = c->ruling == CC_OUT_UNTRIED || c->ruling == CC_OUT_LOST;
        if (ours && !c->uncertain && c->p.step_s > 0 && c->p.step_s < than) {
            found = c;
            than = c->p.step_s;
        }
    }
    if (found == NULL)
        return CC_OK;
    return cc_record_note(a->record, e,
                          "faster: %s takes %s, but is ruled out (%s in our own trainings); a "
                          "trial of your own training decides (docs/trial.md)",
                          name_of(a, found), cc_advise_time(found->p.step_s, time), found->refused);
}

/* Says why the recommendation is not the fastest scheme that could be recommended. */
static int note_close(struct advise *a, const struct ranking *r, struct cc_error *e)
{
    const struct candidate *fastest = r->fastest;
    char with[32], error[96];
    if (r->use == fastest)
        return CC_OK;
    return cc_record_note(a->record, e,
                          "%s rather than %s, which takes %s with %s: of the steps within %s of "
                          "the fastest, the one %s is recommended",
                          name_of(a, r->use), name_of(a, fastest),
                          cc_advise_time(fastest->p.step_s, with),
                          cc_advise_error_text(a, fastest, error), CC_ADVISE_CLOSE_TEXT,
                          a->forecast.limits.by == CC_BY_TRAININGS ? "that lost least in training"
                                                                   : "with the least sum_error");
}

/* With an error above this, a scheme with a smaller one is named, too. */
#define LARGE 0.2

/* The candidate with the least error of those that are nearly as fast as the recommended one, at
 * most a tenth of that one's; without one, if the recommended one has a large error, the fastest
 * that has not. */
static const struct candidate *find_smaller(const struct ranking *r)
{
    const struct candidate *found = NULL;
    double limit = r->use->compared / 10;
    for (size_t i = 0; i < r->ranked && r->c[i].p.step_s < CC_VERDICT_WORTH * r->use->p.step_s;
         i++) {
        if (!(r->c[i].compared <= limit))
            continue;
        limit = r->c[i].compared;
        found = &r->c[i];
    }
    for (size_t i = 0; i < r->ranked && found == NULL && r->use->compared > LARGE; i++)
        if (r->c[i].compared <= LARGE)
            return &r->c[i];
    return found;
}

static int note_smaller(struct advise *a, const struct ranking *r, struct cc_error *e)
{
    const struct candidate *smaller = find_smaller(r);
    char with[32], error[96];
    if (smaller == NULL || cc_advise_is_baseline(a, smaller))
        return CC_OK;
    return cc_record_note(a->record, e, "smaller error of sums: %s takes %s, %s",
                          name_of(a, smaller), cc_advise_time(smaller->p.step_s, with),
                          cc_advise_error_text(a, smaller, error));
}

/* --- the bottleneck --- */

/* The scheme's step in another setting; infinite if it is ruled out there. */
static double step_with(struct advise *a, const struct cc_setting *changed, size_t scheme)
{
    struct candidate c;
    if (cc_advise_candidate(a, changed, &cc_deployments[CC_BY_OWN], scheme, &c, NULL) != CC_OK ||
        c.refused[0] != '\0')
        return INFINITY;
    return c.p.step_s;
}

/* Writes how long the step would take without this bottleneck. */
static void remedy_text(struct advise *a, const struct cc_setting *s, const struct candidate *c,
                        char *text, size_t cap)
{
    struct cc_setting changed = *s;
    char with[32];
    const char *what = NULL;
    switch (c->p.bottleneck) {
    case CC_BY_COMPUTE:
        (void)snprintf(text, cap, "; without any communication it would take %s",
                       cc_advise_time(c->p.compute_s, with));
        return;
    case CC_BY_LATENCY:
        changed.timing.fuse_bytes = INFINITY;
        changed.timing.first_fuse_bytes = -1;
        what = "everything in one message (--fuse 1T)";
        break;
    case CC_BY_CODEC:
    case CC_BY_SERVER_PORT:
        changed.cluster.servers *= 2;
        if (changed.cluster.colocated && changed.cluster.servers > changed.cluster.workers)
            return;
        what = "twice the servers";
        break;
    case CC_BY_BANDWIDTH:
        changed.link.bw_bps *= 2;
        what = "twice the bandwidth";
        break;
    }
    if (c->p.bottleneck == CC_BY_CODEC && !cc_exchange_has(s->exchange, CC_X_SERVERS))
        return;
    double step = step_with(a, &changed, c->scheme);
    if (step * CC_VERDICT_WORTH < c->p.step_s)
        (void)snprintf(text, cap, "; with %s it would take %s", what, cc_advise_time(step, with));
}

static int note_bottleneck(struct advise *a, const struct cc_setting *s, const struct candidate *c,
                           struct cc_error *e)
{
    static const char *const what[] = {
        [CC_BY_COMPUTE] = "computing",
        [CC_BY_CODEC] = "the codec",
        [CC_BY_LATENCY] = "latency",
        [CC_BY_BANDWIDTH] = "the bandwidth of each worker's link",
        [CC_BY_SERVER_PORT] = "the server's port",
    };
    const struct cc_prediction *p = &c->p;
    const bool overlaps = p->compute_s + p->codec_s + p->comm_s > (1 + 1e-6) * p->step_s;
    const bool hides = overlaps && p->bottleneck != CC_BY_COMPUTE;
    char time[32], whole[32], help[128] = "";
    remedy_text(a, s, c, help, sizeof help);
    return cc_record_note(
        a->record, e, "bottleneck with %s: %s, %s %s %s%s", name_of(a, c), what[p->bottleneck],
        cc_advise_time(cc_prediction_part(p, p->bottleneck), time),
        hides ? "(partly hidden) in a step of" : "of", cc_advise_time(p->step_s, whole), help);
}

/* --- workers --- */

/* How much of the workers' time is computing. */
static int note_efficiency(struct advise *a, const struct ranking *r, struct cc_error *e)
{
    const int workers = r->s->cluster.workers;
    const double today = 100 * r->today.p.compute_s / r->today.p.step_s;
    if (r->today.p.compute_s == 0)
        return CC_OK;
    if (r->use == NULL)
        return cc_record_note(a->record, e,
                              "efficiency: %d workers compute %.0f%% of the time with %s", workers,
                              today, name_of(a, &r->today));
    return cc_record_note(
        a->record, e, "efficiency: %d workers compute %.0f%% of the time with %s, %.0f%% with %s",
        workers, 100 * r->use->p.compute_s / r->use->p.step_s, name_of(a, r->use), today,
        name_of(a, &r->today));
}

/* --- all of it --- */

/* With one worker, every figure about communication is empty or misleading. */
static int note_alone(struct advise *a, const char *where, const struct ranking *r,
                      struct cc_error *e)
{
    char time[32];
    return cc_record_note(a->record, e, "%s: %s; alone, it takes %s a step", where,
                          CC_FORECAST_ALONE, cc_advise_time(r->best.p.step_s, time));
}

int cc_advise_notes(struct advise *a, const struct ranking *r, struct cc_error *e)
{
    char where[160];
    cc_forecast_place(r->s, where, sizeof where);
    if (r->s->cluster.workers == 1)
        return note_alone(a, where, r, e);
    if (!a->deployed)
        CC_TRY(r->use != NULL ? note_use(a, where, r, e) : note_stay(a, where, r, e));
    if (r->use != NULL) {
        CC_TRY(cc_forecast_note_evidence(&a->forecast, a->record, &r->use->s, r->use->scheme, e));
        CC_TRY(note_close(a, r, e));
        CC_TRY(note_faster(a, r, e));
        CC_TRY(note_smaller(a, r, e));
    }
    CC_TRY(note_for_trial(a, r, e));
    CC_TRY(cc_forecast_note_uncertain(&a->forecast, a->record, r->s, e));
    CC_TRY(r->use != NULL ? note_bottleneck(a, &r->use->s, r->use, e)
                          : note_bottleneck(a, &r->base.s, &r->base, e));
    CC_TRY(note_efficiency(a, r, e));
    return cc_advise_note_changes(a, r, e);
}

/* --- the basis --- */

/* Warns of trainings with another net or another exchange than the user's. */
static int note_other_training(const struct advise *a, const struct cc_trainings *t,
                               struct cc_error *e)
{
    const struct cc_cluster_args *c = &a->forecast.cluster;
    const char *net = c->net != NULL ? c->net->name : NULL;
    bool same = t->exchange[0] == '\0';
    for (size_t i = 0; i < c->exchanges; i++)
        same = same || strcmp(cc_exchange_names[c->exchange[i]], t->exchange) == 0;
    if (t->mixed)
        CC_TRY(cc_record_note(a->record, e,
                              "WARNING: the file has trainings of several nets or exchanges, and "
                              "schemes are compared across them: give a file of one"));
    if (net != NULL && strcmp(net, t->net) != 0)
        CC_TRY(cc_record_note(a->record, e,
                              "WARNING: the trainings are of %s and the net is %s: they say little "
                              "about it; make a trial of your own training (docs/trial.md)",
                              t->net, net));
    if (!same)
        CC_TRY(cc_record_note(a->record, e,
                              "WARNING: the trainings exchanged by %s: sums that another exchange "
                              "encodes more often lose more; train with --exchange %s",
                              t->exchange, cc_exchange_names[c->exchange[0]]));
    return CC_OK;
}

/* Names the trainings that decide, and the schemes that they leave out, with what they lost. */
static int note_accuracy(struct advise *a, struct cc_error *e)
{
    const struct cc_trainings *t = a->forecast.trainings;
    const struct cc_verdict_limits *l = &a->forecast.limits;
    const double most = 100 * l->lost;
    char out[640] = "", why[128], missing[64] = "", fp32[32] = "", may[96];
    size_t untrained = 0;
    for (size_t i = 0; i < a->forecast.schemes->count; i++) {
        const struct cc_trained *trained =
            cc_trainings_find(t, cc_forecast_scheme(&a->forecast, i));
        const struct cc_accuracy of = {
            .lossy = (a->forecast.schemes->item[i]->scheme->flags & CC_LOSSY) != 0,
            .lost = cc_trained_lost(trained),
            .trial = cc_trained_verdict(trained)};
        const enum cc_ruling ruling = cc_verdict_rule(l, &of);
        untrained += ruling == CC_OUT_UNTRAINED;
        if (ruling != CC_OUT_LOST && ruling != CC_OUT_DIVERGED && ruling != CC_OUT_COSTS)
            continue;
        cc_ruling_print(ruling, l, &of, why, sizeof why);
        cc_forecast_add_item(out, sizeof out, cc_forecast_scheme(&a->forecast, i), why);
    }
    const struct cc_trained *plain = cc_trainings_find(t, CC_RAW_SCHEME);
    if (l->of_loss)
        (void)snprintf(fp32, sizeof fp32, "'s %.3f%s", plain->loss,
                       t->by == CC_TRAINED_BITS ? " bits a byte" : "");
    else if (!isnan(plain->accuracy))
        (void)snprintf(fp32, sizeof fp32, "'s %.2f%%", 100 * plain->accuracy);
    if (l->of_loss)
        (void)snprintf(may, sizeof may, "the loss may be at most %g%% higher than fp32", most);
    else
        (void)snprintf(may, sizeof may, "at most %g point%s may be lost to fp32", most,
                       most == 1 ? "" : "s");
    if (untrained > 0)
        (void)snprintf(missing, sizeof missing, "; %zu scheme%s not trained", untrained,
                       untrained == 1 ? " was" : "s were");
    CC_TRY(note_other_training(a, t, e));
    return cc_record_note(a->record, e,
                          "accuracy: trainings of %s (%s) rule in place of our own; %s%s. Left "
                          "out: %s%s",
                          t->about, t->path, may, fp32,
                          out[0] != '\0' ? out
                          : l->of_loss   ? "none for its loss"
                                         : "none for its accuracy",
                          missing);
}

int cc_advise_note_basis(struct advise *a, struct cc_error *e)
{
    if (a->forecast.trainings != NULL)
        CC_TRY(note_accuracy(a, e));
    const struct cc_cluster_args *c = &a->forecast.cluster;
    CC_TRY(cc_forecast_note_winners(&a->forecast, a->record, e));
    CC_TRY(cc_record_note(a->record, e,
                          "assumed: that links have no congestion%s, that servers and workers are "
                          "as fast as this machine, and that errors of repeated encodings add up "
                          "(docs/advise.md)",
                          c->network.latencies > 0 || c->network.calibration != NULL
                              ? ""
                              : " and the usual latency"));
    return cc_forecast_note_sources(&a->forecast, a->record, e);
}
