/* Simulating the settings one after the other: the reports of their ranks, and the progress bar. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmd/measure/timeline_output.h"
#include "cmd/sim/sim.h"
#include "core/clock.h"
#include "core/interrupt.h"

/* Expected seconds of simulations of which a user is warned. */
#define LONG_S 1800.0

/* The setting under way. */
struct sim_state {
    struct sim *sim;
    const struct cc_experiment_setting *setting;
    const struct cc_job *job;
    size_t row, step; /* under way; row == rows: none */
    double began;     /* time when the row began */
    double done_s;    /* expected seconds of everything before it, */
    double all_s;     /* and of the whole experiment */
};

/* --- progress --- */

static void show(const struct sim_state *s, const char *what, double done_s)
{
    struct cc_progress *p = &s->sim->experiment.progress;
    const double passed = cc_now() - p->began, share = done_s / fmax(1e-9, s->all_s);
    if (share > 0)
        cc_progress_left(p, what, share, passed * (1 - share) / share);
    else
        cc_progress_show(p, what, 0);
}

/* While payload sizes are found out, before the setting's simulation. */
static bool on_sizes_tick(void *arg, size_t row, double row_done)
{
    const struct sim_state *s = arg;
    const struct cc_experiment_setting *setting = s->setting;
    char what[300];
    double done = s->done_s + row_done * cc_sim_sizes_s(setting, &setting->row[row]);
    for (size_t i = 0; i < row; i++)
        done += cc_sim_sizes_s(setting, &setting->row[i]);
    (void)snprintf(what, sizeof what, "payload sizes of %s",
                   cc_experiment_scheme(&s->sim->experiment, &setting->row[row]));
    show(s, what, done);
    return cc_interrupted();
}

static bool on_tick(void *arg)
{
    const struct sim_state *s = arg;
    const struct cc_setting *setting = &s->setting->setting;
    char what[300] = "starting";
    double done = s->done_s;
    if (s->row < s->setting->rows) {
        const struct cc_experiment_row *row = &s->setting->row[s->row];
        done +=
            cc_sim_row_s(s->setting, row) * (double)s->step / (double)(row->warmup + row->steps);
        (void)snprintf(what, sizeof what, "%s %d %s", cc_exchange_names[setting->exchange],
                       setting->cluster.workers, cc_experiment_scheme(&s->sim->experiment, row));
    }
    show(s, what, done);
    return cc_interrupted();
}

/* --- reports --- */

static int end_row(struct sim_state *s, const struct cc_report_row *got, struct cc_error *e)
{
    const bool known = got->row < s->setting->rows; /* if not, cc_sim_add_row fails */
    const double sizes_s = known ? s->job->row[got->row].sizes.took_s : 0;
    CC_TRY(cc_sim_add_row(s->sim, s->setting, got, cc_now() - s->began + sizes_s, e));
    s->row = s->setting->rows;
    s->done_s += cc_sim_row_s(s->setting, &s->setting->row[got->row]);
    return CC_OK;
}

static int on_report(void *arg, const struct cc_report *report, struct cc_error *e)
{
    struct sim_state *s = arg;
    switch (report->kind) {
    case CC_REPORT_HELLO:
        cc_experiment_set_mpi(&s->sim->experiment, report->text);
        break;
    case CC_REPORT_ROW_BEGIN:
        s->row = report->row;
        s->step = 0;
        s->began = cc_now();
        break;
    case CC_REPORT_STEP:
        s->step = report->step + 1;
        break;
    case CC_REPORT_ROW:
        return end_row(s, &report->result, e);
    case CC_REPORT_EVENTS:
        return cc_timeline_output_add(&s->sim->experiment, s->setting, &report->events, e);
    case CC_REPORT_EVAL:
    case CC_REPORT_CALLS:
    case CC_REPORT_SIZE:
    case CC_REPORT_DONE:
    case CC_REPORT_ERROR: /* cc_smpirun returns it */
    case CC_REPORT_KILLED:
        break;
    }
    return CC_OK;
}

/* --- a setting --- */

static int simulate(struct sim_state *s, const struct cc_platform *platform, struct cc_job *job,
                    struct cc_error *e)
{
    const struct sim_options *o = &s->sim->options;
    const struct cc_smpirun_config config = {.platform = platform,
                                             .fidelity = o->fidelity,
                                             .overhead = s->setting->setting.link.overhead,
                                             .message_s = s->setting->setting.link.message_s,
                                             .rank_program = s->sim->program,
                                             .smpirun = o->smpirun,
                                             .paje = o->paje,
                                             .on_report = on_report,
                                             .on_tick = on_tick,
                                             .arg = s};
    return cc_smpirun(&config, job, e);
}

static int one_setting(struct sim_state *s, const struct cc_experiment_setting *setting,
                       struct cc_error *e)
{
    struct cc_platform platform;
    struct cc_job job = {0};
    const size_t first = s->sim->experiment.measured_rows;
    s->setting = setting;
    s->row = setting->rows;
    CC_TRY(cc_sim_platform(s->sim, setting, &platform, e));
    s->job = &job;
    int status = cc_sim_job(s->sim, setting, on_sizes_tick, s, &job, e);
    for (size_t i = 0; i < setting->rows; i++)
        s->done_s += cc_sim_sizes_s(setting, &setting->row[i]);
    if (status == CC_OK && !cc_interrupted())
        status = simulate(s, &platform, &job, e);
    if (cc_interrupted()) /* makes both fail, but is not an error here: main reports it */
        status = CC_OK;
    s->job = NULL;
    cc_job_free(&job);
    cc_platform_free(&platform);
    return status == CC_OK ? cc_sim_note_setting(s->sim, setting, first, e) : status;
}

/* Warns of simulations of hours before they begin. */
static void warn_of(const struct sim *s, double all_s)
{
    if (all_s > LONG_S && !s->experiment.input->quiet)
        (void)fprintf(stderr,
                      "commcomp: simulating this takes about %.2g hours; --dry-run shows how long "
                      "each row takes, Ctrl-C keeps the rows that are complete\n",
                      all_s / 3600);
}

int cc_sim_all(struct sim *s, struct cc_error *e)
{
    struct cc_experiment *x = &s->experiment;
    struct sim_state state = {.sim = s};
    for (size_t i = 0; i < x->settings; i++)
        for (size_t k = 0; k < x->setting[i].rows; k++)
            state.all_s += cc_sim_row_s(&x->setting[i], &x->setting[i].row[k]) +
                           cc_sim_sizes_s(&x->setting[i], &x->setting[i].row[k]);
    s->program = cc_rank_sim_program(e);
    int status = s->program != NULL ? CC_OK : CC_FAIL;
    warn_of(s, state.all_s);
    cc_progress_begin(&x->progress, x->input->quiet);
    for (size_t i = 0; i < x->settings && status == CC_OK && !cc_interrupted(); i++)
        status = one_setting(&state, &x->setting[i], e);
    cc_progress_end(&x->progress);
    return status;
}
