/* Simulating a plan: a simulation for each setting, what is heard from its ranks, and how far it
 * all is. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmd/sim/sim.h"
#include "cmd/measure/timeline_output.h"
#include "core/clock.h"
#include "core/interrupt.h"

/* A setting under way. */
struct watch {
    struct sim *sim;
    const struct cc_experiment_setting *setting;
    const struct cc_job *job;
    size_t row, step; /* under way; row == rows: none */
    double began;     /* when the row did */
    double before_s;  /* expected: of all before it, */
    double all_s;     /* and of all of the plan */
};

/* --- progress --- */

static void show(const struct watch *w, const char *what, double done_s)
{
    struct cc_progress *p = &w->sim->plan.progress;
    double passed = cc_now() - p->began, share = done_s / fmax(1e-9, w->all_s);
    if (share > 0)
        cc_progress_left(p, what, share, passed * (1 - share) / share);
    else
        cc_progress_show(p, what, 0);
}

/* Payload sizes, before the setting's simulation. */
static bool tick_sizes(void *arg, size_t row, double row_done)
{
    const struct watch *w = arg;
    const struct cc_experiment_setting *s = w->setting;
    char what[300];
    double done = w->before_s + row_done * cc_sim_sizes_s(s, &s->row[row]);
    for (size_t i = 0; i < row; i++)
        done += cc_sim_sizes_s(s, &s->row[i]);
    (void)snprintf(what, sizeof what, "payload sizes of %s",
                   cc_experiment_scheme(&w->sim->plan, &s->row[row]));
    show(w, what, done);
    return cc_interrupted();
}

static bool on_tick(void *arg)
{
    const struct watch *w = arg;
    const struct cc_experiment *p = &w->sim->plan;
    char what[300] = "starting";
    double done = w->before_s;
    if (w->row < w->setting->rows) {
        const struct cc_experiment_row *row = &w->setting->row[w->row];
        done +=
            cc_sim_row_s(w->setting, row) * (double)w->step / (double)(row->warmup + row->steps);
        (void)snprintf(what, sizeof what, "%s %d %s",
                       cc_exchange_names[w->setting->setting.exchange],
                       w->setting->setting.cluster.workers, cc_experiment_scheme(p, row));
    }
    show(w, what, done);
    return cc_interrupted();
}

/* --- hearing --- */

static int row_ended(struct watch *w, const struct cc_report_row *got, struct cc_error *e)
{
    if (got->row >= w->setting->rows)
        return cc_fail(e, "commcomp-rank-sim reports row %zu of %zu: is it of another version?",
                       got->row, w->setting->rows);
    w->row = w->setting->rows;
    w->before_s += cc_sim_row_s(w->setting, &w->setting->row[got->row]);
    double wall_s = cc_now() - w->began + w->job->row[got->row].sizes.took_s;
    return cc_sim_add_row(w->sim, w->setting, got->row, got, wall_s, e);
}

static int on_report(void *arg, const struct cc_report *report, struct cc_error *e)
{
    struct watch *w = arg;
    struct cc_record *record = w->sim->plan.record;
    switch (report->kind) {
    case CC_REPORT_HELLO:
        (void)snprintf(record->mpi, sizeof record->mpi, "%s", report->text);
        break;
    case CC_REPORT_ROW_BEGIN:
        w->row = report->row;
        w->step = 0;
        w->began = cc_now();
        break;
    case CC_REPORT_STEP:
        w->step = report->step + 1;
        break;
    case CC_REPORT_ROW:
        return row_ended(w, &report->result, e);
    case CC_REPORT_EVENTS:
        return cc_timeline_output_take(&w->sim->plan, w->setting, &report->events, e);
    default: /* cc_smpirun tells of errors */
        break;
    }
    return CC_OK;
}

/* --- a setting --- */

static int simulate(struct watch *w, const struct cc_platform *platform, struct cc_job *job,
                    struct cc_error *e)
{
    const struct sim_options *o = &w->sim->options;
    const struct cc_smpirun_config config = {.platform = platform,
                                             .fidelity = o->fidelity,
                                             .overhead = w->setting->setting.link.overhead,
                                             .rank_program = w->sim->program,
                                             .smpirun = o->smpirun,
                                             .paje = o->paje,
                                             .on_report = on_report,
                                             .on_tick = on_tick,
                                             .arg = w};
    int status = cc_smpirun(&config, job, e);
    /* Whatever it died of: it was told to. */
    return cc_interrupted() ? CC_OK : status;
}

static int one_setting(struct watch *w, const struct cc_experiment_setting *s, struct cc_error *e)
{
    struct cc_platform platform;
    struct cc_job job = {.exchange = NULL};
    size_t first = w->sim->plan.record->row_count;
    w->setting = s;
    w->row = s->rows;
    w->sim->plan.latest_fp32_s = NAN;
    int status = cc_sim_platform(w->sim, s, &platform, e);
    if (status != CC_OK)
        return status;
    w->job = &job;
    status = cc_sim_job(w->sim, s, tick_sizes, w, &job, e);
    for (size_t i = 0; i < s->rows; i++)
        w->before_s += cc_sim_sizes_s(s, &s->row[i]);
    if (cc_interrupted()) /* which stops the sizes */
        status = CC_OK;
    else if (status == CC_OK)
        status = simulate(w, &platform, &job, e);
    w->job = NULL;
    cc_job_free(&job);
    cc_platform_free(&platform);
    return status == CC_OK ? cc_sim_setting_notes(w->sim, s, first, e) : status;
}

int cc_sim_all(struct sim *s, struct cc_error *e)
{
    struct watch w = {.sim = s};
    for (size_t i = 0; i < s->plan.settings; i++)
        for (size_t k = 0; k < s->plan.setting[i].rows; k++)
            w.all_s += cc_sim_row_s(&s->plan.setting[i], &s->plan.setting[i].row[k]) +
                       cc_sim_sizes_s(&s->plan.setting[i], &s->plan.setting[i].row[k]);
    s->program = cc_rank_sim_program(e);
    int status = s->program != NULL ? CC_OK : CC_FAIL;
    cc_progress_begin(&s->plan.progress, s->plan.args->quiet);
    for (size_t i = 0; i < s->plan.settings && status == CC_OK && !cc_interrupted(); i++)
        status = one_setting(&w, &s->plan.setting[i], e);
    cc_progress_end(&s->plan.progress);
    return status;
}
