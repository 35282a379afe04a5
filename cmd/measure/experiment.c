/* Which rows run and sim are going to measure, and how much of each. */
#include "cmd/measure/experiment.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/trace/synth.h"

/* --- options --- */

static int parse_options(const struct cc_args *args, struct cc_experiment_options *out,
                         struct cc_error *e)
{
    int distribution = CC_MIXTURE;
    struct cc_experiment_options o = {.steps = UINT64_MAX,
                                      .warmup = UINT64_MAX,
                                      .trace = cc_arg(args, "trace"),
                                      .dry_run = cc_arg_or_null(args, "dry-run") != NULL};
    int status = cc_arg_count(args, "steps", 1, 1000000, &o.steps, e);
    if (status == CC_OK)
        status = cc_arg_count(args, "warmup", 0, 1000000, &o.warmup, e);
    cc_arg_choice(args, "synthetic", &distribution);
    o.distribution = (enum cc_distribution)distribution;
    *out = o;
    if (status != CC_OK)
        return status;
    if (o.trace != NULL && cc_arg(args, "synthetic") != NULL)
        return cc_usage(e, "--trace and --synthetic exclude each other");
    if (o.trace != NULL && cc_arg(args, "values") != NULL)
        return cc_usage(e, "--trace and --values exclude each other");
    return CC_OK;
}

/* --- what cannot be run --- */

static int refuse_exchanges(const struct cc_cluster_args *c, struct cc_error *e)
{
    for (size_t i = 0; i < c->exchanges; i++)
        if (c->exchange[i] >= CC_SSAR_RECDOUBLE)
            return cc_usage(e,
                            "--exchange %s: sparse exchanges are predicted only, by `commcomp "
                            "model`; run ps, ring, recdouble, rabenseifner, allgather or mpi",
                            cc_exchange_names[c->exchange[i]]);
    return CC_OK;
}

static int refuse_timing(const struct cc_args *args, const struct cc_timing *t, struct cc_error *e)
{
    if (t->consistency != CC_BULK)
        return cc_usage(e,
                        "--consistency %s is predicted only, by `commcomp model`; in a run all "
                        "workers wait for the slowest: --consistency bulk",
                        cc_consistency_names[t->consistency]);
    if (t->mode == CC_PIPE && t->depth != 2)
        return cc_usage(e,
                        "--depth %d is predicted only, by `commcomp model`; a run has two steps "
                        "under way: --depth 2",
                        t->depth);
    if (t->unlimited)
        return cc_usage(e, "--unlimited is predicted only, by `commcomp model`: leave it out");
    if (t->sync_s > 0)
        return cc_usage(e, "--sync is predicted only, by `commcomp model`: a run takes the time "
                           "that it takes");
    if (t->straggler != CC_STEADY && t->compute_s == 0)
        return cc_usage(e, "--stragglers %s vary the compute time, which is 0: give --compute",
                        cc_arg(args, "stragglers"));
    return CC_OK;
}

/* Before the codecs are measured, which takes a while. */
static int refuse(const struct cc_experiment *p, struct cc_error *e)
{
    struct cc_cluster_args c = {.net = NULL};
    int status = cc_cluster_args_parse(p->args, &c, e);
    if (status == CC_OK)
        status = refuse_exchanges(&c, e);
    if (status == CC_OK)
        status = refuse_timing(p->args, &c.setting.timing, e);
    if (status == CC_OK)
        status = p->own->refuse(p->arg, &c, e);
    cc_cluster_args_free(&c);
    return status;
}

/* --- settings --- */

int cc_experiment_ranks(const struct cc_setting *s)
{
    return s->cluster.workers + (s->exchange == CC_PS ? s->cluster.servers : 0);
}

const char *cc_experiment_scheme(const struct cc_experiment *p, const struct cc_experiment_row *row)
{
    return p->args->schemes.item[row->scheme]->name;
}

size_t cc_experiment_bytes(const struct cc_setting *s)
{
    enum { ARRAYS = 5 };
    size_t bytes;
    if (!cc_mul(s->net->values, (size_t)cc_experiment_ranks(s) * ARRAYS * sizeof(float), &bytes))
        return SIZE_MAX;
    return bytes;
}

int cc_experiment_check_memory(const struct cc_setting *s, struct cc_error *e)
{
    char what[64];
    (void)snprintf(what, sizeof what, "%d ranks of %zu values", cc_experiment_ranks(s),
                   s->net->values);
    return cc_memory_check(cc_experiment_bytes(s), what, e);
}

/* On all links together, each byte once. */
static double bytes_of(const struct cc_setting *s, const struct cc_prediction *p)
{
    double workers = s->cluster.workers, both = p->values * (p->bits_push + p->bits_pull) / 8;
    return s->exchange == CC_PS ? workers * both * (1 + s->link.overhead) : workers * p->wire_bytes;
}

/* Whether the size of a scheme's payloads depends on what it keeps: they are smaller than they
 * could be. */
static bool fills(const struct cc_experiment *plan, size_t scheme, const struct cc_prediction *p,
                  size_t period)
{
    const struct cc_spec *spec = plan->args->schemes.item[scheme];
    struct cc_codec codec = {.scheme = spec->scheme,
                             .params = spec->params,
                             .shape = cc_shape_flat(plan->forecast.cluster.net->values)};
    double raw = plan->forecast.cluster.raw_share;
    double most = 8 * (double)cc_bound(&codec) / (double)codec.shape.n;
    double bits = (p->bits_push - 32 * raw) * (double)period;
    return cc_state_bytes(&codec) > 0 && bits < 0.95 * most * (1 - raw);
}

static size_t whole_periods(uint64_t steps, size_t period)
{
    return (size_t)((steps + period - 1) / period) * period;
}

static int choose_steps(const struct cc_experiment *p, const struct cc_experiment_setting *s,
                        struct cc_experiment_row *row, struct cc_error *e)
{
    int status = p->own->choose(p->arg, s, row, e);
    if (p->options.warmup != UINT64_MAX)
        row->warmup = whole_periods(p->options.warmup, row->period);
    if (p->options.steps != UINT64_MAX)
        row->steps = whole_periods(p->options.steps, row->period);
    return status;
}

static int plan_row(struct cc_experiment *p, struct cc_experiment_setting *s, size_t scheme,
                    struct cc_error *e)
{
    struct cc_forecast *f = &p->forecast;
    struct cc_setting bare = s->setting;
    struct cc_prediction without;
    struct cc_experiment_row *row = &s->row[s->rows];
    *row = (struct cc_experiment_row){.scheme = scheme, .period = f->payloads[scheme].period};
    bare.timing.compute_s = 0;
    int status = cc_predict(&f->predictor, &bare, &f->payloads[scheme], &without, e);
    if (status == CC_OK)
        status = cc_predict(&f->predictor, &s->setting, &f->payloads[scheme], &row->forecast, e);
    if (status != CC_OK)
        return status;
    double turns = (s->ranks_per_core - 1) * row->forecast.codec_s;
    row->seconds = row->forecast.step_s + turns;
    row->bare_s = without.step_s + turns;
    row->bytes = bytes_of(&s->setting, &row->forecast);
    row->fills = fills(p, scheme, &row->forecast, row->period);
    status = choose_steps(p, s, row, e);
    s->rows++;
    return status;
}

static bool is_raw(const struct cc_experiment *p, size_t scheme)
{
    return cc_spec_is_raw(p->args->schemes.item[scheme]);
}

/* fp32 first: the others' speedups need it. */
static int plan_rows(struct cc_experiment *p, struct cc_experiment_setting *s, struct cc_error *e)
{
    int status = CC_OK;
    for (int raw = 1; raw >= 0; raw--)
        for (size_t i = 0; i < p->args->schemes.count && status == CC_OK; i++)
            if (is_raw(p, i) == (raw == 1))
                status = plan_row(p, s, i, e);
    return status;
}

static int plan_setting(void *arg, const struct cc_setting *given, struct cc_error *e)
{
    struct cc_experiment *p = arg;
    if (cc_grow((void **)&p->setting, &p->setting_capacity, p->settings + 1, sizeof *p->setting,
                e) != CC_OK)
        return CC_FAIL;
    struct cc_experiment_setting *s = &p->setting[p->settings++];
    *s = (struct cc_experiment_setting){.setting = *given, .ranks_per_core = 1};
    s->row = cc_alloc0(p->args->schemes.count * sizeof *s->row, e);
    if (s->row == NULL)
        return CC_FAIL;
    p->own->complete(p->arg, s);
    return plan_rows(p, s, e);
}

int cc_experiment_open(struct cc_experiment *p, struct cc_args *args, struct cc_record *record,
                       const struct cc_experiment_ops *own, void *arg, struct cc_error *e)
{
    *p = (struct cc_experiment){
        .args = args, .record = record, .latest_fp32_s = NAN, .own = own, .arg = arg};
    int status = parse_options(args, &p->options, e);
    if (status == CC_OK)
        status = refuse(p, e);
    if (status == CC_OK)
        status = cc_forecast_open(args, &p->forecast, e);
    p->forecast.record = record;
    return status;
}

int cc_experiment_make(struct cc_experiment *p, struct cc_error *e)
{
    return cc_forecast_each(&p->forecast, plan_setting, p, e);
}

void cc_experiment_close(struct cc_experiment *p)
{
    for (size_t i = 0; i < p->settings; i++)
        free(p->setting[i].row);
    free(p->setting);
    if (p->forecast.args != NULL)
        cc_forecast_close(&p->forecast);
}
