/* The limits on errors; fp32 at its best: predictions over all choices of exchange, step mode and
 * messages; and advice that follows from predictions. */
#include "models/verdict.h"

#include <math.h>
#include <stdio.h>

#include "models/system.h"

/* --- errors and losses --- */

double cc_accuracy_sum_error(const struct cc_accuracy *a)
{
    return a->error * a->encodings;
}

/* Whether the program's own trainings say nothing of sums that are encoded so often, or in part. */
static bool is_encoded_more(const struct cc_verdict_limits *l, const struct cc_accuracy *a)
{
    return l->by == CC_BY_EVIDENCE && !(a->encodings <= CC_EVIDENCE_ENCODINGS);
}

static enum cc_ruling rule_by_error(const struct cc_verdict_limits *l, const struct cc_accuracy *a)
{
    const double error = cc_accuracy_sum_error(a);
    if (isnan(a->error))
        return a->by_shape ? CC_OUT_BY_SHAPE : CC_OUT_UNKNOWN;
    if (a->absolute != NULL)
        return CC_OUT_ABSOLUTE;
    if (isnan(error))
        return CC_OUT_UNPREDICTED;
    return error > l->sum_error ? CC_OUT_ERROR : CC_ADMITTED;
}

/* Rules on a scheme that was trained. */
static enum cc_ruling rule_by_loss(const struct cc_verdict_limits *l, const struct cc_accuracy *a)
{
    return isinf(a->lost) ? CC_OUT_DIVERGED : a->lost > l->lost ? CC_OUT_LOST : CC_ADMITTED;
}

enum cc_ruling cc_verdict_rule(const struct cc_verdict_limits *l, const struct cc_accuracy *a)
{
    enum cc_ruling ruling = CC_ADMITTED;
    if (l->lossless && a->lossy)
        return CC_OUT_LOSSY;
    if (!a->lossy || l->by == CC_BY_ERRORS)
        return rule_by_error(l, a);
    if (!isnan(a->lost))
        ruling = rule_by_loss(l, a);
    else if (l->by == CC_BY_EVIDENCE)
        ruling = CC_OUT_UNTRIED;
    else if (a->trial == NULL)
        ruling = CC_OUT_UNTRAINED;
    else if (*a->trial == CC_TRIAL_COSTS)
        ruling = CC_OUT_COSTS;
    return ruling == CC_ADMITTED && is_encoded_more(l, a) ? rule_by_error(l, a) : ruling;
}

void cc_ruling_print(enum cc_ruling ruling, const struct cc_verdict_limits *l,
                     const struct cc_accuracy *a, char *out, size_t cap)
{
    static const char *const texts[] = {
        [CC_ADMITTED] = "",
        [CC_OUT_LOSSY] = "lossy",
        [CC_OUT_UNKNOWN] = "its error could not be measured",
        [CC_OUT_BY_SHAPE] = "singular values depend on the gradients: needs --trace",
        [CC_OUT_UNPREDICTED] =
            ("the error of what --keep leaves out is not predicted: sim --errors "
             "measures it"),
        [CC_OUT_UNTRIED] = "untried",
        [CC_OUT_UNTRAINED] = "not trained",
        [CC_OUT_DIVERGED] = "diverged in training",
        [CC_OUT_COSTS] = "costs accuracy in the trial"};
    if (ruling == CC_OUT_ABSOLUTE)
        (void)snprintf(out, cap, "%s depends on the gradients: needs --trace", a->absolute);
    else if (ruling == CC_OUT_ERROR)
        (void)snprintf(out, cap, "sum_error above %g", l->sum_error);
    else if (ruling == CC_OUT_LOST && l->of_loss)
        (void)snprintf(out, cap, "loss %.2f%% higher", 100 * a->lost);
    else if (ruling == CC_OUT_LOST)
        (void)snprintf(out, cap, "lost %.2f points", 100 * a->lost);
    else
        (void)snprintf(out, cap, "%s", texts[ruling]);
}

bool cc_verdict_uncertain(const struct cc_verdict_limits *l, const struct cc_accuracy *a)
{
    const enum cc_ruling ruling = cc_verdict_rule(l, a);
    const bool by_loss = a->lossy && l->by != CC_BY_ERRORS;
    if (by_loss && ruling == CC_ADMITTED && a->trial != NULL && *a->trial == CC_TRIAL_OPEN)
        return true;
    if (by_loss && (ruling == CC_ADMITTED || ruling == CC_OUT_LOST) && a->lost_low <= l->lost &&
        l->lost < a->lost_high)
        return !is_encoded_more(l, a) || rule_by_error(l, a) == CC_ADMITTED;
    return (ruling == CC_ADMITTED || ruling == CC_OUT_ERROR) &&
           (!by_loss || is_encoded_more(l, a)) && a->low * a->encodings <= l->sum_error &&
           l->sum_error < a->high * a->encodings;
}

/* --- choices --- */

/* Exchanges that add floats or gather payloads in any cluster. The library's own is one of these,
 * the sparse ones are for index-value pairs, and no training system sums floats by twoshot. */
static const enum cc_exchange exchanges[] = {CC_RING, CC_RABENSEIFNER, CC_RECDOUBLE,
                                             CC_NCCL, CC_PS,           CC_ALLGATHER};

/* Whether the workers have it: accelerators sum floats by NCCL, which other hosts lack. */
static bool has_exchange(const struct cc_setting *s, enum cc_exchange x)
{
    if (s->cluster.op != CC_ALLREDUCE && !cc_exchange_has(x, CC_X_HALVES))
        return false;
    return x == CC_NCCL ? s->cluster.accelerated
                        : !(s->cluster.accelerated && cc_exchange_has(x, CC_X_IN_LIBRARIES));
}

static const struct {
    enum cc_step_mode mode;
    enum cc_cut cut;
} ways[] = {{CC_SEQUENTIAL, CC_CUT_STEP},    {CC_OVERLAP, CC_CUT_BUCKETS},
            {CC_OVERLAP, CC_CUT_PARTITIONS}, {CC_OVERLAP, CC_CUT_TENSORS},
            {CC_OVERLAP, CC_CUT_STEP}, /* local steps: by --stream-parts */
            {CC_PIPE, CC_CUT_STEP}};

/* Whether a setting may be changed to this way. Local steps keep their mode: results that are taken
 * while the next steps are made train another model. */
static bool has_way(const struct cc_setting *s, enum cc_step_mode mode, enum cc_cut cut)
{
    if (s->timing.local.steps > 0)
        return mode == s->timing.mode && cut == CC_CUT_STEP;
    if (mode == CC_OVERLAP && cut == CC_CUT_STEP)
        return false;
    return mode != CC_PIPE || s->timing.mode == CC_PIPE;
}

size_t cc_choices(const struct cc_setting *s, struct cc_choice out[CC_MOST_CHOICES])
{
    size_t count = 0;
    out[count++] = (struct cc_choice){s->exchange, s->timing.mode, CC_CUT_OWN, 0};
    if (s->deployed != NULL) {
        for (size_t i = 0; i < CC_PLAN_SIZES && s->deployed->sizes; i++)
            out[count++] =
                (struct cc_choice){s->exchange, s->timing.mode, CC_CUT_SIZED, cc_plan_size(i)};
        return count;
    }
    for (size_t i = 0; i < sizeof exchanges / sizeof exchanges[0]; i++) {
        if (!has_exchange(s, exchanges[i]))
            continue;
        for (size_t k = 0; k < sizeof ways / sizeof ways[0]; k++)
            if (has_way(s, ways[k].mode, ways[k].cut))
                out[count++] = (struct cc_choice){exchanges[i], ways[k].mode, ways[k].cut, 0};
    }
    return count;
}

void cc_choice_apply(const struct cc_choice *c, struct cc_setting *s)
{
    const double bytes[] = {[CC_CUT_STEP] = INFINITY,
                            [CC_CUT_TENSORS] = 0,
                            [CC_CUT_PARTITIONS] = cc_systems[CC_SYSTEM_BYTEPS].fuse_bytes,
                            [CC_CUT_BUCKETS] = cc_systems[CC_SYSTEM_DDP].fuse_bytes};
    struct cc_timing *t = &s->timing;
    if (c->cut == CC_CUT_OWN)
        return;
    if (c->cut == CC_CUT_SIZED) {
        cc_plan_resize(t, c->fuse_bytes);
        return;
    }
    s->exchange = c->exchange;
    s->cluster.colocated = s->cluster.colocated && cc_exchange_has(c->exchange, CC_X_SERVERS);
    s->cluster.keep = cc_exchange_has(c->exchange, CC_X_MERGES) ? s->cluster.keep : 0;
    s->cluster.gather = cc_exchange_has(c->exchange, CC_X_STAGES) ? s->cluster.gather : NULL;
    t->mode = c->mode;
    t->consistency = CC_BULK;
    t->hidden_share = c->mode == CC_SEQUENTIAL ? t->hidden_share : 0;
    t->fuse_bytes = bytes[c->cut];
    t->first_fuse_bytes =
        c->cut == CC_CUT_BUCKETS ? cc_systems[CC_SYSTEM_DDP].first_fuse_bytes : -1;
    t->fuse_gradients = true;
}

void cc_choice_print(const struct cc_choice *c, char *out, size_t cap)
{
    static const char *const mode[] = {
        [CC_SEQUENTIAL] = "sequential", [CC_OVERLAP] = "overlapped", [CC_PIPE] = "pipelined"};
    const char *const cut[] = {[CC_CUT_OWN] = NULL,
                               [CC_CUT_STEP] = NULL,
                               [CC_CUT_TENSORS] = "tensor by tensor",
                               [CC_CUT_PARTITIONS] = cc_systems[CC_SYSTEM_BYTEPS].messages,
                               [CC_CUT_BUCKETS] = cc_systems[CC_SYSTEM_DDP].messages};
    if (c->cut == CC_CUT_SIZED) {
        (void)snprintf(out, cap, "%s, %s, buckets of %.3g MiB", cc_exchange_names[c->exchange],
                       mode[c->mode], c->fuse_bytes / (1024 * 1024));
        return;
    }
    (void)snprintf(out, cap, "%s, %s%s%s", cc_exchange_names[c->exchange], mode[c->mode],
                   cut[c->cut] != NULL ? ", " : "", cut[c->cut] != NULL ? cut[c->cut] : "");
}

/* --- the best of them --- */

/* The step of a choice; infinite if the payloads cannot take it. Only the own choice can fail,
 * where its exchange carries the payloads. */
static int step_of(struct cc_predictor *p, const struct cc_setting *s,
                   const struct cc_step_payloads *payloads, const struct cc_choice *c,
                   struct cc_prediction *out, struct cc_error *e)
{
    struct cc_setting changed = *s;
    cc_choice_apply(c, &changed);
    if (c->cut == CC_CUT_OWN &&
        cc_exchange_check(changed.exchange, payloads->reduction, NULL, NULL) == CC_OK)
        return cc_predict(p, &changed, payloads, out, e);
    if (cc_predict(p, &changed, payloads, out, NULL) != CC_OK)
        out->step_s = INFINITY;
    return CC_OK;
}

/* Finds the best of some choices, of which the first is the own one if there is any. */
static int best_of(struct cc_predictor *p, const struct cc_setting *s,
                   const struct cc_step_payloads *payloads, const struct cc_choice *choice,
                   size_t count, size_t *best, struct cc_prediction *out, struct cc_error *e)
{
    const bool varies = s->timing.straggler != CC_STEADY;
    struct cc_setting steady = *s;
    struct cc_prediction now;
    double least = INFINITY;
    steady.timing.straggler = CC_STEADY;
    for (size_t i = 0; i < count; i++) {
        CC_TRY(step_of(p, &steady, payloads, &choice[i], &now, e));
        if (i > 0 && !(now.step_s < least))
            continue;
        least = now.step_s;
        *best = i;
        *out = now;
    }
    return varies ? step_of(p, s, payloads, &choice[*best], out, e) : CC_OK;
}

struct cc_setting cc_data_parallel(const struct cc_setting *s)
{
    struct cc_setting plain = *s;
    plain.timing.local = (struct cc_local_timing){0};
    return plain;
}

int cc_verdict_best(struct cc_predictor *p, const struct cc_setting *s,
                    const struct cc_step_payloads *payloads, struct cc_best *out,
                    struct cc_error *e)
{
    struct cc_choice all[CC_MOST_CHOICES];
    size_t best = 0;
    out->local_steps = s->timing.local.steps * s->timing.local.parts;
    if (s->deployed != NULL) {
        struct cc_advice_plan plan;
        CC_TRY(cc_plan_best(p, s, payloads, s->deployed, &plan, &out->p, e));
        out->choice =
            (struct cc_choice){s->exchange, s->timing.mode,
                               plan.fuse_bytes > 0 ? CC_CUT_SIZED : CC_CUT_OWN, plan.fuse_bytes};
        return CC_OK;
    }
    CC_TRY(best_of(p, s, payloads, all, cc_choices(s, all), &best, &out->p, e));
    out->choice = all[best];
    return CC_OK;
}

/* --- at any bandwidth --- */

void cc_baseline_own(struct cc_predictor *p, const struct cc_setting *s,
                     const struct cc_step_payloads *payloads, struct cc_baseline *out)
{
    *out = (struct cc_baseline){.predictor = p,
                                .payloads = payloads,
                                .setting = *s,
                                .choices = 1,
                                .worth = s->deployed != NULL ? CC_PLAN_WORTH : CC_VERDICT_WORTH};
    out->choice[0] = (struct cc_choice){s->exchange, s->timing.mode, CC_CUT_OWN, 0};
}

int cc_baseline_open(struct cc_predictor *p, const struct cc_setting *s,
                     const struct cc_step_payloads *payloads, struct cc_baseline *out,
                     struct cc_error *e)
{
    enum { PER_DECADE = 2 };
    const int steps = (int)lround(log10(CC_VERDICT_MOST_BPS / CC_VERDICT_LEAST_BPS)) * PER_DECADE;
    struct cc_choice all[CC_MOST_CHOICES];
    const size_t count = cc_choices(s, all);
    bool wins[CC_MOST_CHOICES] = {true};
    struct cc_setting changed = *s;
    struct cc_prediction unused;
    size_t best = 0;
    changed.timing.straggler = CC_STEADY;
    CC_TRY(best_of(p, &changed, payloads, all, count, &best, &unused, e));
    wins[best] = true;
    for (int i = 0; i <= steps; i++) {
        changed.link.bw_bps = CC_VERDICT_LEAST_BPS * pow(10, (double)i / PER_DECADE);
        CC_TRY(best_of(p, &changed, payloads, all, count, &best, &unused, e));
        wins[best] = true;
    }
    cc_baseline_own(p, s, payloads, out);
    for (size_t i = 1; i < count; i++)
        if (wins[i])
            out->choice[out->choices++] = all[i];
    return CC_OK;
}

int cc_baseline_step(const struct cc_baseline *b, double bw_bps, double codec_speed, double *out,
                     struct cc_error *e)
{
    struct cc_setting s = b->setting;
    struct cc_prediction p = {.step_s = (double)INFINITY};
    size_t best = 0;
    s.link.bw_bps = bw_bps;
    s.codec_speed = codec_speed;
    CC_TRY(best_of(b->predictor, &s, b->payloads, b->choice, b->choices, &best, &p, e));
    *out = p.step_s;
    return CC_OK;
}

/* --- advice --- */

/* Searches over predictions. docs/advise.md.
 *
 * Bandwidths at which a scheme pays: its step is compared with the baseline's at six bandwidths a
 * decade, and each change of the answer is bisected to a millionth.
 *
 * Codecs with which it pays: faster ones never make it slower, so one bisection finds the factor.
 */

struct question {
    struct cc_predictor *p;
    struct cc_setting s;
    const struct cc_step_payloads *payloads;
    const struct cc_baseline *baseline;
    struct cc_error *e;
};

static struct question against(const struct cc_baseline *b, const struct cc_setting *s,
                               const struct cc_step_payloads *payloads, struct cc_error *e)
{
    return (struct question){
        .p = b->predictor, .s = *s, .payloads = payloads, .baseline = b, .e = e};
}

static int pays(struct question *a, bool *out)
{
    struct cc_prediction with;
    double without;
    CC_TRY(cc_predict(a->p, &a->s, a->payloads, &with, a->e));
    CC_TRY(cc_baseline_step(a->baseline, a->s.link.bw_bps, a->s.codec_speed, &without, a->e));
    *out = with.step_s * a->baseline->worth < without;
    return CC_OK;
}

static int pays_at(struct question *a, double bps, bool *out)
{
    a->s.link.bw_bps = bps;
    return pays(a, out);
}

static int pays_with(struct question *a, double factor, bool *out)
{
    a->s.codec_speed = a->baseline->setting.codec_speed * factor;
    return pays(a, out);
}

/* Finds the bandwidth or speed between two others at which paying begins or ends, to within a
 * factor. */
static int bisect(struct question *a, int (*ask)(struct question *a, double value, bool *out),
                  double low, double high, bool low_pays, double within, double *out)
{
    while (high / low > within) {
        const double middle = sqrt(low * high);
        bool there = false;
        CC_TRY(ask(a, middle, &there));
        if (there == low_pays)
            low = middle;
        else
            high = middle;
    }
    *out = sqrt(low * high);
    return CC_OK;
}

/* --- bandwidths --- */

/* Takes a range of bandwidths at which a scheme pays: the first, or the one that has `own`. */
static void take_range(struct cc_paying *r, double own, double from_bps, double below_bps)
{
    r->ranges++;
    if (r->ever && !(from_bps <= own && own < below_bps))
        return;
    r->ever = true;
    r->from_bps = from_bps;
    r->below_bps = below_bps;
}

int cc_advice_paying(const struct cc_baseline *baseline, const struct cc_setting *s,
                     const struct cc_step_payloads *payloads, struct cc_paying *out,
                     struct cc_error *e)
{
    enum { PER_DECADE = 6 };
    struct question a = against(baseline, s, payloads, e);
    struct cc_paying r = {.below_bps = INFINITY};
    const int steps = (int)lround(log10(CC_VERDICT_MOST_BPS / CC_VERDICT_LEAST_BPS)) * PER_DECADE;
    double before = 0, edge = 0, from = 0;
    bool paid = false;
    for (int i = 0; i <= steps; i++) {
        double bps = CC_VERDICT_LEAST_BPS * pow(10, (double)i / PER_DECADE);
        bool there = false;
        CC_TRY(pays_at(&a, bps, &there));
        if (i > 0 && there != paid)
            CC_TRY(bisect(&a, pays_at, before, bps, paid, 1 + 1e-6, &edge));
        if (there && !paid)
            from = edge;
        else if (!there && paid)
            take_range(&r, s->link.bw_bps, from, edge);
        paid = there;
        before = bps;
    }
    if (paid)
        take_range(&r, s->link.bw_bps, from, INFINITY);
    *out = r;
    return CC_OK;
}

/* --- the speed of codecs --- */

int cc_advice_codec_speed(const struct cc_baseline *baseline, const struct cc_setting *s,
                          const struct cc_step_payloads *payloads, double *out, struct cc_error *e)
{
    struct question a = against(baseline, s, payloads, e);
    bool fastest = false, slowest = false;
    CC_TRY(pays_with(&a, CC_ADVICE_MOST_SPEED, &fastest));
    if (fastest)
        CC_TRY(pays_with(&a, 1 / CC_ADVICE_MOST_SPEED, &slowest));
    *out = fastest ? 0 : INFINITY;
    return fastest && !slowest ? bisect(&a, pays_with, 1 / CC_ADVICE_MOST_SPEED,
                                        CC_ADVICE_MOST_SPEED, false, 1.001, out)
                               : CC_OK;
}
