/* Simulating the settings one after the other: the reports of their ranks, and the progress bar. */
#include <math.h>
#include <stdio.h>

#include "cmd/cli/terminal.h"
#include "cmd/sim/sim.h"
#include "core/clock.h"
#include "core/file.h"
#include "core/interrupt.h"

/* Expected seconds of simulations of which a user is warned. */
#define LONG_S 1800.0

/* --- progress --- */

static void show(struct sim *s, const char *what, double done_s)
{
    struct cc_progress *p = &s->experiment.progress;
    const double passed = cc_now() - p->began, share = done_s / fmax(1e-9, s->all_s);
    if (share > 0)
        cc_progress_left(p, what, share, passed * (1 - share) / share);
    else
        cc_progress_show(p, what, 0);
}

/* While payload sizes are found out, before the setting's simulation. */
static bool on_sizes_tick(void *arg, size_t row, double row_done)
{
    struct sim *s = arg;
    const struct cc_experiment_setting *setting = s->experiment.now;
    char what[300];
    double done = s->done_s + row_done * cc_sim_sizes_s(setting, &setting->row[row]);
    for (size_t i = 0; i < row; i++)
        done += cc_sim_sizes_s(setting, &setting->row[i]);
    (void)snprintf(what, sizeof what, "payload sizes of %s",
                   cc_experiment_scheme(&s->experiment, &setting->row[row]));
    show(s, what, done);
    return cc_interrupted();
}

static bool on_tick(void *arg)
{
    struct sim *s = arg;
    const struct cc_experiment *x = &s->experiment;
    const struct cc_setting *setting = &x->now->setting;
    char what[300] = "starting";
    double done = s->done_s;
    if (x->row < x->now->rows) {
        const struct cc_experiment_row *row = &x->now->row[x->row];
        done += cc_sim_row_s(x->now, row) * (double)x->step / (double)(row->warmup + row->steps);
        (void)snprintf(what, sizeof what, "%s %d %s", cc_exchange_names[setting->exchange],
                       setting->cluster.workers, cc_experiment_scheme(x, row));
    }
    show(s, what, done);
    return cc_interrupted();
}

/* --- a setting --- */

static int end_row(struct sim *s, const struct cc_report_row *got, struct cc_error *e)
{
    const struct cc_experiment *x = &s->experiment;
    const bool known = got->row < x->now->rows; /* if not, cc_sim_add_row fails */
    const double sizes_s = known ? s->job->row[got->row].sizes.took_s : 0;
    const struct cc_report_row step = cc_experiment_per_step(&x->now->setting, got);
    CC_TRY(cc_sim_add_row(s, x->now, &step, cc_now() - x->began + sizes_s, e));
    s->done_s += cc_sim_row_s(x->now, &x->now->row[got->row]);
    return CC_OK;
}

static int on_report(void *arg, const struct cc_report *report, struct cc_error *e)
{
    struct sim *s = arg;
    if (report->kind == CC_REPORT_ROW)
        CC_TRY(end_row(s, &report->result, e));
    return cc_experiment_take_report(&s->experiment, report, e);
}

/* Reports of a simulation with few workers: rows go to the extrapolation. */
struct part {
    struct sim *sim;
    int (*on_row)(void *to, const struct cc_report_row *row, struct cc_error *e);
    void *to;
};

static int on_part_report(void *arg, const struct cc_report *report, struct cc_error *e)
{
    const struct part *p = arg;
    if (report->kind == CC_REPORT_ROW)
        return p->on_row(p->to, &report->result, e);
    return cc_experiment_take_report(&p->sim->experiment, report, e);
}

static bool on_part_tick(void *arg)
{
    const struct part *p = arg;
    return on_tick(p->sim);
}

static int simulate(struct sim *s, const struct cc_platform *platform, struct part *part,
                    struct cc_job *job, struct cc_error *e)
{
    const struct sim_options *o = &s->options;
    const struct cc_link *link = &s->experiment.now->setting.link;
    const struct cc_smpirun_config config = {.platform = platform,
                                             .fidelity = o->fidelity,
                                             .overhead = link->overhead,
                                             .message_s = link->message_s,
                                             .rank_program = s->program,
                                             .smpirun = o->smpirun,
                                             .paje = o->paje,
                                             .on_report = part != NULL ? on_part_report : on_report,
                                             .on_tick = part != NULL ? on_part_tick : on_tick,
                                             .arg = part != NULL ? (void *)part : s,
                                             .began = &s->experiment.launched};
    return cc_smpirun(&config, job, e);
}

static int simulate_part(void *arg, const struct cc_job *job,
                         int (*on_row)(void *to, const struct cc_report_row *row,
                                       struct cc_error *e),
                         void *to, struct cc_error *e)
{
    struct sim *s = arg;
    struct part part = {s, on_row, to};
    struct cc_platform_config config = cc_sim_platform_config(s, &s->experiment.now->setting);
    struct cc_platform platform;
    struct cc_job of = *job;
    config.workers = job->workers;
    CC_TRY(cc_platform_make(&config, &platform, e));
    const int status = simulate(s, &platform, &part, &of, e);
    cc_platform_free(&platform);
    return status;
}

static int on_row(void *to, const struct cc_report_row *row, struct cc_error *e)
{
    const struct cc_report report = {.kind = CC_REPORT_ROW, .result = *row};
    return on_report(to, &report, e);
}

static int measure(void *arg, const struct cc_experiment_setting *setting, struct cc_error *e)
{
    struct sim *s = arg;
    struct cc_platform platform;
    struct cc_job job = {0};
    CC_TRY(cc_sim_platform(s, setting, &platform, e));
    s->job = &job;
    int status = cc_sim_job(s, setting, on_sizes_tick, s, &job, e);
    for (size_t i = 0; i < setting->rows; i++)
        s->done_s += cc_sim_sizes_s(setting, &setting->row[i]);
    if (status == CC_OK && !cc_interrupted() && cc_sim_extrapolates(s, setting)) {
        s->extrapolated = true;
        status = cc_sim_extrapolate(&job, simulate_part, s, on_row, s, e);
    } else if (status == CC_OK && !cc_interrupted()) {
        status = simulate(s, &platform, NULL, &job, e);
    }
    s->job = NULL;
    cc_job_free(&job);
    cc_platform_free(&platform);
    return status;
}

/* --- all settings --- */

static int write_platform(const struct cc_platform *p, const char *path, struct cc_error *e)
{
    struct cc_outfile file;
    CC_TRY(cc_file_create(&file, path, e));
    if (fputs(p->xml, file.f) != EOF)
        return cc_file_commit(&file, e);
    cc_file_abort(&file);
    return cc_fail(e, "%s: cannot be written", path);
}

static double limit(const struct cc_setting *s)
{
    (void)s;
    return 0.01;
}

int cc_sim_prepare(struct sim *s, struct cc_experiment_input *input, struct cc_record *record,
                   struct cc_error *e)
{
    static const struct cc_experiment_ops ops = {.complete = cc_sim_complete,
                                                 .choose = cc_sim_choose,
                                                 .measure = measure,
                                                 .limit = limit,
                                                 .cause = cc_sim_cause,
                                                 .exact = true};
    const struct sim_options *o = &s->options;
    struct cc_experiment *x = &s->experiment;
    CC_TRY(cc_experiment_prepare(x, input, record, &ops, s, e));
    if (x->settings > 1 && (o->write_platform != NULL || o->paje != NULL))
        return cc_usage(e, "--%s is of one setting, and the lists of the options make %zu",
                        o->write_platform != NULL ? "write-platform" : "paje", x->settings);
    for (size_t i = 0; i < x->settings; i++) {
        struct cc_platform p;
        int status = CC_OK;
        CC_TRY(cc_sim_platform(s, &x->setting[i], &p, e));
        if (o->write_platform != NULL)
            status = write_platform(&p, o->write_platform, e);
        cc_platform_free(&p);
        CC_TRY(status);
    }
    return CC_OK;
}

int cc_sim_all(struct sim *s, struct cc_error *e)
{
    s->all_s = cc_sim_all_s(s);
    s->done_s = 0;
    s->program = cc_rank_sim_program(e);
    if (s->all_s > LONG_S && !s->experiment.input->quiet)
        cc_say("simulating this takes about %.2g hours; --dry-run shows how long each row takes, "
               "Ctrl-C keeps the rows that are complete",
               s->all_s / 3600);
    return s->program != NULL ? cc_experiment_all(&s->experiment, e) : CC_FAIL;
}
