/* Every combination of values, non-zeros, workers and exchange is a job with a row for each scheme,
 * which mpirun starts on this machine, or on the cluster that was named. */
#include "cmd/run/calls.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/input/carries.h"
#include "cmd/input/source.h"
#include "cmd/measure/experiment.h"
#include "cmd/run/run.h"
#include "core/interrupt.h"
#include "core/memory.h"
#include "core/nearest.h"
#include "core/units.h"
#include "models/system.h"

enum { MOST_CALLS = 1000, WARMUP = 2 };

/* --- options --- */

/* The options of calls, which have neither steps nor a network. */
static const char *const of_calls[] = {
    "bw",           "exchange",      "workers",     "servers",  "colocate",       "via",
    "keep",         "gather-scheme", "op",          "wire",     "dtype",          "check",
    "time",         "steps",         "warmup",      "dry-run",  "synthetic",      "nonzeros",
    "indices",      "seed",          "values",      "plugin",   "dense-bits",     "hostfile",
    "hosts",        "mpirun",        "mpirun-args", "per-host", "inner-exchange", "outer-exchange",
    "intra-scheme", "chunks",        NULL};

static int refuse_others(const struct cc_args *args, struct cc_error *e)
{
    for (size_t i = 0; i < args->options.own; i++)
        if (args->value[i] != NULL && cc_word_find(of_calls, args->options.option[i].name) < 0)
            return cc_usage(e,
                            "--%s is of training steps over a network: with --bw none, calls of "
                            "the exchange are timed alone; leave it out",
                            args->options.option[i].name);
    return CC_OK;
}

/* All exchanges without servers that have the operation: the default. */
static void list_exchanges(bool halves, char *out, size_t cap)
{
    out[0] = '\0';
    for (int x = 0; x < CC_EXCHANGE_COUNT; x++)
        if (!cc_exchange_has((enum cc_exchange)x, CC_X_SERVERS) &&
            !cc_exchange_has((enum cc_exchange)x, CC_X_FORMULA) &&
            (!halves || cc_exchange_has((enum cc_exchange)x, CC_X_HALVES)))
            cc_list_add(out, cap, ",", "%s", cc_exchange_names[x]);
}

static void set_default(struct cc_args *args, const char *option, const char *value)
{
    if (cc_arg(args, option) == NULL)
        cc_arg_set(args, option, value);
}

static int parse(struct cc_args *args, struct calls *c, struct cc_error *e)
{
    static char exchanges[256];
    CC_TRY(refuse_others(args, e));
    CC_TRY(cc_hosts_parse_plain(args, &c->hosts, e));
    const char *op = cc_arg(args, "op");
    list_exchanges(op != NULL && strcmp(op, cc_operation_names[CC_ALLREDUCE]) != 0, exchanges,
                   sizeof exchanges);
    set_default(args, "exchange", exchanges);
    set_default(args, "system", cc_systems[CC_SYSTEM_PS].name); /* a call is one message */
    set_default(args, "workers", "4");
    set_default(args, "values", "1M");
    set_default(args, "nonzeros", "1%");
    set_default(args, "synthetic", cc_distribution_names[CC_GAUSSIAN]);
    c->steps = (struct cc_experiment_input){.steps = MOST_CALLS, .warmup = WARMUP};
    CC_TRY(cc_options_read(args, cc_run_options, &c->options, e));
    CC_TRY(cc_options_read(args, cc_experiment_options, &c->steps, e));
    CC_TRY(cc_source_read(args, &c->source, e));
    if (c->options.time_s < 1e-6 || c->options.time_s > 1e6)
        return cc_usage(e, "--time: from 1us to 10^6 s");
    if (c->schemes->count == 0)
        CC_TRY(cc_spec_list_parse("fp32,pairs", c->schemes, e));
    return CC_OK;
}

/* Without links, no formula chooses chunks: a number that was given, or one; a tree has one, too.
 */
static int check_chunks(const struct cc_cluster_args *cluster, struct cc_error *e)
{
    if (cluster->setting.cluster.chunks == CC_CHUNKS_AUTO)
        return cc_usage(e, "--chunks auto: with --bw none there are no links, by which formulas "
                           "choose it: give a number");
    return CC_OK;
}

/* --- which combinations can be --- */

static bool leave_out(struct calls *c, const struct cc_error *why)
{
    if (c->left_out++ == 0)
        c->reason = *why;
    return false;
}

static bool can_carry(struct calls *c, const struct cc_setting *s, const struct cc_spec *spec)
{
    struct cc_error why;
    int status = cc_input_carries(s, spec, &why);
    if (cc_period(spec->scheme, spec->params) > 1)
        status = cc_usage(&why, "%s does not send in every call", spec->name);
    return status == CC_OK || leave_out(c, &why);
}

/* Whether any row of the setting can be. */
static bool can_run(struct calls *c, const struct cc_setting *s)
{
    /* The sums that the check compares come on top of the buffers that every rank has. */
    const size_t check = c->options.check ? cc_experiment_bytes(s) / 2 : 0;
    struct cc_error why;
    return cc_experiment_check_memory(s, check, &why) == CC_OK || leave_out(c, &why);
}

/* --- the job --- */

static int add_tensor(const struct cc_setting *s, struct cc_job *job, struct cc_error *e)
{
    CC_TRY(CC_NEW(job->tensor, 1, e));
    job->tensors = 1;
    job->tensor[0] = (struct cc_job_tensor){
        .shape = cc_shape_flat(s->net->values), .share = 1, .server = job->servers > 0 ? -1 : 0};
    CC_TRY(cc_text(&job->tensor[0].name, e, "values"));
    return cc_job_lay_out(job, e);
}

static int add_rows(struct calls *c, const struct cc_setting *s, struct cc_job *job,
                    struct cc_error *e)
{
    struct cc_setting setting = *s;
    setting.link = (struct cc_link){.bw_bps = CALLS_BW_BPS, .latency_s = CALLS_LATENCY_S};
    c->chooses |= cc_exchange_has(s->exchange, CC_X_CHOOSES);
    CC_TRY(CC_NEW(job->row, c->schemes->count, e));
    for (size_t i = 0; i < c->schemes->count; i++) {
        const struct cc_spec *spec = c->schemes->item[i];
        if (!can_carry(c, s, spec))
            continue;
        struct cc_job_row *row = &job->row[job->rows++];
        *row = (struct cc_job_row){.reduction = cc_reduction(spec->scheme, spec->params),
                                   .period = 1,
                                   .warmup = (size_t)c->steps.warmup,
                                   .steps = (size_t)c->steps.steps,
                                   .messages = 1};
        CC_TRY(cc_text(&row->scheme, e, "%s", spec->name));
        CC_TRY(CC_NEW(row->message, 1, e));
        CC_TRY(cc_experiment_job_choices(&setting, NULL, job, row, e));
    }
    return CC_OK;
}

static int make_job(struct calls *c, const struct cc_setting *s, struct cc_job *job,
                    struct cc_error *e)
{
    CC_TRY(cc_experiment_job_setting(s, job, e));
    job->distribution = (int)c->source.distribution;
    job->zeros = 1 - c->nonzeros;
    job->indices = (int)c->source.indices;
    job->trace_steps = 1;
    /* Within a machine every message is copied once, in whole; more and smaller ones only ask for
     * more switches between ranks. */
    if (c->hosts.cluster.here) {
        job->block_bytes = CC_JOB_WHOLE;
        job->rendezvous = false;
    }
    job->calls = (struct cc_job_calls){.limit_s = c->options.time_s, .check = c->options.check};
    CC_TRY(add_tensor(s, job, e));
    CC_TRY(cc_job_schemes_take(job, e));
    return add_rows(c, s, job, e);
}

/* --- running --- */

static int on_report(void *arg, const struct cc_report *report, struct cc_error *e)
{
    struct calls *c = arg;
    if (report->kind == CC_REPORT_HELLO)
        (void)snprintf(c->record->mpi, sizeof c->record->mpi, "%s", report->text);
    return report->kind == CC_REPORT_CALLS ? calls_add_row(c, &report->calls, e) : CC_OK;
}

/* Ranks draw gradients first, a few at a time; then the calls that warm up and that count, of which
 * the last may exceed the limit. A second for each 100 million values that a call moves is far more
 * than any needs here. */
static double remaining_s(void *arg)
{
    const struct calls *c = arg;
    const double values = (double)cc_job_values(c->job) * c->job->workers;
    return 5 + 100e-9 * values + (double)(c->steps.warmup + 3) * 30e-9 * values +
           3 * c->options.time_s;
}

static bool on_tick(void *arg)
{
    struct calls *c = arg;
    cc_progress_show(&c->progress, cc_exchange_names[c->setting->exchange],
                     ((double)c->done + (double)c->reported / (double)c->job->rows) /
                         (double)c->settings);
    return cc_interrupted();
}

static int run_setting(struct calls *c, const struct cc_setting *s, struct cc_error *e)
{
    struct cc_job job = {0};
    const struct cc_launch_config calls = {
        .on_report = on_report, .remaining_s = remaining_s, .on_tick = on_tick, .arg = c};
    int status = CC_OK;
    if (!can_run(c, s))
        return CC_OK;
    c->setting = s;
    c->job = &job;
    CC_TRY_OUT(make_job(c, s, &job, e));
    c->reported = 0;
    if (c->steps.dry_run)
        status = calls_add_dry_rows(c, e);
    else if (job.rows > 0)
        status = cc_hosts_launch(&c->hosts, NULL, &calls, &job, e);
out:
    c->setting = NULL;
    c->job = NULL;
    cc_job_free(&job);
    return cc_interrupted() ? CC_OK : status;
}

static int run_one(void *arg, const struct cc_setting *s, struct cc_error *e)
{
    struct calls *c = arg;
    if (cc_interrupted())
        return CC_OK;
    CC_TRY(run_setting(c, s, e));
    c->done++;
    return CC_OK;
}

/* Settings of the same values, non-zeros and workers follow each other, to be compared. */
static int run_values(struct calls *c, const struct cc_cluster_args *cluster, struct cc_error *e)
{
    struct cc_cluster_args one = *cluster;
    one.worker_counts = 1;
    for (size_t i = 0; i < c->source.shares; i++)
        for (size_t w = 0; w < cluster->worker_counts; w++) {
            c->nonzeros = c->source.nonzeros[i];
            one.workers = &cluster->workers[w];
            CC_TRY(cc_cluster_args_each(&one, run_one, c, e));
            calls_end_group(c);
        }
    return CC_OK;
}

static int run_all(struct calls *c, struct cc_args *args, struct cc_error *e)
{
    const struct cc_source_options *drawn = &c->source;
    struct cc_values sizes = {.item = NULL};
    int status = CC_OK;
    CC_TRY_OUT(cc_input_values(drawn->values, &sizes, e));
    cc_arg_set(args, "bw", NULL); /* links do not matter */
    for (size_t i = 0; i < sizes.count && !cc_interrupted(); i++) {
        struct cc_cluster_args cluster = {.net = NULL};
        char text[24];
        (void)snprintf(text, sizeof text, "%zu", sizes.item[i]);
        cc_arg_set(args, "values", text);
        status = cc_cluster_args_parse(args, &cluster, e);
        if (status == CC_OK)
            status = cc_cluster_check_code(&cluster, e);
        if (status == CC_OK)
            status = check_chunks(&cluster, e);
        if (status == CC_OK && cluster.sharded.tensor_parallel > 1)
            status = cc_usage(e, "--tp is predicted only, by `commcomp model`: leave it out");
        if (status == CC_OK && cc_given(&cluster, &cluster.servers) != NULL &&
            !cc_cluster_has(&cluster, CC_X_SERVERS))
            status =
                cc_usage(e, "--servers sets the number of parameter servers: give --exchange ps");
        c->settings = sizes.count * drawn->shares * cluster.exchanges * cluster.worker_counts;
        if (status == CC_OK)
            status = run_values(c, &cluster, e);
        cc_cluster_args_free(&cluster);
        CC_TRY_OUT(status);
    }
out:
    free(sizes.item);
    return status;
}

int cc_run_calls(struct cc_args *args, struct cc_error *e)
{
    struct calls c = {.record = &args->record, .schemes = &args->schemes};
    int status = CC_OK;
    CC_TRY_OUT(parse(args, &c, e));
    cc_progress_begin(&c.progress, args->quiet);
    status = run_all(&c, args, e);
    cc_progress_end(&c.progress);
    if (status == CC_OK)
        status = calls_notes(&c, e);
    args->record.partial = cc_interrupted();
out:
    cc_hosts_free(&c.hosts);
    cc_options_free(&c.source);
    free(c.row);
    return status;
}
