/* The input of an experiment, and the settings and rows that it is made of.
 *
 * The options are parsed once; what only `model` can do is refused. Each combination of the
 * options' lists is a setting, and each setting has a row per scheme. For every row the formulas
 * predict the step, and from that the command chooses how many steps to measure. */
#include "cmd/input/carries.h"
#include "cmd/measure/experiment.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/settle.h"
#include "core/memory.h"
#include "core/trace/synth.h"
#include "core/units.h"

/* --- options --- */

/* clang-format off */
#define MEMBER(m) CC_OPTION_AT(struct cc_experiment_input, m)
const struct cc_option cc_experiment_options[] = {
    {.name = "steps", MEMBER(steps), .kind = CC_TAKES_COUNT, .min = 1, .max = 1000000,
     .value = "N", .otherwise = "3 s of them, or one period", .group = CC_GROUP_RUN,
     .help = "steps that count, of each row; rounded up to whole periods of the scheme"},
    {.name = "warmup", MEMBER(warmup), .kind = CC_TAKES_COUNT, .max = 1000000, .value = "N",
     .group = CC_GROUP_RUN,
     .help = "steps before them, of which only the last period computes"},
    {.name = "errors", MEMBER(errors), .group = CC_GROUP_RUN,
     .help = "measure after each sequential step, too, how far what was applied is from the "
             "workers' mean gradients"},
    {.name = "dry-run", MEMBER(dry_run), .group = CC_GROUP_RUN,
     .brief = "the rows and how long they take, without a run",
     .help = "list what would be done, and how long it takes"},
    {.name = NULL},
};
/* clang-format on */

/* Refuses options about gradients that exclude each other. */
static int check_gradients(const struct cc_args *args, const struct cc_source_options *o,
                           struct cc_error *e)
{
    if (o->trace != NULL && o->shares > 0)
        return cc_usage(e, "--nonzeros is of drawn gradients: leave out --trace");
    if (cc_given(o, &o->indices) != NULL && o->shares == 0)
        return cc_usage(e, "--indices tells where --nonzeros lie: give their share");
    if (o->shares > 1)
        return cc_usage(e,
                        "--nonzeros: '%s' is not a share; only calls of an exchange, with run "
                        "--bw none, take a list",
                        cc_arg(args, "nonzeros"));
    if (o->trace != NULL && cc_given(o, &o->distribution) != NULL)
        return cc_usage(e, "--trace and --synthetic exclude each other");
    if (o->trace != NULL && o->values != NULL)
        return cc_usage(e, "--trace and --values exclude each other");
    return CC_OK;
}

/* The steps that all workers of the trace have. */
static int count_steps(const struct cc_trace *t, size_t *out, struct cc_error *e)
{
    size_t least = 0;
    for (size_t i = 0; i < cc_trace_streams(t); i++) {
        const size_t steps = cc_trace_steps(t, i);
        if (cc_trace_stream(t, i).direction == CC_PUSH && (least == 0 || steps < least))
            least = steps;
    }
    *out = least;
    return least > 0 ? CC_OK : cc_fail(e, "it has no pushes of a worker");
}

static int check_trace(struct cc_experiment_input *in, struct cc_error *e)
{
    const struct cc_trace *t = in->forecast.cluster.trace;
    if (t == NULL)
        return CC_OK;
    CC_TRY(cc_input_check_trace(t, in->forecast.cluster.net, e));
    CC_TRY_IN(count_steps(t, &in->trace_steps, e), e, "--trace %s", cc_trace_name(t));
    return CC_OK;
}

/* Refuses what only `model` can do. */
static int check_cluster(const struct cc_cluster_args *c, struct cc_error *e)
{
    const struct cc_timing *t = &c->setting.timing;
    const double bits = c->setting.cluster.dense_bits;
    if (cc_cluster_has(c, CC_X_DENSE_STAGE) && !cc_job_takes_dense_bits(bits))
        return cc_usage(
            e, "--dense-bits %g: only `commcomp model` takes any; in a run 32, 8, 4 or 2", bits);
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
    if (c->sharded.tensor_parallel > 1)
        return cc_usage(e, "--tp is predicted only, by `commcomp model`: leave it out");
    if (c->setting.sharded.micro_steps > 1 && c->local_counts > 0)
        return cc_usage(e,
                        "--accumulate with --local-steps is predicted only, by `commcomp model`: "
                        "leave out either");
    if (t->straggler != CC_STEADY && t->compute_s == 0)
        return cc_usage(e, "--stragglers %s vary the compute time, which is 0: give --compute",
                        cc_straggler_names[t->straggler]);
    return CC_OK;
}

int cc_experiment_parse(struct cc_args *args, struct cc_experiment_input *out, struct cc_error *e)
{
    struct cc_source_options source;
    out->quiet = args->quiet;
    CC_TRY(cc_options_read(args, cc_experiment_options, out, e));
    CC_TRY(cc_source_read(args, &source, e));
    const int status = check_gradients(args, &source, e); /* before a trace is opened */
    cc_options_free(&source);
    CC_TRY(status);
    CC_TRY(cc_forecast_parse(args, &out->forecast, e));
    CC_TRY(cc_cluster_check_code(&out->forecast.cluster, e));
    CC_TRY(check_cluster(&out->forecast.cluster, e));
    if (out->errors && out->forecast.cluster.setting.timing.consistency != CC_BULK)
        return cc_usage(e, "--errors are measured between steps that all workers end together: "
                           "with --consistency bulk only");
    if (out->errors && out->forecast.cluster.setting.timing.mode != CC_SEQUENTIAL)
        return cc_usage(e, "--errors are measured between steps: with --mode sequential only");
    return check_trace(out, e);
}

int cc_experiment_need_code(const struct cc_experiment_input *in, const char *what,
                            struct cc_error *e)
{
    const struct cc_spec_list *schemes = in->forecast.schemes;
    for (size_t i = 0; i < schemes->count; i++)
        if (!cc_scheme_runs(schemes->item[i]->scheme))
            return cc_usage(
                e,
                "%s is known from --profile alone, and %s needs its code: `commcomp "
                "model`, `advise` and `sim` without data take it; leave it out here, or "
                "give it as a plugin (--plugin)",
                schemes->item[i]->name, what);
    return CC_OK;
}

int cc_experiment_load(struct cc_experiment_input *in, bool errors, struct cc_error *e)
{
    const struct cc_spec_list *schemes = in->forecast.schemes;
    for (size_t i = 0; i < schemes->count; i++)
        CC_TRY(cc_consistency_check(&in->forecast.cluster.consistency, schemes->item[i], e));
    return cc_forecast_load(&in->forecast, errors && schemes->count > 1 && !in->dry_run, e);
}

void cc_experiment_input_free(struct cc_experiment_input *in)
{
    if (in->forecast.schemes != NULL)
        cc_forecast_free(&in->forecast);
}

/* --- settings --- */

int cc_experiment_ranks(const struct cc_setting *s)
{
    return s->cluster.workers +
           (cc_exchange_has(s->exchange, CC_X_SERVERS) ? s->cluster.servers : 0);
}

int cc_experiment_hosts(const struct cc_setting *s)
{
    const int servers = cc_experiment_ranks(s) - s->cluster.workers;
    return cc_cluster_hosts(&s->cluster) + (s->cluster.colocated ? 0 : servers);
}

const char *cc_experiment_scheme(const struct cc_experiment *x, const struct cc_experiment_row *row)
{
    return cc_forecast_scheme(x->forecast, row->scheme);
}

size_t cc_experiment_bytes(const struct cc_setting *s)
{
    enum { ARRAYS = 5 };
    size_t bytes;
    if (!cc_mul(s->net->values, (size_t)cc_experiment_ranks(s) * ARRAYS * sizeof(float), &bytes))
        return SIZE_MAX;
    return bytes;
}

int cc_experiment_check_memory(const struct cc_setting *s, size_t more, struct cc_error *e)
{
    char what[64];
    (void)snprintf(what, sizeof what, "%d ranks of %zu values", cc_experiment_ranks(s),
                   s->net->values);
    return cc_memory_check(cc_experiment_bytes(s) + more, what, e);
}

/* Bytes of a step on all links together, each byte once. */
static double bytes_on_links(const struct cc_setting *s, const struct cc_prediction *p)
{
    const double workers = s->cluster.workers;
    const double both = p->values * (p->bits_push + p->bits_pull) / 8;
    return cc_exchange_has(s->exchange, CC_X_SERVERS) ? workers * both * (1 + s->link.overhead)
                                                      : workers * p->wire_bytes;
}

/* Bytes of a value that a scheme leaves raw. */
static double raw_bytes(const struct cc_forecast *f, size_t scheme)
{
    return f->payloads[scheme].reduction == CC_REDUCE_DECODED
               ? (double)cc_element_bytes[f->cluster.setting.dtype]
               : sizeof(float);
}

/* Whether payloads change size while residuals fill: codecs with a state whose payloads are smaller
 * than their bound. */
static bool fills(const struct cc_forecast *f, size_t scheme, const struct cc_prediction *p,
                  size_t period)
{
    const struct cc_spec *spec = f->schemes->item[scheme];
    const struct cc_codec codec = {.scheme = spec->scheme,
                                   .params = spec->params,
                                   .shape = cc_shape_flat(f->cluster.net->values)};
    const double raw = f->cluster.raw_share, raw_bits = 8 * raw_bytes(f, scheme);
    const double most = 8 * (double)cc_bound(&codec) / (double)codec.shape.n;
    const double bits = (p->bits_push - raw_bits * raw) * (double)period;
    return cc_state_bytes(&codec) > 0 && bits < 0.95 * most * (1 - raw);
}

/* Different synthetic steps, as the sizes of `model` are measured on. */
static size_t trace_steps(const struct cc_experiment_input *in)
{
    return in->forecast.cluster.trace != NULL ? in->trace_steps : (size_t)CC_FIGURES_STEPS;
}

/* Finds how long a row's sizes take to settle, so that they are those of `bench` and `model`: these
 * are means over the last `settled` steps, before which come `filling` others. */
static void find_settling(const struct cc_experiment *x, struct cc_experiment_row *row)
{
    enum { USUAL = 144 }; /* where sizes are those of a profile: what 3lc takes */
    const struct cc_figures *f = &x->forecast->figures;
    const size_t steps = trace_steps(x->input);
    const bool known = x->forecast->sizes && f->of[row->scheme].steps > 0;
    const size_t found = known ? f->of[row->scheme].steps : (size_t)USUAL;
    row->settled = (CC_SETTLE_STEPS + steps - 1) / steps * steps;
    row->filling = found > row->settled ? found - row->settled : row->settled;
}

/* The setting that the formulas answer: without one for its steps, with bulk synchronous ones. */
static struct cc_setting planned(const struct cc_experiment_setting *s)
{
    struct cc_setting plan = s->setting;
    if (s->formula == CC_FORMULA_LACKS || cc_setting_check_formula(&plan, NULL) != CC_OK)
        plan.timing.consistency = CC_BULK;
    return plan;
}

static int add_row(struct cc_experiment *x, struct cc_experiment_setting *s, size_t scheme,
                   struct cc_error *e)
{
    struct cc_forecast *f = x->forecast;
    const struct cc_step_payloads *payloads = &f->payloads[scheme];
    const struct cc_setting plan = planned(s);
    struct cc_setting bare = plan;
    struct cc_prediction without;
    struct cc_experiment_row *row = &s->row[s->rows];
    const size_t round = cc_experiment_round(&s->setting);
    *row = (struct cc_experiment_row){.scheme = scheme, .period = payloads->period};
    if (s->setting.timing.local.parts > 1) /* all parts take their turn */
        row->period = s->setting.timing.local.parts;
    bare.timing.compute_s = 0;
    CC_TRY(cc_input_carries(&s->setting, f->schemes->item[scheme], e));
    CC_TRY(cc_predict(&f->predictor, &bare, payloads, &without, e));
    CC_TRY(cc_predict(&f->predictor, &plan, payloads, &row->forecast, e));
    /* Where busy ranks share cores, codecs take as many times longer. */
    const double queueing_s = (s->ranks_per_core - 1) * row->forecast.codec_s;
    row->step_s = (double)round * (row->forecast.step_s + queueing_s);
    row->bare_step_s = (double)round * (without.step_s + queueing_s);
    row->bytes = (double)round * bytes_on_links(&s->setting, &row->forecast);
    row->fills =
        fills(f, scheme, &row->forecast, payloads->period * cc_experiment_turn(&s->setting));
    find_settling(x, row);
    CC_TRY(x->ops->choose(x->arg, s, row, e));
    if (cc_given(x->input, &x->input->warmup) != NULL)
        row->warmup = row->period * cc_experiment_periods(x->input->warmup, round * row->period);
    if (cc_given(x->input, &x->input->steps) != NULL)
        row->steps = row->period * cc_experiment_periods(x->input->steps, round * row->period);
    s->rows++;
    return CC_OK;
}

bool cc_experiment_is_plain(const struct cc_experiment *x, const struct cc_setting *s,
                            size_t scheme)
{
    return cc_codec_models_plain(cc_exchange_plain(s->exchange, s->dtype),
                                 x->forecast->schemes->item[scheme]);
}

static int add_setting(void *arg, const struct cc_setting *given, struct cc_error *e)
{
    struct cc_experiment *x = arg;
    const size_t schemes = x->forecast->schemes->count;
    CC_TRY(CC_GROW(x->setting, &x->setting_capacity, x->settings + 1, e));
    struct cc_experiment_setting *s = &x->setting[x->settings++];
    *s = (struct cc_experiment_setting){.setting = *given, .ranks_per_core = 1};
    CC_TRY(CC_NEW(s->row, schemes, e));
    x->ops->complete(x->arg, s);
    if (s->formula != CC_NO_FORMULA &&
        (x->forecast->cluster.consistency.communicate.when != CC_EVERY_STEP ||
         cc_setting_check_formula(&s->setting, NULL) != CC_OK))
        s->formula = CC_FORMULA_LACKS;
    for (int plain = 1; plain >= 0; plain--) /* first: the others' speedups need it */
        for (size_t i = 0; i < schemes; i++)
            if (cc_experiment_is_plain(x, &s->setting, i) == (plain == 1))
                CC_TRY(add_row(x, s, i, e));
    return CC_OK;
}

int cc_experiment_prepare(struct cc_experiment *x, struct cc_experiment_input *input,
                          struct cc_record *record, const struct cc_experiment_ops *ops, void *arg,
                          struct cc_error *e)
{
    *x = (struct cc_experiment){
        .input = input, .forecast = &input->forecast, .record = record, .ops = ops, .arg = arg};
    return cc_cluster_args_each(&x->forecast->cluster, add_setting, x, e);
}

void cc_experiment_free(struct cc_experiment *x)
{
    for (size_t i = 0; i < x->settings; i++)
        free(x->setting[i].row);
    for (size_t i = 0; i < x->measured_rows; i++)
        free(x->measured[i].staleness_counts);
    free(x->setting);
    free(x->measured);
}
