/* commcomp advise: ranks the schemes of a setting by the predicted step, rules out those with too
 * large an error, and names other changes that would help. */
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
    CC_SETTING_COLUMNS,
    CC_COLUMN(payload_bytes, CC_DETAIL, .hidden = true),
    CC_PREDICTION_COLUMNS,
    CC_COLUMN(pays, CC_MAIN, .note = "by at least " CC_VERDICT_WORTH_TEXT),
    CC_COLUMN(pays_from_bps, CC_DETAIL),
    CC_COLUMN(pays_below_bps, CC_DETAIL),
    CC_COLUMN(workers_enough, CC_PART),
    CC_COLUMN(nmse, CC_DETAIL, .hidden = true, .note = "of a single settled step"),
    CC_ERROR_COLUMNS,
    CC_COLUMN(evidence, CC_MAIN),
    CC_COLUMN(evidence_low, CC_DETAIL, .hidden = true),
    CC_COLUMN(evidence_high, CC_DETAIL, .hidden = true),
    CC_COLUMN(accuracy, CC_MAIN, .note = "--accuracy: after trainings with the scheme"),
    CC_COLUMN(difference, CC_MAIN, .note = "--accuracy"),
    CC_COLUMN(difference_low, CC_DETAIL, .note = "--accuracy"),
    CC_COLUMN(difference_high, CC_DETAIL, .note = "--accuracy"),
    CC_COLUMN(left_out, CC_ANSWER),
    {.key = NULL},
};

/* Which schemes may be recommended. */
struct limit_options {
    struct cc_given given;
    double max_nmse, max_loss;
    const char *accuracy;
    bool lossless;
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
     .help =
         "a result of `commcomp train` (.csv or .json), which rules in place of our own trainings: "
         "leave out lossy schemes that lost more accuracy to fp32 than --max-loss, diverged, or "
         "were not trained"},
    {.name = "max-loss",
     MEMBER(max_loss),
     .kind = CC_TAKES_SHARE,
     .value = "SHARE",
     .def = CC_TRIAL_MAX_LOSS_TEXT,
     .group = CC_GROUP_SEND,
     .help = "the loss of accuracy in trainings that is allowed, in points: 0.5%"},
    {.name = "lossless",
     MEMBER(lossless),
     .group = CC_GROUP_SEND,
     .help = "leave out schemes that change the values"},
    {.name = NULL},
};

static const struct cc_option_use options[] = {
    CC_CLUSTER_OPTIONS("ddp"),
    {.rows = cc_verdict_options},
    {.rows = limit_options},
    CC_FIGURES_OPTIONS,
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
    return (a->scheme > b->scheme) - (a->scheme < b->scheme);
}

static int rank_candidates(struct advise *a, struct ranking *r, struct cc_error *e)
{
    struct cc_forecast *f = &a->forecast;
    for (size_t i = 0; i < f->schemes->count; i++) {
        struct candidate *c = &r->c[i];
        CC_TRY(cc_advise_candidate(a, r->s, i, c, e));
        if (c->refused[0] != '\0')
            continue;
        r->ranked++;
        CC_TRY(cc_advice_paying(&r->baseline, &f->payloads[i], &c->pays, e));
        if (c->p.compute_s > 0)
            CC_TRY(cc_advice_workers(&f->predictor, r->s, &f->payloads[i], &c->saturates, &c->tried,
                                     e));
    }
    qsort(r->c, f->schemes->count, sizeof *r->c, by_step);
    return CC_OK;
}

/* Finds the baseline at its best. It is among the schemes. */
static int find_baseline(struct advise *a, struct ranking *r, struct cc_error *e)
{
    struct cc_forecast *f = &a->forecast;
    CC_TRY(cc_input_carries(r->s, f->baseline_scheme.item[0], e));
    CC_TRY(cc_verdict_best(&f->predictor, r->s, &f->baseline, &r->best, e));
    CC_TRY(cc_baseline_open(&f->predictor, r->s, &f->baseline, &r->baseline, e));
    r->best_at = *r->s;
    cc_choice_apply(&r->best.choice, &r->best_at);
    for (size_t i = 0; i < f->schemes->count; i++)
        if (strcmp(cc_forecast_scheme(f, i), cc_forecast_baseline(f)) == 0)
            CC_TRY(cc_advise_candidate(a, &r->best_at, i, &r->base, e));
    if (r->base.p.compute_s > 0)
        CC_TRY(cc_advice_workers(&f->predictor, &r->best_at, &f->baseline, &r->base.saturates,
                                 &r->base.tried, e));
    return CC_OK;
}

/* The fastest candidate that pays; with `certain`, of those whose ruling is. NULL if none does. */
static const struct candidate *find_paying(const struct advise *a, const struct ranking *r,
                                           bool certain)
{
    for (size_t i = 0; i < r->ranked; i++)
        if (!cc_advise_is_baseline(a, &r->c[i]) && !(certain && r->c[i].uncertain))
            return r->c[i].p.step_s * CC_VERDICT_WORTH < r->best.p.step_s ? &r->c[i] : NULL;
    return NULL;
}

/* Chooses the recommendation, if a candidate pays: of those that are close to the fastest, the one
 * with the least sum_error, or that lost least in the user's trainings: in our own, what admitted
 * schemes lost differs by chance. Uncertain candidates are for want of others. */
static void recommend(const struct advise *a, struct ranking *r)
{
    const bool by_error = a->forecast.limits.by != CC_BY_TRAININGS;
    r->fastest = find_paying(a, r, true);
    const bool certain = r->fastest != NULL;
    if (!certain)
        r->fastest = find_paying(a, r, false);
    if (r->fastest == NULL)
        return;
    for (const struct candidate *c = r->fastest;
         c < r->c + r->ranked && c->p.step_s <= CC_ADVISE_CLOSE * r->fastest->p.step_s; c++)
        if (!cc_advise_is_baseline(a, c) && !(certain && c->uncertain) &&
            (r->use == NULL ||
             (by_error ? c->compared < r->use->compared : c->lost < r->use->lost)))
            r->use = c;
}

/* --- rows --- */

/* Sets the accuracy that the scheme lost in our own trainings, unless the user's rule. */
static void put_evidence(const struct advise *a, size_t row, const struct cc_setting *s,
                         const struct candidate *c)
{
    struct cc_evidence found;
    if (a->forecast.limits.by == CC_BY_TRAININGS ||
        !cc_evidence_find(&a->forecast.evidence, s->exchange,
                          cc_forecast_scheme(&a->forecast, c->scheme), &found) ||
        isinf(found.lost))
        return;
    const struct cc_number_column all[] = {{CC_KEY(evidence), found.lost},
                                           {CC_KEY(evidence_low), found.low},
                                           {CC_KEY(evidence_high), found.high}};
    cc_record_numbers(a->record, row, all, sizeof all / sizeof all[0]);
}

/* `rank` is 0 for candidates that are ruled out. */
static int own_columns(struct advise *a, size_t row, size_t rank, const struct cc_setting *s,
                       const struct candidate *c, struct cc_error *e)
{
    char pays[80];
    const bool out = rank == 0;
    const struct cc_number_column all[] = {
        {CC_KEY(rank), out ? NAN : (double)rank},
        {CC_KEY(nmse), a->forecast.figures.of[c->scheme].error.nmse},
        {CC_KEY(pays_from_bps), !out && c->pays.from_bps > 0 ? c->pays.from_bps : NAN},
        {CC_KEY(pays_below_bps), !out && c->pays.ever ? c->pays.below_bps : NAN},
        {CC_KEY(workers_enough), !out && c->saturates > 0 ? (double)c->saturates : NAN}};
    const struct cc_trained *trained =
        cc_trainings_find(&a->trainings, cc_forecast_scheme(&a->forecast, c->scheme));
    cc_record_numbers(a->record, row, all, sizeof all / sizeof all[0]);
    if (trained != NULL) {
        const struct cc_number_column found[] = {{CC_KEY(accuracy), trained->accuracy},
                                                 {CC_KEY(difference), trained->difference},
                                                 {CC_KEY(difference_low), trained->low},
                                                 {CC_KEY(difference_high), trained->high}};
        cc_record_numbers(a->record, row, found, sizeof found / sizeof found[0]);
    }
    put_evidence(a, row, s, c);
    if (out)
        return cc_record_text(a->record, row, CC_KEY(left_out), c->refused, e);
    if (cc_advise_is_baseline(a, c))
        return CC_OK;
    cc_advise_pays(&c->pays, pays);
    return cc_record_text(a->record, row, CC_KEY(pays), pays, e);
}

static int add_row(struct advise *a, const struct ranking *r, const struct cc_setting *s,
                   const struct candidate *c, size_t rank, bool recommended, struct cc_error *e)
{
    struct cc_forecast *f = &a->forecast;
    const struct cc_prediction *p = c->p.step_s > 0 ? &c->p : NULL;
    struct cc_prediction raw;
    CC_TRY(cc_predict(&f->predictor, s, &f->raw, &raw, e));
    size_t row;
    CC_TRY(cc_forecast_row(f, a->record, c->scheme, s, p, raw.step_s, &row, e));
    if (p != NULL)
        cc_record_number(a->record, row, CC_KEY(speedup_best),
                         cc_forecast_speedup(r->best.p.step_s, p->step_s));
    cc_record_bool(a->record, row, CC_KEY(recommended), recommended);
    cc_forecast_error_columns(f, a->record, row, c->scheme, s);
    return own_columns(a, row, rank, s, c, e);
}

/* Whether the recommendation is the baseline in another setting than the candidates', which then
 * has a row of its own. */
static bool is_elsewhere(const struct ranking *r)
{
    return r->use == NULL && r->s->cluster.workers > 1 && r->best.choice.cut != CC_CUT_OWN;
}

static int add_rows(struct advise *a, const struct ranking *r, struct cc_error *e)
{
    const bool elsewhere = is_elsewhere(r);
    bool due = elsewhere;
    size_t rank = 0;
    for (size_t i = 0; i < a->forecast.schemes->count; i++) {
        const struct candidate *c = &r->c[i];
        const bool use = r->use != NULL ? c == r->use : !elsewhere && cc_advise_is_baseline(a, c);
        if (due && (i == r->ranked || r->base.p.step_s <= c->p.step_s)) {
            CC_TRY(add_row(a, r, &r->best_at, &r->base, ++rank, true, e));
            due = false;
        }
        CC_TRY(add_row(a, r, r->s, c, i < r->ranked ? ++rank : 0, use, e));
    }
    return due ? add_row(a, r, &r->best_at, &r->base, ++rank, true, e) : CC_OK;
}

static int one_setting(void *arg, const struct cc_setting *s, struct cc_error *e)
{
    struct advise *a = arg;
    struct ranking r = {.s = s};
    int status = CC_OK;
    if (cc_interrupted())
        return CC_OK;
    CC_TRY(CC_NEW(r.c, a->forecast.schemes->count, e));
    CC_TRY_OUT(find_baseline(a, &r, e));
    CC_TRY_OUT(rank_candidates(a, &r, e));
    recommend(a, &r);
    if (r.ranked > 0) {
        const struct candidate *c = r.use != NULL ? r.use : r.c;
        CC_TRY_OUT(cc_forecast_consider(&a->forecast, s, c->scheme, c->p.step_s, &r.best, e));
    }
    CC_TRY_OUT(add_rows(a, &r, e));
    CC_TRY_OUT(cc_advise_notes(a, &r, e));
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

/* Adds fp32 and the baseline to the schemes: the others are compared with them. */
static int add_compared(struct advise *a, struct cc_error *e)
{
    struct cc_spec_list *list = a->forecast.schemes;
    CC_TRY(add_scheme(CC_RAW_SCHEME, list, e));
    return add_scheme(cc_forecast_baseline(&a->forecast), list, e);
}

/* Reads the limits, and the trainings that decide in place of errors. */
static int parse_limits(const struct cc_args *args, struct advise *a, struct cc_error *e)
{
    struct cc_verdict_limits *l = &a->forecast.limits;
    struct limit_options o;
    CC_TRY(cc_options_read(args, limit_options, &o, e));
    l->lossless = o.lossless;
    l->sum_error = o.max_nmse;
    l->lost = o.max_loss;
    const bool by_errors = cc_given(&o, &o.max_nmse) != NULL;
    if (by_errors && (o.accuracy != NULL || cc_given(&o, &o.max_loss) != NULL))
        return cc_usage(e, "--max-nmse and %s: either errors rule, or trainings",
                        o.accuracy != NULL ? "--accuracy" : "--max-loss");
    if (by_errors)
        l->by = CC_BY_ERRORS;
    if (o.accuracy == NULL)
        return CC_OK;
    l->by = CC_BY_TRAININGS;
    a->forecast.trainings = &a->trainings;
    return cc_trainings_read(o.accuracy, &a->trainings, e);
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

static int run(struct cc_args *args, struct cc_error *e)
{
    struct advise a = {.record = &args->record};
    int status = CC_OK;
    const bool chosen = args->schemes.count > 0;
    CC_TRY_OUT(cc_forecast_parse(args, &a.forecast, e));
    a.forecast.other_exchanges = true;
    CC_TRY_OUT(parse_limits(args, &a, e));
    if (!chosen)
        CC_TRY_OUT(add_trained(&a, e));
    CC_TRY_OUT(add_compared(&a, e));
    CC_TRY_OUT(cc_forecast_load(&a.forecast, true, e));
    if (!cc_interrupted())
        CC_TRY_OUT(cc_cluster_args_each(&a.forecast.cluster, one_setting, &a, e));
    if (!cc_interrupted())
        CC_TRY_OUT(cc_advise_note_basis(&a, e));
out:
    args->record.partial = cc_interrupted();
    cc_forecast_free(&a.forecast);
    cc_trainings_free(&a.trainings);
    return status;
}

const struct cc_command cc_command_advise = {
    .name = "advise",
    .summary = "which scheme to use on your network, and what else would help",
    .operands = "",
    .description =
        "Ranks the schemes for a net, a cluster and a network by the step time that `commcomp "
        "model` predicts, and leaves out those whose error is too large. Recommends a scheme in a "
        "sentence, or fp32, which is taken at its best among all exchanges and step modes; names "
        "the bandwidths at which each pays, the bottleneck, the number of workers that is enough, "
        "and what would change the verdict. The errors are measured in the same run.\n\nLists, as "
        "in --bw 10mbps,1gbps, give a ranking for each combination. Without --system, the set-up "
        "is that of PyTorch's DistributedDataParallel.",
    .examples = "  commcomp advise --net resnet50 --bw 10gbps --workers 16 --device a100\n"
                "  commcomp advise --net resnet50 --bw 10gbps --system byteps --baseline bf16\n"
                "  commcomp advise --net resnet50 --bw 100mbps --workers 16 --max-nmse 0.1\n"
                "  commcomp advise --net resnet110 --accuracy train.csv --max-loss 0.5%\n"
                "  commcomp advise --net bert-base --exchange ring --bw 25gbps --lossless\n"
                "  commcomp advise --net my.json --compute 80ms --trace captured --bw wan\n",
    .options = options,
    .columns = columns,
    .takes_schemes = CC_SCHEMES,
    .run = run,
};
