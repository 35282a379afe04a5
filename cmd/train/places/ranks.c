/* Training by ranks, with --on run or sim: a training as a job for them.
 * The ranks report an interval's times and bytes and then its evaluation, from which the result is
 * made as that of a training in this process. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/train/places/places.h"
#include "cmd/train/plan/plan.h"
#include "cmd/train/times/times.h"
#include "core/interrupt.h"
#include "core/memory.h"
#include "netsim/inprocess/inprocess.h"
#include "netsim/inprocess/training_job.h"
#include "netsim/inprocess/training_log.h"
#include "netsim/lab/lab.h"
#include "results/machine_info.h"

/* --- reports --- */

/* The training under way. */
struct launch {
    const struct cc_train *train;
    const struct cc_training_config *config;
    const struct cc_link *link; /* NULL: --bw none */
    struct cc_training_result *out;
    struct cc_training_log log; /* its evaluations */
};

static int take_evaluation(struct launch *l, const struct cc_report_eval *r, struct cc_error *e)
{
    struct cc_evaluation v = r->of;
    v.residual = v.pull_residual = v.distance = NAN;
    CC_TRY(cc_training_log_add(&l->log, &v, e));
    l->out->weights_crc = r->weights;
    l->out->complete = v.step == l->config->steps;
    return CC_OK;
}

static void show(const struct launch *l, size_t steps)
{
    const struct cc_training_config *c = l->config;
    const struct cc_evaluation *last = l->log.evals > 0 ? &l->log.eval[l->log.evals - 1] : NULL;
    c->progress(c->arg, c->spec->name, steps, last != NULL ? last->train_loss : (double)NAN,
                last != NULL ? last->accuracy : (double)NAN);
}

static int on_report(void *arg, const struct cc_report *r, struct cc_error *e)
{
    struct launch *l = arg;
    switch (r->kind) {
    case CC_REPORT_STEP:
        show(l, 1);
        break;
    case CC_REPORT_ROW:
        l->out->peak_bytes = fmax(l->out->peak_bytes, r->result.peak_bytes);
        break;
    case CC_REPORT_EVAL:
        return take_evaluation(l, &r->eval, e);
    case CC_REPORT_ERROR:
        if (!r->diverged || l->out->diverged)
            break;
        l->out->diverged = true;
        l->out->diverged_step = r->step + 1;
        (void)snprintf(l->out->reason, sizeof l->out->reason, "%s", r->text);
        break;
    default:
        break;
    }
    return CC_OK;
}

static bool on_tick(void *arg)
{
    (void)arg;
    return cc_interrupted();
}

/* A step has no forecast: its computing, that of all ranks on one core, and its bytes as fp32
 * decide, whichever scheme is trained. */
static double remaining_s(void *arg)
{
    const struct launch *l = arg;
    const struct cc_train *t = l->train;
    const double ranks = (double)l->config->task.workers + l->config->servers;
    const double bytes = 8 * ranks * (double)t->net->values;
    const double link_s = l->link != NULL ? 8 * bytes / l->link->bw_bps : 0;
    const double steps = (double)cc_train_counted_as_one(&t->options);
    const double given_s = isnan(t->options.compute_s) ? 0 : steps * t->options.compute_s;
    return 120 + 1e-6 * steps * bytes + 4 * link_s + 4 * given_s;
}

/* --- the places --- */

static int run(struct launch *l, struct cc_job *job, struct cc_error *e)
{
    const struct cc_train_options *o = &l->train->options;
    const struct cc_launch_config calls = {
        .on_report = on_report, .remaining_s = remaining_s, .on_tick = on_tick, .arg = l};
    struct cc_lab *lab = NULL;
    struct cc_machine_info host;
    CC_TRY(cc_hosts_check(e));
    cc_machine_info_read(&host);
    const int ranks = job->workers + job->servers;
    job->yield_when_idle = (o->hosts.lab || o->hosts.cluster.here) && ranks > host.cores;
    if (o->hosts.lab) {
        const struct cc_link *link = l->link;
        const struct cc_lab_config shape = {
            .hosts = cc_job_hosts(job),
            .bw_bps = link->bw_bps,
            .latency_s = link->latency_s > CC_LINK_LATENCY ? link->latency_s : 0,
            .burst_bytes = (size_t)link->burst_bytes,
            .limit_bytes = (size_t)o->hosts.limit,
            .congestion = o->hosts.congestion};
        job->device = cc_strdup(CC_LAB_DEVICE, e);
        if (job->device == NULL)
            return CC_FAIL;
        CC_TRY(cc_lab_open(&shape, &lab, e));
    }
    const int status = cc_hosts_launch(&o->hosts, lab, &calls, job, e);
    cc_lab_close(lab);
    return status;
}

static int simulate(struct launch *l, struct cc_job *job, struct cc_error *e)
{
    const struct cc_train_options *o = &l->train->options;
    struct cc_experiment_setting setting = {.rows = 0};
    struct cc_platform platform;
    cc_train_setting(l->train, l->link, &setting.setting);
    CC_TRY(cc_sim_platform(&o->sim, &setting, &platform, e));
    char *program = cc_rank_sim_program(e);
    const struct cc_smpirun_config config = {.platform = &platform,
                                             .fidelity = o->sim.options.fidelity,
                                             .overhead = l->link->overhead,
                                             .message_s = l->link->message_s,
                                             .rank_program = program,
                                             .smpirun = o->sim.options.smpirun,
                                             .on_report = on_report,
                                             .on_tick = on_tick,
                                             .arg = l};
    const int status = program != NULL ? cc_smpirun(&config, job, e) : CC_FAIL;
    free(program);
    cc_platform_free(&platform);
    return status;
}

/* --- a training --- */

static int make_absolute(const char *path, char **out, struct cc_error *e)
{
    char *here = path[0] == '/' ? NULL : getcwd(NULL, 0);
    if (path[0] == '/')
        *out = cc_strdup(path, e);
    else if (here == NULL || asprintf(out, "%s/%s", here, path) < 0)
        *out = NULL;
    free(here);
    return *out != NULL ? CC_OK : cc_fail(e, "%s: its folder has no name, or out of memory", path);
}

/* Checkpoints and captured traces: rank 0 may have another working directory. */
static int add_files(struct cc_job *job, const struct launch *l, struct cc_error *e)
{
    const struct cc_training_config *c = l->config;
    struct cc_job_training *t = &job->training;
    t->resumed = (size_t)l->log.step;
    t->checkpoint_every = c->checkpoint_every;
    t->capture_from = c->capture_from;
    t->capture_to = c->capture_to;
    if (c->checkpoint != NULL) {
        CC_TRY(cc_training_settings(c, &t->settings, e));
        CC_TRY(make_absolute(c->checkpoint, &t->checkpoint, e));
    }
    return c->capture != NULL ? make_absolute(c->capture, &t->capture, e) : CC_OK;
}

static int add_stragglers(const struct launch *l, struct cc_job *job, struct cc_error *e)
{
    const struct cc_link none = {.bw_bps = 1};
    struct cc_setting s;
    cc_train_setting(l->train, l->link != NULL ? l->link : &none, &s);
    s.timing.seed = l->config->task.seed;
    return cc_experiment_job_stragglers(&s, job, e);
}

static int make_job(const struct launch *l, struct cc_job *job, struct cc_error *e)
{
    const struct cc_train *t = l->train;
    CC_TRY(cc_training_job(l->config, t->net->tensors, t->net->count, job, e));
    CC_TRY(cc_job_schemes_take(job, e));
    CC_TRY(cc_training_job_for_ranks(l->config, t->options.compute_s, t->net->share, job, e));
    CC_TRY(cc_train_costs(t, l->config, l->link, job, e));
    CC_TRY(add_stragglers(l, job, e));
    return add_files(job, l, e);
}

/* Reads what the checkpoint says of the steps that have ended, if there is one. */
static int resume(struct launch *l, struct cc_error *e)
{
    const struct cc_training_config *c = l->config;
    struct cc_checkpoint_file f;
    char *settings;
    if (!c->resume || access(c->checkpoint, F_OK) != 0)
        return CC_OK;
    CC_TRY(cc_training_settings(c, &settings, e));
    int status = cc_checkpoint_open(c->checkpoint, &f, e);
    if (status == CC_OK) {
        status = cc_training_log_read(&f, settings, c->steps, &l->log, e);
        cc_checkpoint_close(&f);
    }
    free(settings);
    l->out->resumed = (size_t)l->log.step;
    memcpy(l->out->version, l->log.version, sizeof l->out->version);
    return status;
}

static int launch(struct launch *l, struct cc_error *e)
{
    struct cc_job job = {0};
    struct cc_error why = {""};
    if (l->log.step > 0)
        show(l, (size_t)l->log.step);
    int status = make_job(l, &job, &why);
    if (status == CC_OK)
        status =
            l->train->options.on == CC_TRAIN_RUN ? run(l, &job, &why) : simulate(l, &job, &why);
    cc_job_free(&job);
    /* Both make the ranks fail, and are results here. */
    if (status == CC_OK || l->out->diverged || cc_interrupted())
        return CC_OK;
    cc_error_set(e, "%s", why.text);
    return status;
}

int cc_train_by_ranks(const struct cc_train *t, const struct cc_training_config *c,
                      const struct cc_link *link, struct cc_training_result *out,
                      struct cc_error *e)
{
    struct launch l = {.train = t, .config = c, .link = link, .out = out};
    out->epoch = t->epoch;
    int status = resume(&l, e);
    /* A complete one only has to be read. */
    if (status == CC_OK && l.log.step == c->steps) {
        cc_training_log_free(&l.log);
        return cc_training_run(c, out, e);
    }
    if (status == CC_OK)
        status = launch(&l, e);
    out->eval = l.log.eval;
    out->evals = l.log.evals;
    return status;
}
