/* The sentences of advise. Every figure in them was predicted for the sentence, or measured. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cmd/model/advise.h"
#include "core/units.h"

/* A gain of less than 5% is not worth another scheme, or another cluster. */
#define WORTH 1.05

static const char *name_of(const struct advise *a, const struct candidate *c)
{
    return cc_forecast_scheme(&a->forecast, c->scheme);
}

static bool is_raw(const struct advise *a, const struct candidate *c)
{
    return cc_spec_is_raw(a->forecast.schemes->item[c->scheme]);
}

/* "45.1 ms" */
static const char *time_text(double seconds, char text[32])
{
    cc_print_si(seconds, "s", text, 32);
    return text;
}

static const char *rate_text(double bps, char text[32])
{
    cc_print_si(bps, "bit/s", text, 32);
    return text;
}

/* "0.11", with a remark if local steps add an error of their own. */
static const char *error_text(const struct advise *a, const struct candidate *c, char text[96])
{
    const bool alone = a->forecast.payloads[c->scheme].period > 1;
    (void)snprintf(text, 96, "%.2g%s", c->error,
                   alone ? " (without the effect of local steps)" : "");
    return text;
}

/* --- what to use --- */

/* "it pays below 2 Gbit/s" */
static const char *pays_text(const struct candidate *c, char text[96])
{
    char where[80];
    cc_advise_pays(&c->pays, where);
    bool adverb = strcmp(where, "never") == 0 || strcmp(where, "always") == 0;
    (void)snprintf(text, 96, adverb ? "it %s pays" : "it pays %s", where);
    return text;
}

/* Advises fp32: compression is not worth it, or every other scheme is ruled out. */
static int note_stay(struct advise *a, const char *where, const struct candidate *raw,
                     const struct candidate *other, struct cc_error *e)
{
    char with[32], without[32], pays[96];
    if (other == NULL)
        return cc_record_note(a->record, e,
                              "%s: stay with fp32 (%s a step): all other schemes are ruled out",
                              where, time_text(raw->p.step_s, without));
    bool faster = other->p.step_s < raw->p.step_s;
    return cc_record_note(a->record, e,
                          "%s: stay with fp32: a step takes %s, and %s with %s, the fastest of the "
                          "others; %s",
                          where, time_text(raw->p.step_s, without),
                          time_text(other->p.step_s, with), name_of(a, other),
                          faster ? "that is less than 5% better" : pays_text(other, pays));
}

static int note_use(struct advise *a, const char *where, const struct candidate *best,
                    const struct candidate *raw, struct cc_error *e)
{
    char with[32], without[32], pays[96], error[96];
    return cc_record_note(a->record, e,
                          "%s: use %s: a step%s takes %s instead of %s, %.3g times as fast as with "
                          "fp32; %s; error %s, where sending nothing has 1",
                          where, name_of(a, best), best->p.compute_s > 0 ? "" : "'s communication",
                          time_text(best->p.step_s, with), time_text(raw->p.step_s, without),
                          raw->p.step_s / best->p.step_s, pays_text(best, pays),
                          error_text(a, best, error));
}

/* With an error above this, a more exact scheme is named, too. */
#define LARGE 0.2

/* The most exact candidate of those that are nearly as fast as the best one and ten times as exact;
 * without one, if the best has a large error, the fastest that has not. */
static const struct candidate *find_more_exact(const struct candidate *c, size_t ranked)
{
    const struct candidate *found = NULL;
    double limit = c->error / 10;
    for (size_t i = 1; i < ranked && c[i].p.step_s < WORTH * c->p.step_s; i++) {
        if (c[i].error > limit)
            continue;
        limit = c[i].error;
        found = &c[i];
    }
    for (size_t i = 1; i < ranked && found == NULL && c->error > LARGE; i++)
        if (c[i].error <= LARGE)
            return &c[i];
    return found;
}

static int note_more_exact(struct advise *a, const struct candidate *c, size_t ranked,
                           struct cc_error *e)
{
    const struct candidate *exact = find_more_exact(c, ranked);
    char with[32], error[96];
    if (exact == NULL || is_raw(a, exact))
        return CC_OK;
    return cc_record_note(a->record, e, "more exact: %s takes %s, error %s", name_of(a, exact),
                          time_text(exact->p.step_s, with), error_text(a, exact, error));
}

/* --- the bottleneck --- */

/* The scheme's step in another setting; infinite if it is ruled out there. */
static double step_with(struct advise *a, const struct cc_setting *changed, size_t scheme)
{
    struct candidate c;
    if (cc_advise_candidate(a, changed, scheme, &c, NULL) != CC_OK || c.refused[0] != '\0')
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
                       time_text(c->p.compute_s, with));
        return;
    case CC_BY_LATENCY:
        changed.timing.fuse_bytes = INFINITY;
        what = "everything in one message (--fuse 1T)";
        break;
    case CC_BY_CODEC:
    case CC_BY_SERVER_PORT:
        changed.cluster.servers *= 2;
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
    if (step * WORTH < c->p.step_s)
        (void)snprintf(text, cap, "; with %s it would take %s", what, time_text(step, with));
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
    const double part[] = {[CC_BY_COMPUTE] = p->compute_s,
                           [CC_BY_CODEC] = p->codec_s,
                           [CC_BY_LATENCY] = p->latency_s,
                           [CC_BY_BANDWIDTH] = p->transfer_s + p->reduce_s,
                           [CC_BY_SERVER_PORT] = p->transfer_s + p->reduce_s};
    char time[32], whole[32], help[128] = "";
    remedy_text(a, s, c, help, sizeof help);
    bool hides = s->timing.mode != CC_SEQUENTIAL || s->timing.consistency != CC_BULK;
    const char *of = hides ? "(partly hidden) in" : "of";
    return cc_record_note(a->record, e, "bottleneck with %s: %s, %s %s %s%s", name_of(a, c),
                          what[p->bottleneck], time_text(part[p->bottleneck], time), of,
                          time_text(p->step_s, whole), help);
}

static void workers_text(const struct candidate *c, char text[64])
{
    if (c->saturates > 0)
        (void)snprintf(text, 64, "%d", c->saturates);
    else
        (void)snprintf(text, 64, "more than %d", c->tried);
}

static int note_workers(struct advise *a, const struct candidate *best, const struct candidate *raw,
                        struct cc_error *e)
{
    static const char why[] = "twice as many would do less than a quarter more in the same time";
    char with[64], without[64];
    if (raw->p.compute_s == 0)
        return CC_OK;
    workers_text(best, with);
    workers_text(raw, without);
    if (best == raw)
        return cc_record_note(a->record, e, "enough workers: %s with fp32 (%s)", without, why);
    return cc_record_note(a->record, e, "enough workers: %s with %s, %s with fp32 (%s)", with,
                          name_of(a, best), without, why);
}

/* --- what else would help --- */

/* Finds the fastest scheme in another setting. False if all are ruled out there. */
static bool best_with(struct advise *a, const struct cc_setting *changed, struct candidate *best)
{
    bool found = false;
    for (size_t i = 0; i < a->forecast.schemes->count; i++) {
        struct candidate c;
        if (cc_advise_candidate(a, changed, i, &c, NULL) != CC_OK || c.refused[0] != '\0' ||
            (found && c.p.step_s >= best->p.step_s))
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

/* Names the exchange whose fastest scheme has the shortest step, if that is worth a change. */
static int note_exchange(struct advise *a, const struct cc_setting *s, double step_s,
                         struct cc_error *e)
{
    struct cc_setting changed = *s;
    struct candidate best = {.p.step_s = step_s / WORTH}, c;
    int found = -1;
    char text[32], error[96];
    for (int x = 0; cc_exchange_names[x] != NULL; x++) {
        changed.exchange = (enum cc_exchange)x;
        if (x == (int)s->exchange || !best_with(a, &changed, &c) || c.p.step_s >= best.p.step_s ||
            is_misplaced(a, changed.exchange, &c))
            continue;
        best = c;
        found = x;
    }
    if (found < 0)
        return CC_OK;
    return cc_record_note(a->record, e,
                          "another exchange: --exchange %s with %s takes %s, error %s",
                          cc_exchange_names[found], name_of(a, &best),
                          time_text(best.p.step_s, text), error_text(a, &best, error));
}

static int note_overlap(struct advise *a, const struct cc_setting *s, double step_s,
                        struct cc_error *e)
{
    struct cc_setting changed = *s;
    struct candidate best = {.scheme = 0};
    char text[32], error[96];
    changed.timing.mode = CC_OVERLAP;
    if (s->timing.mode != CC_SEQUENTIAL || s->timing.consistency != CC_BULK ||
        !best_with(a, &changed, &best) || best.p.step_s * WORTH >= step_s)
        return CC_OK;
    return cc_record_note(a->record, e, "overlapping: --mode overlap with %s takes %s, error %s",
                          name_of(a, &best), time_text(best.p.step_s, text),
                          error_text(a, &best, error));
}

int cc_advise_notes(struct advise *a, const struct cc_setting *s, const struct candidate *c,
                    size_t ranked, struct cc_error *e)
{
    const struct candidate *raw = NULL, *other = NULL, *best;
    char where[160], rate[32];
    for (size_t i = 0; i < ranked; i++) {
        raw = is_raw(a, &c[i]) ? &c[i] : raw;
        other = other == NULL && !is_raw(a, &c[i]) ? &c[i] : other;
    }
    if (raw == NULL)
        return CC_OK;
    bool use = other != NULL && other->p.step_s * WORTH < raw->p.step_s;
    best = use ? other : raw;
    (void)snprintf(where, sizeof where, "%s at %s, %d workers", cc_exchange_names[s->exchange],
                   rate_text(s->link.bw_bps, rate), s->cluster.workers);
    CC_TRY(use ? note_use(a, where, best, raw, e) : note_stay(a, where, raw, other, e));
    if (use)
        CC_TRY(note_more_exact(a, c, ranked, e));
    CC_TRY(note_bottleneck(a, s, best, e));
    CC_TRY(note_workers(a, best, raw, e));
    CC_TRY(note_exchange(a, s, best->p.step_s, e));
    return note_overlap(a, s, best->p.step_s, e);
}

/* --- the basis --- */

int cc_advise_note_basis(struct advise *a, struct cc_error *e)
{
    const struct cc_cluster_args *c = &a->forecast.cluster;
    CC_TRY(cc_record_note(a->record, e,
                          "measured: the codecs' sizes and speeds (below), and errors of single "
                          "encodings over %zu steps of %s%s; how well a net learns with an error, "
                          "only training shows",
                          a->error_steps, a->error_source,
                          c->trace != NULL ? "" : " (--trace: of your gradients)"));
    CC_TRY(cc_record_note(a->record, e,
                          "assumed: that links have no congestion%s, that servers and workers are "
                          "as fast as this machine, and that errors of repeated encodings add up "
                          "(docs/advise.md)",
                          c->latency_given || c->calibrated ? "" : " and the usual latency"));
    return cc_forecast_note_sources(&a->forecast, a->record, e);
}
