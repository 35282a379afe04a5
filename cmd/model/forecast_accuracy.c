/* The figures that decide whether verdicts may name a scheme: its error in a setting, and what it
 * lost in the trainings that rule. */
#include <math.h>

#include "cmd/model/forecast.h"
#include "models/sharded.h"

/* Puts the accuracy that a scheme lost in the trainings that rule, if it was trained. */
static void put_losses(const struct cc_forecast *f, enum cc_exchange exchange, const char *name,
                       struct cc_accuracy *a)
{
    struct cc_evidence found;
    if (f->trainings != NULL) {
        const struct cc_trained *trained = cc_trainings_find(f->trainings, name);
        a->lost = cc_trained_lost(trained);
        a->lost_low = trained != NULL ? -trained->high : NAN;
        a->lost_high = trained != NULL ? -trained->low : NAN;
        a->trial = cc_trained_verdict(trained);
    } else if (f->limits.by == CC_BY_EVIDENCE &&
               cc_evidence_find(&f->evidence, exchange, name, &found)) {
        a->lost = found.lost;
        a->lost_low = found.low;
        a->lost_high = found.high;
    }
}

/* Whether payloads are decoded and encoded on their way, so that stages may have their schemes. */
static bool recodes(const struct cc_forecast *f, const struct cc_setting *s, size_t scheme)
{
    return s->cluster.workers > 1 && cc_forecast_takes_gather(f, scheme);
}

const struct cc_spec *cc_forecast_gather(const struct cc_forecast *f, const struct cc_setting *s,
                                         size_t scheme)
{
    return s->cluster.gather != NULL && recodes(f, s, scheme) ? f->cluster.gather.item[0] : NULL;
}

const struct cc_spec *cc_forecast_inner(const struct cc_forecast *f, const struct cc_setting *s,
                                        size_t scheme)
{
    return s->cluster.intra_scheme != NULL &&
                   (cc_exchange_has(s->exchange, CC_X_INSIDE) || cc_sharded_has_levels(s)) &&
                   recodes(f, s, scheme)
               ? f->cluster.inner.item[0]
               : NULL;
}

/* Takes the scheme of a stage into account: its error adds to those of the encodings before, of
 * which it replaces some, and what it lost counts if that is more, or not known. exact: those lose
 * nothing. */
static void add_stage(const struct cc_forecast *f, const struct cc_setting *s,
                      const struct cc_spec *stage, const struct cc_figures *figures,
                      double encodings, bool exact, struct cc_accuracy *a)
{
    const bool known = figures->of != NULL;
    const double error = known ? figures->of[0].error.error : NAN;
    if (a->error > 0 || !known) {
        a->encodings += encodings * (error / a->error - !exact);
    } else {
        a->error = error;
        a->low = figures->of[0].error.low;
        a->high = figures->of[0].error.high;
        a->encodings = encodings;
    }
    if ((stage->scheme->flags & CC_LOSSY) == 0)
        return;
    struct cc_accuracy own = {.lost = NAN, .lost_low = NAN, .lost_high = NAN};
    put_losses(f, s->exchange, stage->name, &own);
    if (!a->lossy || (!isnan(a->lost) && !(own.lost <= a->lost))) {
        a->lost = own.lost;
        a->lost_low = own.lost_low;
        a->lost_high = own.lost_high;
        a->trial = own.trial;
    }
    a->lossy = true;
}

struct cc_accuracy cc_forecast_accuracy(const struct cc_forecast *f, const struct cc_setting *s,
                                        size_t scheme)
{
    const struct cc_update_error *error = &f->figures.of[scheme].error;
    const struct cc_spec *spec = f->schemes->item[scheme];
    const struct cc_scheme *kind = spec->scheme;
    const bool drawn = f->cluster.trace == NULL;
    const enum cc_reduction reduction = f->payloads[scheme].reduction;
    /* The error of sums of which not everything is kept follows from no encoding. */
    const bool prunes = s->cluster.keep > 0 && reduction == CC_REDUCE_PAIRS;
    struct cc_accuracy a = {.error = error->error,
                            .low = error->low,
                            .high = error->high,
                            .encodings =
                                prunes ? NAN
                                : s->sharded.collectives.count > 0
                                    ? cc_sharded_encodings(s, &f->payloads[scheme])
                                    : cc_exchange_encodings(s->exchange, reduction, &s->cluster),
                            .lossy = (kind->flags & CC_LOSSY) != 0,
                            .lost = NAN,
                            .lost_low = NAN,
                            .lost_high = NAN,
                            .absolute = drawn ? kind->absolute_param : NULL,
                            .by_shape = drawn && cc_update_error_by_shape(spec)};
    const struct cc_spec *gather = cc_forecast_gather(f, s, scheme);
    const struct cc_spec *inner = cc_forecast_inner(f, s, scheme);
    const bool exact = a.error == 0;
    if (cc_forecast_is_plain(f, scheme)) { /* gradients are exact, and only sums are rounded */
        a.lossy = false;
        a.encodings -= s->dtype == CC_ELEMENT_FP32 ? 0 : 1;
    }
    if (a.lossy)
        put_losses(f, s->exchange, spec->name, &a);
    if (gather != NULL)
        add_stage(f, s, gather, &f->gather_figures, 1, exact, &a);
    if (inner != NULL) /* a gradient but for the own slice */
        add_stage(f, s, inner, &f->inner_figures, 1 - 1.0 / cc_cluster_per_host(&s->cluster), exact,
                  &a);
    return a;
}
