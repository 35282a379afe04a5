/* What advise says in words. Every figure in a sentence was predicted for it. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cmd/advise.h"
#include "results/plot.h"

/* Less is not worth a new scheme, or a new cluster. */
#define WORTH 1.05

static const char *name_of(const struct advise *a, const struct candidate *c)
{
    return a->args->schemes.item[c->scheme]->name;
}

static bool is_raw(const struct advise *a, const struct candidate *c)
{
    return strcmp(name_of(a, c), "fp32") == 0;
}

/* "45.1 ms" */
static const char *time_text(double seconds, char text[32])
{
    cc_axis_number(seconds, "s", text, 32);
    return text;
}

static const char *rate_text(double bps, char text[32])
{
    cc_axis_number(bps, "bit/s", text, 32);
    return text;
}

/* Payloads that cannot be summed may be encoded anew between hops. */
static bool at_hops(const struct advise *a, const struct cc_setting *s, enum cc_exchange x,
                    size_t scheme)
{
    bool hops = x == CC_RING || x == CC_RECDOUBLE || x == CC_RABENSEIFNER;
    bool lossy = (a->args->schemes.item[scheme]->scheme->flags & CC_LOSSY) != 0;
    return hops && lossy && s->cluster.via == CC_VIA_HOPS &&
           a->parcels[scheme].reduction != CC_REDUCE_SUM;
}

static const char hops_text[] = " (encoded anew at every hop, which is not in its error)";

/* --- what to use --- */

/* Compression is not worth it, or there is none to choose from. */
static int note_stay(struct advise *a, const char *where, const struct candidate *raw,
                     const struct candidate *other, struct cc_error *e)
{
    char with[32], without[32], bound[32], pays[96] = "";
    if (other == NULL)
        return cc_record_note(a->record, e,
                              "%s: stay with fp32 (%s a step): no other scheme is in question",
                              where, time_text(raw->p.step_s, without));
    if (other->p.step_s < raw->p.step_s)
        (void)snprintf(pays, sizeof pays, ", which is less than 5%% better");
    else if (!other->pays.ever)
        (void)snprintf(pays, sizeof pays, "; it pays at no bandwidth");
    else if (!isinf(other->pays.below_bps))
        (void)snprintf(pays, sizeof pays, "; it pays below %s",
                       rate_text(other->pays.below_bps, bound));
    return cc_record_note(a->record, e,
                          "%s: stay with fp32: a step takes %s, and %s with %s, the fastest of the "
                          "others%s",
                          where, time_text(raw->p.step_s, without),
                          time_text(other->p.step_s, with), name_of(a, other), pays);
}

static int note_use(struct advise *a, const struct cc_setting *s, const char *where,
                    const struct candidate *best, const struct candidate *raw, struct cc_error *e)
{
    char with[32], without[32], bound[32], pays[64] = "at any bandwidth";
    if (!isinf(best->pays.below_bps))
        (void)snprintf(pays, sizeof pays, "below %s", rate_text(best->pays.below_bps, bound));
    return cc_record_note(a->record, e,
                          "%s: use %s: a step takes %s instead of %s, %.3g times as fast as with "
                          "fp32, at an error of %.2g%s; it pays %s",
                          where, name_of(a, best), time_text(best->p.step_s, with),
                          time_text(raw->p.step_s, without), raw->p.step_s / best->p.step_s,
                          a->error[best->scheme].cumulative,
                          at_hops(a, s, s->exchange, best->scheme) ? hops_text : "", pays);
}

/* Errors above this have held back most of the gradient. */
#define LARGE 0.5

/* The most exact one that is nearly as fast and ten times as exact, or, if the best has a large
 * error, the fastest that has not. */
static const struct candidate *gentler(const struct advise *a, const struct candidate *c,
                                       size_t ranked)
{
    const struct candidate *found = NULL;
    double limit = a->error[c->scheme].cumulative / 10;
    for (size_t i = 1; i < ranked && c[i].p.step_s < WORTH * c->p.step_s; i++) {
        if (a->error[c[i].scheme].cumulative > limit)
            continue;
        limit = a->error[c[i].scheme].cumulative;
        found = &c[i];
    }
    for (size_t i = 1; i < ranked && found == NULL && a->error[c->scheme].cumulative > LARGE; i++)
        if (a->error[c[i].scheme].cumulative <= LARGE)
            return &c[i];
    return found;
}

static int note_gentler(struct advise *a, const struct candidate *c, size_t ranked,
                        struct cc_error *e)
{
    const struct candidate *gentle = gentler(a, c, ranked);
    char with[32];
    if (gentle == NULL)
        return CC_OK;
    return cc_record_note(a->record, e, "more exact: with %s a step takes %s, at an error of %.2g",
                          name_of(a, gentle), time_text(gentle->p.step_s, with),
                          a->error[gentle->scheme].cumulative);
}

/* --- what holds it up --- */

/* The time of this scheme's step if something were changed; infinite if that cannot be. */
static double step_if(struct advise *a, const struct cc_setting *changed, size_t scheme)
{
    struct candidate c;
    if (cc_advise_candidate(a, changed, scheme, &c, NULL) != CC_OK || c.refused[0] != '\0')
        return INFINITY;
    return c.p.step_s;
}

/* What the bottleneck's remedy would bring. */
static void remedy(struct advise *a, const struct cc_setting *s, const struct candidate *c,
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
    if (c->p.bottleneck == CC_BY_CODEC && s->exchange != CC_PS)
        return;
    double step = step_if(a, &changed, c->scheme);
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
    remedy(a, s, c, help, sizeof help);
    bool hides = s->timing.mode != CC_SEQUENTIAL || s->timing.consistency != CC_BULK;
    const char *of = hides ? "partly hidden, in a step of" : "of a step of";
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
    char with[64], without[64];
    workers_text(best, with);
    workers_text(raw, without);
    if (best == raw)
        return cc_record_note(a->record, e,
                              "enough workers: %s with fp32 (twice as many do less than a quarter "
                              "more in the same time)",
                              without);
    return cc_record_note(a->record, e,
                          "enough workers: %s with %s, %s with fp32 (twice as many do less than a "
                          "quarter more in the same time)",
                          with, name_of(a, best), without);
}

/* --- what else would help --- */

/* The fastest scheme of all that are in question if the setting were another. */
static double best_if(struct advise *a, const struct cc_setting *changed, size_t *scheme)
{
    double best = INFINITY;
    for (size_t i = 0; i < a->args->schemes.count; i++) {
        double step = step_if(a, changed, i);
        if (step < best) {
            best = step;
            *scheme = i;
        }
    }
    return best;
}

static int note_elsewhere(struct advise *a, const struct cc_setting *s, double step_s,
                          struct cc_error *e)
{
    struct cc_setting changed = *s;
    size_t scheme = 0, best_scheme = 0;
    int exchange = -1, status = CC_OK;
    char text[32];
    double best = INFINITY, overlapped = INFINITY;
    for (int x = 0; cc_exchange_names[x] != NULL; x++) {
        changed.exchange = (enum cc_exchange)x;
        double step = x != (int)s->exchange ? best_if(a, &changed, &scheme) : INFINITY;
        if (step < best) {
            best = step;
            exchange = x;
            best_scheme = scheme;
        }
    }
    if (best * WORTH < step_s)
        status =
            cc_record_note(a->record, e, "another exchange: with --exchange %s, %s would take %s%s",
                           cc_exchange_names[exchange], a->args->schemes.item[best_scheme]->name,
                           time_text(best, text),
                           at_hops(a, s, (enum cc_exchange)exchange, best_scheme) ? hops_text : "");
    changed = *s;
    changed.timing.mode = CC_OVERLAP;
    if (s->timing.mode == CC_SEQUENTIAL)
        overlapped = best_if(a, &changed, &scheme);
    if (status == CC_OK && overlapped * WORTH < step_s)
        status = cc_record_note(a->record, e, "overlapping: with --mode overlap, %s would take %s",
                                a->args->schemes.item[scheme]->name, time_text(overlapped, text));
    return status;
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
    int status = use ? note_use(a, s, where, best, raw, e) : note_stay(a, where, raw, other, e);
    if (status == CC_OK && use)
        status = note_gentler(a, c, ranked, e);
    if (status == CC_OK)
        status = note_bottleneck(a, s, best, e);
    if (status == CC_OK)
        status = note_workers(a, best, raw, e);
    return status == CC_OK ? note_elsewhere(a, s, best->p.step_s, e) : status;
}
