/* Running a plan: a lab and a launch for each setting, what is heard from the ranks, and how far it
 * all is. */
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/run/run.h"
#include "cmd/measure/timeline_output.h"
#include "core/clock.h"
#include "core/interrupt.h"
#include "core/memory.h"

/* A setting under way. */
struct watch {
    struct run *run;
    const struct cc_experiment_setting *setting;
    size_t row, step; /* the step under way; row == rows: none */
    double began;     /* when it did, or the launch */
    double slower;    /* how much longer steps take than by the forecast, as far as is known */
    double done_s;    /* by the forecast: of this setting */
};

/* --- how long --- */

static const struct cc_experiment_row *row_of(const struct watch *w)
{
    return w->row < w->setting->rows ? &w->setting->row[w->row] : NULL;
}

/* Making a step's gradients, and the codecs' states: nanoseconds for each value of each rank. */
static double prepare_s(const struct cc_experiment_setting *s)
{
    return 1 + 200e-9 * (double)s->setting.net->values * s->ranks_per_core;
}

/* The longest that a step may take: of a period the step that sends all of it; with stragglers,
 * that of a slow one. */
static double step_s(const struct watch *w)
{
    const struct cc_experiment_row *row = row_of(w);
    const struct cc_timing *t = &w->setting->setting.timing;
    double s = cc_run_step_s(row, w->step) * (double)row->period * fmax(1, w->slower);
    return t->straggler == CC_STEADY ? s : s + 5 * t->spread * t->compute_s;
}

static double remaining_s(void *arg)
{
    const struct watch *w = arg;
    if (row_of(w) == NULL)
        return prepare_s(w->setting);
    return step_s(w) + (w->step == 0 ? prepare_s(w->setting) : 0.1);
}

static double setting_s(const struct cc_experiment_setting *s)
{
    double sum = cc_run_start_s(&s->setting);
    for (size_t i = 0; i < s->rows; i++)
        sum += cc_run_row_s(&s->row[i]);
    return sum;
}

/* --- progress --- */

static void show(struct watch *w)
{
    struct run *r = w->run;
    const struct cc_experiment_row *row = row_of(w);
    double now = cc_now(), left = 0, passed = now - r->plan.progress.began,
           factor = fmax(0.2, w->slower);
    char what[300] = "starting";
    for (const struct cc_experiment_setting *s = w->setting; s < r->plan.setting + r->plan.settings;
         s++)
        left += setting_s(s);
    left -= w->done_s;
    if (row != NULL) {
        left -= fmin(cc_run_step_s(row, w->step), (now - w->began) / factor);
        (void)snprintf(what, sizeof what, "%s %s", w->setting->setting.link.name,
                       cc_experiment_scheme(&r->plan, row));
    }
    left = fmax(0, left * factor);
    cc_progress_left(&r->plan.progress, what, passed / fmax(1e-3, passed + left), left);
}

static bool on_tick(void *arg)
{
    show(arg);
    return cc_interrupted();
}

/* --- hearing --- */

/* The next step begins. */
static void step_ended(struct watch *w, size_t row, size_t step)
{
    double now = cc_now();
    w->row = row;
    const struct cc_experiment_row *of = row_of(w);
    double planned = of != NULL ? cc_run_step_s(of, step) : 0;
    if (of != NULL && planned > 0 && of->period == 1)
        w->slower = (now - w->began) / planned;
    w->done_s += planned;
    w->began = now;
    w->step = step + 1;
    if (of != NULL && w->step >= of->warmup + of->steps)
        w->row = w->setting->rows;
}

static int on_report(void *arg, const struct cc_report *report, struct cc_error *e)
{
    struct watch *w = arg;
    struct cc_record *record = w->run->plan.record;
    switch (report->kind) {
    case CC_REPORT_HELLO:
        (void)snprintf(record->mpi, sizeof record->mpi, "%s", report->text);
        w->done_s += cc_run_start_s(&w->setting->setting);
        return CC_OK;
    case CC_REPORT_ROW_BEGIN:
        w->row = report->row;
        w->step = 0;
        w->slower = 1;
        w->began = cc_now();
        return CC_OK;
    case CC_REPORT_STEP:
        step_ended(w, report->row, report->step);
        return CC_OK;
    case CC_REPORT_ROW:
        w->row = w->setting->rows;
        if (report->result.row >= w->setting->rows)
            return cc_fail(e, "commcomp-rank reports row %zu of %zu: is it of another version?",
                           report->result.row, w->setting->rows);
        return cc_run_add_row(w->run, w->setting, report->result.row, &report->result, e);
    case CC_REPORT_EVENTS:
        return cc_timeline_output_take(&w->run->plan, w->setting, &report->events, e);
    case CC_REPORT_SIZE:
    case CC_REPORT_DONE:
    case CC_REPORT_ERROR: /* cc_launch tells of it */
        break;
    }
    return CC_OK;
}

/* --- a setting --- */

/* For --keep: until Enter, the end of stdin, or an interrupt. */
static void wait_for_enter(void)
{
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    (void)fprintf(stderr, "the lab is kept until Enter or Ctrl-C\n");
    while (!cc_interrupted() && poll(&in, 1, 200) <= 0)
        continue;
    char line[256];
    if (!cc_interrupted())
        (void)fgets(line, sizeof line, stdin);
}

static int tell_directions(struct run *r, const struct cc_lab *lab, struct cc_error *e)
{
    char *text = r->options.keep ? cc_lab_directions(lab, e) : NULL;
    if (r->options.keep && text == NULL)
        return CC_FAIL;
    if (text != NULL)
        (void)fprintf(stderr, "%s", text);
    free(text);
    return CC_OK;
}

static int open_lab(struct run *r, const struct cc_experiment_setting *s, struct cc_lab **out,
                    struct cc_error *e)
{
    const struct cc_lab_config config = {.hosts = cc_experiment_ranks(&s->setting),
                                         .bw_bps = s->shaped_bps,
                                         .latency_s = s->added_latency_s,
                                         .burst_bytes = (size_t)s->setting.link.burst_bytes,
                                         .limit_bytes = (size_t)r->options.hosts.limit,
                                         .congestion = r->options.hosts.congestion};
    int status = cc_experiment_check_memory(&s->setting, e);
    if (status == CC_OK)
        status = cc_lab_open(&config, out, e);
    if (status != CC_OK)
        return status;
    r->shaped = *cc_lab_settings(*out);
    status = tell_directions(r, *out, e);
    if (status != CC_OK)
        cc_lab_close(*out);
    return status;
}

static int launch(struct run *r, const struct cc_experiment_setting *s, const char *program,
                  struct cc_lab *lab, struct cc_error *e)
{
    struct watch w = {.run = r, .setting = s, .row = s->rows, .began = cc_now(), .slower = 1};
    const struct cc_launch_config config = {.lab = lab,
                                            .cluster = &r->options.hosts.cluster,
                                            .rank_program = program,
                                            .on_report = on_report,
                                            .remaining_s = remaining_s,
                                            .on_tick = on_tick,
                                            .arg = &w};
    struct cc_job job = {.exchange = NULL};
    int status = cc_run_job(r, s, &job, e);
    if (status == CC_OK)
        status = cc_launch(&config, &job, e);
    cc_job_free(&job);
    /* Whatever it died of: it was told to. */
    return cc_interrupted() ? CC_OK : status;
}

static int run_setting(struct run *r, const struct cc_experiment_setting *s, const char *program,
                       struct cc_error *e)
{
    struct cc_lab *lab = NULL;
    size_t first = r->plan.record->row_count;
    r->plan.latest_fp32_s = NAN;
    if (r->options.device != NULL)
        r->shaped.limit_bytes = cc_lab_limit(s->shaped_bps, cc_experiment_ranks(&s->setting));
    int status = r->options.hosts.lab ? open_lab(r, s, &lab, e) : CC_OK;
    if (status != CC_OK)
        return status;
    status = launch(r, s, program, lab, e);
    r->shaped = (struct cc_lab_config){.hosts = 0}; /* its text is the lab's */
    if (lab != NULL && r->options.keep && status == CC_OK && !cc_interrupted()) {
        cc_progress_end(&r->plan.progress);
        wait_for_enter();
    }
    if (lab != NULL)
        cc_lab_close(lab);
    return status == CC_OK ? cc_run_setting_notes(r, s, first, e) : status;
}

int cc_run_all(struct run *r, struct cc_error *e)
{
    char *program = cc_rank_program(e);
    int status = program != NULL ? CC_OK : CC_FAIL;
    cc_progress_begin(&r->plan.progress, r->plan.args->quiet);
    for (size_t i = 0; i < r->plan.settings && status == CC_OK && !cc_interrupted(); i++)
        status = run_setting(r, &r->plan.setting[i], program, e);
    cc_progress_end(&r->plan.progress);
    free(program);
    return status;
}
