/* commcomp advise: ranks the plans of a setting by the predicted step, rules out those that cost
 * accuracy or do not fit, and recommends one. */
#include "cmd/model/advise.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/input/carries.h"
#include "cmd/input/source.h"
#include "core/interrupt.h"
#include "core/memory.h"
#include "core/units.h"

static const struct cc_column columns[] = {
    CC_COLUMN(rank, CC_SETTING),
    CC_COLUMN(recommended, CC_ANSWER),
    CC_COLUMN(plan, CC_SETTING),
    CC_SETTING_COLUMNS,
    CC_COLUMN(fuse_bytes, CC_DETAIL),
    CC_COLUMN(payload_bytes, CC_DETAIL, .hidden = true),
    CC_PREDICTION_COLUMNS,
    CC_SHARDED_COLUMNS(CC_ORIGIN_COMPUTED, CC_DETAIL),
    CC_COLUMN(step_low_s, CC_PART),
    CC_COLUMN(step_high_s, CC_PART),
    CC_COLUMN(gain, CC_ANSWER),
    CC_COLUMN(gain_low, CC_DETAIL),
    CC_COLUMN(gain_high, CC_DETAIL),
    CC_COLUMN(pays, CC_MAIN, .note = "by at least " CC_VERDICT_WORTH_TEXT),
    CC_COLUMN(pays_from_bps, CC_DETAIL),
    CC_COLUMN(pays_below_bps, CC_DETAIL),
    CC_COLUMN(nmse, CC_DETAIL, .hidden = true, .note = "of a single settled step"),
    CC_ERROR_COLUMNS,
    CC_COLUMN(evidence, CC_MAIN),
    CC_COLUMN(evidence_low, CC_DETAIL, .hidden = true),
    CC_COLUMN(evidence_high, CC_DETAIL, .hidden = true),
    CC_COLUMN(accuracy, CC_MAIN, .note = "--accuracy: after trainings with the scheme"),
    CC_COLUMN(loss, CC_DETAIL, .note = "--accuracy"),
    CC_COLUMN(bits_per_byte, CC_MAIN, .note = "--accuracy"),
    CC_COLUMN(loss_rise, CC_MAIN, .note = "--accuracy"),
    CC_COLUMN(loss_rise_low, CC_DETAIL, .note = "--accuracy"),
    CC_COLUMN(loss_rise_high, CC_DETAIL, .note = "--accuracy"),
    CC_COLUMN(difference, CC_MAIN, .note = "--accuracy"),
    CC_COLUMN(difference_low, CC_DETAIL, .note = "--accuracy"),
    CC_COLUMN(difference_high, CC_DETAIL, .note = "--accuracy"),
    CC_COLUMN(undecided, CC_ANSWER),
    CC_COLUMN(left_out, CC_ANSWER),
    {.key = NULL},
};

/* Which schemes may be recommended. */
struct limit_options {
    struct cc_given given;
    double max_nmse, max_loss, max_rise;
    const char *accuracy, *measured;
    bool lossless, all, why;
};

static int parse_nmse(const char *text, void *member, struct cc_error *e)
{
    char *end;
    const double v = strtod(text, &end);
    if (end == text || *end != '\0' || !(v >= 0) || isinf(v))
        return cc_usage(e, "'%s' is not a number from 0 on, as 0.1", text);
    *(double *)member = v;
    return CC_OK;
}

#define MEMBER(m) CC_OPTION_AT(struct limit_options, m)
static const struct cc_option limit_options[] = {
    {.name = "max-nmse",
     MEMBER(max_nmse),
     .parse = parse_nmse,
     .value = "X",
     .def = "1",
     .group = CC_GROUP_SEND,
     .help = "leave out schemes whose sum_error, the error of the sum over the workers "
             "(docs/errors.md), is larger; 1 is that of sending nothing. If it is given, errors "
             "rule in place of our own trainings (docs/trial.md)"},
    {.name = "accuracy",
     MEMBER(accuracy),
     .value = "FILE",
     .file = CC_READS_FILE,
     .group = CC_GROUP_SEND,
     .brief = "a result of `commcomp train`: which schemes still learn",
     .help =
         "a result of `commcomp train` (.csv or .json), which rules in place of our own trainings: "
         "leave out lossy schemes that lost more accuracy to fp32 than --max-loss (language "
         "models: whose loss rose more than --max-loss-rise), diverged, or were not trained"},
    {.name = "max-loss",
     MEMBER(max_loss),
     .kind = CC_TAKES_SHARE,
     .value = "SHARE",
     .def = CC_TRIAL_MAX_LOSS_TEXT,
     .group = CC_GROUP_SEND,
     .help = "the loss of accuracy in trainings that is allowed, in points: 0.5%"},
    {.name = "max-loss-rise",
     MEMBER(max_rise),
     .kind = CC_TAKES_SHARE,
     .value = "SHARE",
     .def = CC_TRIAL_MAX_RISE_TEXT,
     .group = CC_GROUP_SEND,
     .help = "--accuracy of language models: by how much the test loss (bits a byte) may exceed "
             "fp32's, as a share of fp32's: 2%"},
    {.name = "lossless",
     MEMBER(lossless),
     .group = CC_GROUP_SEND,
     .help = "leave out schemes that change the values"},
    {.name = "measured",
     MEMBER(measured),
     .value = "SCHEME=TIME,...|FILE",
     .group = CC_GROUP_STEP,
     .brief = "steps of your own job, as in fp32=869ms,fp16=526ms",
     .help = "steps of your own job, as in fp32=869ms,fp16=526ms, or a file with columns scheme "
             "and step_s (the hook's .csv, a .json of run): the share of the line rate that is "
             "reached, what overlapping loses, and without --compute the compute time, are fitted "
             "to them, and the rest is predicted with these"},
    {.name = "all",
     MEMBER(all),
     .group = CC_GROUP_OUTPUT,
     .brief = "all candidates, not five",
     .help = "all candidates, not five; files have them always"},
    {.name = "why",
     MEMBER(why),
     .group = CC_GROUP_OUTPUT,
     .brief = "all reasons, not three",
     .help = "all reasons, not three; files have them always"},
    {.name = NULL},
};

/* The columns of tables without --columns and --wide: of one setting, and of several. */
#define USUAL                                                                                      \
    "recommended,plan,scheme,fuse_bytes,step_s,step_low_s,step_high_s,gain,cu,undecided,left_out"
#define USUAL_OF_OWN                                                                               \
    "rank,recommended,scheme,exchange,bits_per_value,codec_s,comm_s,step_s,speedup_best,pays,"     \
    "left_out"
#define USUAL_OF_SEVERAL                                                                           \
    "recommended,plan,scheme,exchange,workers,servers,bw_bps,latency_s,step_s,step_low_s,"         \
    "step_high_s,gain"

static const struct cc_option_use options[] = {
    CC_CLUSTER_OPTIONS, {.rows = cc_verdict_options}, {.rows = limit_options}, CC_FIGURES_OPTIONS,
    {.rows = NULL},
};

/* --- candidates --- */

/* Sorts by step time; candidates that are ruled out follow, in the order of the schemes. */
static int by_step(const void *x, const void *y)
{
    const struct candidate *a = x, *b = y;
    const bool out_a = a->refused[0] != '\0', out_b = b->refused[0] != '\0';
    if (out_a != out_b)
        return out_a - out_b;
    if (!out_a && a->p.step_s != b->p.step_s)
        return a->p.step_s < b->p.step_s ? -1 : 1;
    if (a->scheme != b->scheme)
        return a->scheme < b->scheme ? -1 : 1;
    return (a->plan.by > b->plan.by) - (a->plan.by < b->plan.by);
}

/* The interval of a candidate's step, and of its gain over what one runs today. */
static int find_intervals(struct advise *a, const struct ranking *r, struct candidate *c,
                          struct cc_error *e)
{
    struct cc_predictor *p = &a->forecast.predictor;
    const struct cc_step_of with = {&c->s, c->payloads}, today = {&r->today.s, r->today.payloads};
    if (c->p.step_s == 0 || r->today.p.step_s == 0)
        return CC_OK;
    CC_TRY(cc_interval_step(p, &r->doubt, &c->s, c->payloads, &c->step, e));
    return cc_interval_gain(p, &r->doubt, &with, &today, &c->gain, e);
}

static int rank_candidates(struct advise *a, struct ranking *r, struct cc_error *e)
{
    CC_TRY(cc_advise_list(a, r, e));
    for (size_t i = 0; i < r->count; i++) {
        struct candidate *c = &r->c[i];
        CC_TRY(find_intervals(a, r, c, e));
        if (c->refused[0] != '\0')
            continue;
        r->ranked++;
        CC_TRY(cc_advice_paying(&r->baseline, &c->s, c->payloads, &c->pays, e));
    }
    qsort(r->c, r->count, sizeof *r->c, by_step);
    return CC_OK;
}

/* Finds the baseline at its best, and as it comes. It is among the schemes. */
static int find_baseline(struct advise *a, struct ranking *r, struct cc_error *e)
{
    struct cc_forecast *f = &a->forecast;
    const struct cc_deployment *by = &cc_deployments[CC_BY_OWN];
    struct cc_setting from = *r->s;
    size_t plain = 0;
    CC_TRY(cc_forecast_check_baseline(f, r->s, e));
    while (strcmp(cc_forecast_scheme(f, plain), cc_forecast_baseline(f)) != 0)
        plain++;
    if (a->deployed) {
        const enum cc_system_id system = f->cluster.system.id;
        by = &cc_deployments[system == CC_SYSTEM_HOROVOD  ? CC_BY_HOROVOD
                             : system == CC_SYSTEM_BYTEPS ? CC_BY_BYTEPS
                                                          : CC_BY_DDP];
        cc_plan_apply(&(struct cc_advice_plan){by, 0}, r->s, &from);
        from.deployed = by;
    }
    CC_TRY(cc_verdict_best(&f->predictor, &from, &f->baseline, &r->best, e));
    CC_TRY(cc_baseline_open(&f->predictor, &from, &f->baseline, &r->baseline, e));
    r->best_at = from;
    cc_choice_apply(&r->best.choice, &r->best_at);
    CC_TRY(cc_advise_candidate(a, a->deployed ? r->s : &r->best_at, by, plain, &r->base, e));
    r->today = r->base;
    if (!a->deployed)
        return CC_OK;
    r->today.plan.fuse_bytes = 0;
    cc_plan_apply(&r->today.plan, r->s, &r->today.s);
    return cc_predict(&f->predictor, &r->today.s, r->today.payloads, &r->today.p, e);
}

/* The fastest candidate that pays; with `certain`, of those whose ruling is. NULL if none does. */
static const struct candidate *find_paying(const struct advise *a, const struct ranking *r,
                                           bool certain)
{
    for (size_t i = 0; i < r->ranked; i++)
        if (!cc_advise_is_baseline(a, &r->c[i]) && !(certain && r->c[i].uncertain))
            return r->c[i].p.step_s * r->baseline.worth < r->best.p.step_s ? &r->c[i] : NULL;
    return NULL;
}

/* Chooses the recommendation, if a candidate pays: of those that are close to the fastest, the one
 * with the least sum_error, or that lost least in the user's trainings: in our own, what admitted
 * schemes lost differs by chance. Uncertain candidates are for want of others. Where states do not
 * fit, it is the fastest deployment that has them fit. */
static void recommend(const struct advise *a, struct ranking *r)
{
    const bool by_error = a->forecast.limits.by != CC_BY_TRAININGS;
    const double close = a->deployed ? CC_ADVISE_CLOSE_PLAN : CC_ADVISE_CLOSE;
    if (!r->fits) {
        r->use = r->fastest = r->ranked > 0 ? r->c : NULL;
        return;
    }
    r->fastest = find_paying(a, r, true);
    const bool certain = r->fastest != NULL;
    if (!certain)
        r->fastest = find_paying(a, r, false);
    if (r->fastest == NULL)
        return;
    for (const struct candidate *c = r->fastest;
         c < r->c + r->ranked && c->p.step_s <= close * r->fastest->p.step_s; c++)
        if (!cc_advise_is_baseline(a, c) && !(certain && c->uncertain) &&
            (r->use == NULL ||
             (by_error ? c->compared < r->use->compared : c->lost < r->use->lost)))
            r->use = c;
}

/* --- rows --- */

/* Sets the accuracy that the scheme lost in our own trainings, unless the user's rule. */
static void put_evidence(const struct advise *a, size_t row, const struct candidate *c)
{
    struct cc_evidence found;
    if (a->forecast.limits.by == CC_BY_TRAININGS ||
        !cc_evidence_find(&a->forecast.evidence, c->s.exchange,
                          cc_forecast_scheme(&a->forecast, c->scheme), &found) ||
        isinf(found.lost))
        return;
    const struct cc_number_column all[] = {{CC_KEY(evidence), found.lost},
                                           {CC_KEY(evidence_low), found.low},
                                           {CC_KEY(evidence_high), found.high}};
    cc_record_numbers(a->record, row, all, sizeof all / sizeof all[0]);
}

/* The step with its interval, and the gain over what one runs today. */
static void put_steps(const struct advise *a, size_t row, const struct ranking *r,
                      const struct candidate *c)
{
    const bool known = c->step.high > 0;
    const struct cc_number_column all[] = {
        {CC_KEY(speedup_best), cc_forecast_speedup(r->best.p.step_s, c->p.step_s)},
        {CC_KEY(step_low_s), known ? c->step.low : NAN},
        {CC_KEY(step_high_s), known ? c->step.high : NAN},
        {CC_KEY(gain), known ? r->today.p.step_s / c->p.step_s : NAN},
        {CC_KEY(gain_low), known ? c->gain.low : NAN},
        {CC_KEY(gain_high), known ? c->gain.high : NAN},
        {CC_KEY(cu), cc_step_utilization(c->p.compute_s, c->p.step_s)}};
    cc_record_numbers(a->record, row, all, sizeof all / sizeof all[0]);
}

/* The end of the scheme's trainings, if it was trained. */
static void put_trained(const struct advise *a, size_t row, const struct candidate *c)
{
    const struct cc_trained *t =
        cc_trainings_find(&a->trainings, cc_forecast_scheme(&a->forecast, c->scheme));
    if (t == NULL)
        return;
    const struct cc_number_column accuracies[] = {{CC_KEY(accuracy), t->accuracy},
                                                  {CC_KEY(difference), t->difference},
                                                  {CC_KEY(difference_low), t->low},
                                                  {CC_KEY(difference_high), t->high}};
    const struct cc_number_column losses[] = {
        {CC_KEY(loss), t->by == CC_TRAINED_LOSS ? t->loss : NAN},
        {CC_KEY(bits_per_byte), t->by == CC_TRAINED_BITS ? t->loss : NAN},
        {CC_KEY(loss_rise), -t->difference},
        {CC_KEY(loss_rise_low), -t->high},
        {CC_KEY(loss_rise_high), -t->low}};
    if (cc_trained_by_loss(t->by))
        cc_record_numbers(a->record, row, losses, sizeof losses / sizeof losses[0]);
    else
        cc_record_numbers(a->record, row, accuracies, sizeof accuracies / sizeof accuracies[0]);
}

/* `rank` is 0 for candidates that are ruled out. */
static int own_columns(struct advise *a, size_t row, size_t rank, const struct candidate *c,
                       struct cc_error *e)
{
    char pays[80];
    const bool out = rank == 0;
    const struct cc_number_column all[] = {
        {CC_KEY(rank), out ? NAN : (double)rank},
        {CC_KEY(fuse_bytes), c->s.timing.fuse_bytes > 0 ? c->s.timing.fuse_bytes : NAN},
        {CC_KEY(nmse), a->forecast.figures.of[c->scheme].error.nmse},
        {CC_KEY(pays_from_bps), !out && c->pays.from_bps > 0 ? c->pays.from_bps : NAN},
        {CC_KEY(pays_below_bps), !out && c->pays.ever ? c->pays.below_bps : NAN}};
    cc_record_numbers(a->record, row, all, sizeof all / sizeof all[0]);
    if (a->deployed)
        CC_TRY(cc_record_text(a->record, row, CC_KEY(plan), c->plan.by->name, e));
    put_trained(a, row, c);
    put_evidence(a, row, c);
    if (c->uncertain && !out)
        cc_record_bool(a->record, row, CC_KEY(undecided), true);
    if (out)
        return cc_record_text(a->record, row, CC_KEY(left_out), c->refused, e);
    if (cc_advise_is_baseline(a, c))
        return CC_OK;
    cc_advise_pays(&c->pays, pays);
    return cc_record_text(a->record, row, CC_KEY(pays), pays, e);
}

static int add_row(struct advise *a, const struct ranking *r, const struct candidate *c,
                   size_t rank, bool recommended, bool matters, struct cc_error *e)
{
    struct cc_forecast *f = &a->forecast;
    const struct cc_prediction *p = c->p.step_s > 0 ? &c->p : NULL;
    struct cc_prediction raw = {.step_s = (double)NAN};
    if (cc_predict(&f->predictor, &c->s, cc_forecast_plain(f, &c->s), &raw, NULL) != CC_OK)
        raw.step_s = NAN; /* the exchange takes no floats */
    size_t row;
    CC_TRY(cc_forecast_row(f, a->record, c->scheme, &c->s, p, raw.step_s, &row, e));
    if (p != NULL)
        put_steps(a, row, r, c);
    cc_record_bool(a->record, row, CC_KEY(recommended), recommended);
    a->record->rows[row].detail = !matters;
    cc_forecast_error_columns(f, a->record, row, c->scheme, &c->s);
    return own_columns(a, row, rank, c, e);
}

/* Whether the recommendation is the baseline in another setting than the candidates', which then
 * has a row of its own. */
static bool is_elsewhere(const struct advise *a, const struct ranking *r)
{
    return !a->deployed && r->use == NULL && r->s->cluster.workers > 1 &&
           r->best.choice.cut != CC_CUT_OWN;
}

/* The rows that matter, beside the recommended one and that of what one runs today: the fastest
 * three of those that are admitted, and, of several settings, none. */
static bool matters(const struct advise *a, size_t rank)
{
    return a->settings == 1 && rank > 0 && rank <= 3;
}

static int add_rows(struct advise *a, const struct ranking *r, struct cc_error *e)
{
    const bool elsewhere = is_elsewhere(a, r);
    bool due = elsewhere, refused = false;
    size_t rank = 0;
    for (size_t i = 0; i < r->count; i++) {
        const struct candidate *c = &r->c[i];
        const bool baseline = cc_advise_is_baseline(a, c) && c->plan.by == r->base.plan.by;
        const bool use = r->use != NULL ? c == r->use : !elsewhere && baseline;
        const bool out = i >= r->ranked;
        if (due && (i == r->ranked || r->base.p.step_s <= c->p.step_s)) {
            CC_TRY(add_row(a, r, &r->base, ++rank, true, true, e));
            due = false;
        }
        rank += !out;
        /* the first of those that the trainings rule out and that would be faster */
        const bool missed = out && !refused && a->settings == 1 && c->p.step_s > 0 &&
                            c->p.step_s < (r->use != NULL ? r->use : &r->base)->p.step_s;
        refused |= missed;
        CC_TRY(add_row(
            a, r, c, out ? 0 : rank, use,
            use || missed || matters(a, out ? 0 : rank) || (baseline && a->settings == 1), e));
    }
    return due ? add_row(a, r, &r->base, ++rank, true, true, e) : CC_OK;
}

static int one_setting(void *arg, const struct cc_setting *given, struct cc_error *e)
{
    struct advise *a = arg;
    struct cc_setting s = *given;
    struct ranking r = {.s = &s};
    int status = CC_OK;
    if (cc_interrupted())
        return CC_OK;
    CC_TRY(cc_advise_fit(a, &s, &r.fit, e));
    r.doubt =
        cc_doubt_of(&s, a->codec_origin, r.fit.compute_s > 0 ? CC_TIME_MEASURED : a->compute_origin,
                    r.fit.count > 0 || a->forecast.cluster.network.calibration != NULL);
    cc_advise_memory(a, &r);
    CC_TRY_OUT(find_baseline(a, &r, e));
    CC_TRY_OUT(find_intervals(a, &r, &r.base, e));
    CC_TRY_OUT(rank_candidates(a, &r, e));
    recommend(a, &r);
    if (r.ranked > 0) {
        const struct candidate *c = r.use != NULL ? r.use : r.c;
        CC_TRY_OUT(cc_forecast_consider(&a->forecast, &s, c->scheme, c->p.step_s, &r.best, e));
    }
    CC_TRY_OUT(add_rows(a, &r, e));
    CC_TRY_OUT(cc_advise_answer(a, &r, e));
    a->answered++;
out:
    free(r.c);
    return status;
}

/* --- the command --- */

static int add_scheme(const char *name, struct cc_spec_list *list, struct cc_error *e)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->item[i]->name, name) == 0)
            return CC_OK;
    return cc_spec_list_parse(name, list, e);
}

/* Adds gradients as they are and the baseline to the schemes: the others are compared with them. */
static int add_compared(struct advise *a, struct cc_error *e)
{
    struct cc_spec_list *list = a->forecast.schemes;
    CC_TRY(add_scheme(cc_element_names[a->forecast.cluster.setting.dtype], list, e));
    return add_scheme(cc_forecast_baseline(&a->forecast), list, e);
}

/* Reads the trainings that decide. Losses have a limit of their own. */
static int read_trainings(const struct limit_options *o, struct advise *a, struct cc_error *e)
{
    struct cc_verdict_limits *l = &a->forecast.limits;
    const bool accuracy = cc_given(o, &o->max_loss) != NULL;
    const bool rise = cc_given(o, &o->max_rise) != NULL;
    CC_TRY(cc_trainings_read(o->accuracy, &a->trainings, e));
    l->of_loss = cc_trained_by_loss(a->trainings.by);
    if (l->of_loss ? accuracy : rise)
        return cc_usage(e, "--max-loss%s: %s has %s: give --max-loss%s", accuracy ? "" : "-rise",
                        o->accuracy, accuracy ? "losses of language models" : "accuracies",
                        accuracy ? "-rise" : "");
    l->by = CC_BY_TRAININGS;
    l->lost = l->of_loss ? o->max_rise : o->max_loss;
    a->forecast.trainings = &a->trainings;
    return CC_OK;
}

/* Reads the limits, and the trainings that decide in place of errors. */
static int parse_limits(const struct cc_args *args, struct advise *a, bool *all, struct cc_error *e)
{
    struct cc_verdict_limits *l = &a->forecast.limits;
    struct limit_options o = {.measured = NULL};
    CC_TRY(cc_options_read(args, limit_options, &o, e));
    *all = o.all;
    a->record->all_rows = o.all;
    a->record->reasons = o.why;
    if (o.measured != NULL)
        CC_TRY(cc_advise_parse_measured(o.measured, a, e));
    l->lossless = o.lossless;
    l->sum_error = o.max_nmse;
    l->lost = o.max_loss;
    const bool by_errors = cc_given(&o, &o.max_nmse) != NULL;
    if (by_errors && (o.accuracy != NULL || cc_given(&o, &o.max_loss) != NULL))
        return cc_usage(e, "--max-nmse and %s: either errors rule, or trainings",
                        o.accuracy != NULL ? "--accuracy" : "--max-loss");
    if (by_errors)
        l->by = CC_BY_ERRORS;
    if (o.accuracy != NULL)
        return read_trainings(&o, a, e);
    if (cc_given(&o, &o.max_rise) != NULL)
        return cc_usage(e, "--max-loss-rise goes with --accuracy FILE of language models: our own "
                           "trainings have accuracies");
    return CC_OK;
}

/* Without --scheme, the schemes that were trained are candidates, too: powersgd:rank=2. One that
 * this program lacks, as of a plugin, is none. */
static int add_trained(struct advise *a, struct cc_error *e)
{
    for (size_t i = 0; i < a->trainings.count; i++) {
        struct cc_error unknown = {""};
        const int status = add_scheme(a->trainings.of[i].scheme, a->forecast.schemes, &unknown);
        if (status == CC_FAIL)
            return cc_fail(e, "%s", unknown.text);
    }
    return CC_OK;
}

/* Whether candidates are what people can deploy: unless options decide how gradients are exchanged,
 * workers make local steps, or the system is one of commcomp's own. */
static bool deploys(const struct cc_cluster_args *c)
{
    return cc_cluster_pinned(c) == NULL && c->setting.timing.local.steps == 0 &&
           (c->system.id == CC_SYSTEM_DDP || c->system.id == CC_SYSTEM_HOROVOD ||
            c->system.id == CC_SYSTEM_BYTEPS);
}

/* Whether anybody asks for more than the answer: all rows, or a file of them. */
static bool wants_all(const struct cc_args *args, bool all)
{
    const struct cc_output_options *o = &args->output;
    return all || o->output != NULL || o->wide || o->columns != NULL ||
           o->format == CC_FORMAT_CSV || o->format == CC_FORMAT_JSON;
}

/* Where the codecs' times and that of computing are from. */
static void find_origins(struct advise *a)
{
    const struct cc_forecast *f = &a->forecast;
    const struct cc_cluster_args *c = &f->cluster;
    a->codec_origin = f->profile_args.device != NULL ? CC_TIME_ASSUMED
                      : f->profile_args.path != NULL ? CC_TIME_EXACT
                                                     : CC_TIME_MEASURED;
    a->compute_origin =
        c->compute_given || c->setting.timing.compute_s == 0 ? CC_TIME_EXACT : CC_TIME_PUBLISHED;
}

static int count_setting(void *arg, const struct cc_setting *s, struct cc_error *e)
{
    (void)s;
    (void)e;
    ++*(size_t *)arg;
    return CC_OK;
}

static int parse(struct cc_args *args, struct advise *a, struct cc_error *e)
{
    struct cc_forecast *f = &a->forecast;
    bool all = false;
    a->chosen = args->schemes.count > 0;
    CC_TRY(cc_forecast_parse(args, f, e));
    if (f->cluster.sharded.tensor_parallel > 1)
        return cc_usage(e, "--tp: no plan has it; `commcomp model` predicts steps with it");
    if (f->cluster.system.file != NULL)
        return cc_usage(e,
                        "--system %s: no plan has a list of your own; `commcomp model` predicts "
                        "its steps",
                        f->cluster.system.file);
    CC_TRY(parse_limits(args, a, &all, e));
    a->deployed = deploys(&f->cluster);
    a->system_given = cc_given(&f->cluster, &f->cluster.system) != NULL;
    f->deploys = a->deployed;
    f->other_exchanges = !a->deployed;
    find_origins(a);
    CC_TRY(cc_cluster_args_each(&f->cluster, count_setting, &a->settings, e));
    CC_TRY(cc_evidence_open(f->cluster.net, &f->evidence, e));
    if (!a->chosen)
        CC_TRY(cc_advise_default_schemes(a, wants_all(args, all), e));
    if (!a->chosen)
        CC_TRY(add_trained(a, e));
    for (size_t i = 0; !a->chosen && i < a->measured_count; i++)
        CC_TRY(add_scheme(a->measured[i].scheme, f->schemes, e));
    CC_TRY(add_compared(a, e));
    return cc_record_choose_usual(&args->record,
                                  a->settings > 1 ? USUAL_OF_SEVERAL
                                  : a->deployed   ? USUAL
                                                  : USUAL_OF_OWN,
                                  e);
}

static int run(struct cc_args *args, struct cc_error *e)
{
    struct advise a = {.record = &args->record, .args = args};
    int status = CC_OK;
    CC_TRY_OUT(parse(args, &a, e));
    CC_TRY_OUT(cc_forecast_load(&a.forecast, true, e));
    CC_TRY_OUT(cc_advise_sum_payloads(&a, e));
    if (!cc_interrupted())
        CC_TRY_OUT(cc_cluster_args_each(&a.forecast.cluster, one_setting, &a, e));
    if (!cc_interrupted()) {
        const size_t first = args->record.note_count;
        CC_TRY_OUT(cc_advise_note_basis(&a, e));
        cc_record_move_notes(&args->record, first, CC_NOTE_REASON);
    }
out:
    args->record.partial = cc_interrupted();
    cc_forecast_free(&a.forecast);
    cc_trainings_free(&a.trainings);
    free(a.summed);
    for (int i = 0; i < CC_DEPLOYMENTS; i++)
        cc_forecast_weights_free(&a.weights[i]);
    return status;
}

const struct cc_command cc_command_advise = {
    .name = "advise",
    .summary = "what to use on your network, what it gains, and how sure that is",
    .operands = "",
    .description =
        "Says what to use on a net, a cluster and a network, among what people can deploy: "
        "PyTorch's "
        "DDP with its hooks or commcomp's, torchft's quantized all-reduce, sharding where memory "
        "asks for it. The first sentence has the plan, what it gains over what one runs today, "
        "with "
        "its interval, and how sure that is; the lines to paste, the command that checks it, the "
        "rows that matter and three reasons follow. Step times are those of `commcomp model`; "
        "schemes that cost accuracy in trainings are left out.\n\nLists, as in --bw 10mbps,1gbps, "
        "give a sentence for each combination. Options that decide how gradients are exchanged, as "
        "--exchange, have all schemes ranked in that setting instead.",
    .examples =
        "  commcomp advise --net resnet50 --bw 10gbps --workers 16 --device a100\n"
        "  commcomp advise --net llama2-7b --bw 100gbps --workers 32 --device h100\n"
        "  commcomp advise --net my.json --bw 1gbps --workers 4 --measured fp32=869ms,fp16=526ms\n"
        "  commcomp advise --net resnet110 --accuracy train.csv --max-loss 0.5%\n"
        "  commcomp advise --net resnet50 --bw 100mbps --exchange ring --max-nmse 0.1\n"
        "  commcomp advise --net my.json --compute 80ms --trace captured --bw wan\n",
    .page = "docs/advise.md",
    .options = options,
    .columns = columns,
    .takes_schemes = CC_SCHEMES,
    .run = run,
};
