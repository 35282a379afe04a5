/* Running the settings: a lab and a launch for each, the ranks' reports, and the progress bar.
 *
 * The ranks report the beginning of every row, the end of every step, and a row's result. From the
 * reports and the forecast come the time that is left, and the time that remains for the next
 * report, after which the ranks are taken for stuck. */
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cmd/measure/timeline_output.h"
#include "cmd/run/run.h"
#include "core/clock.h"
#include "core/interrupt.h"
#include "core/memory.h"

/* The setting under way. */
struct run_state {
    struct run *run;
    const struct cc_experiment_setting *setting;
    size_t row, step; /* the step under way; row == rows: none */
    double began;     /* time when it began, or when the launch did */
    double slowdown;  /* measured / expected time of the latest step */
    double done_s;    /* expected seconds of the part of this setting that is done */
};

/* --- time --- */

static const struct cc_experiment_row *current_row(const struct run_state *s)
{
    return s->row < s->setting->rows ? &s->setting->row[s->row] : NULL;
}

/* Before a row's first step, ranks make gradients and the codecs' states: nanoseconds per value of
 * each rank. */
static double prepare_s(const struct cc_experiment_setting *s)
{
    return 1 + 200e-9 * (double)s->setting.net->values * s->ranks_per_core;
}

/* The longest that the step under way may take: the step of a period that sends takes the time of
 * all; with stragglers, one may be slow. */
static double longest_step_s(const struct run_state *s)
{
    const struct cc_experiment_row *row = current_row(s);
    const struct cc_timing *t = &s->setting->setting.timing;
    const double period_s =
        cc_run_step_s(s->setting, row, s->step) * (double)row->period * fmax(1, s->slowdown);
    return t->straggler == CC_STEADY ? period_s : period_s + 5 * t->spread * t->compute_s;
}

static double remaining_s(void *arg)
{
    const struct run_state *s = arg;
    if (current_row(s) == NULL)
        return prepare_s(s->setting);
    return longest_step_s(s) + (s->step == 0 ? prepare_s(s->setting) : 0.1);
}

static double setting_s(const struct cc_experiment_setting *s)
{
    double sum = cc_run_start_s(&s->setting);
    for (size_t i = 0; i < s->rows; i++)
        sum += cc_run_row_s(s, &s->row[i]);
    return sum;
}

static bool on_tick(void *arg)
{
    struct run_state *s = arg;
    struct cc_experiment *x = &s->run->experiment;
    const struct cc_experiment_row *row = current_row(s);
    const double now = cc_now(), passed = now - x->progress.began, factor = fmax(0.2, s->slowdown);
    double left = -s->done_s;
    char what[300] = "starting";
    for (const struct cc_experiment_setting *i = s->setting; i < x->setting + x->settings; i++)
        left += setting_s(i);
    if (row != NULL) {
        left -= fmin(cc_run_step_s(s->setting, row, s->step), (now - s->began) / factor);
        (void)snprintf(what, sizeof what, "%s %s", s->setting->setting.link.name,
                       cc_experiment_scheme(x, row));
    }
    left = fmax(0, left * factor);
    cc_progress_left(&x->progress, what, passed / fmax(1e-3, passed + left), left);
    return cc_interrupted();
}

/* --- reports --- */

/* A step has ended, and the next begins. */
static void end_step(struct run_state *s, size_t row, size_t step)
{
    const double now = cc_now();
    s->row = row;
    const struct cc_experiment_row *current = current_row(s);
    const double expected = current != NULL ? cc_run_step_s(s->setting, current, step) : 0;
    if (current != NULL && expected > 0 && current->period == 1)
        s->slowdown = (now - s->began) / expected;
    s->done_s += expected;
    s->began = now;
    s->step = step + 1;
    if (current != NULL && s->step >= current->warmup + current->steps)
        s->row = s->setting->rows;
}

static int on_report(void *arg, const struct cc_report *report, struct cc_error *e)
{
    struct run_state *s = arg;
    struct cc_experiment *x = &s->run->experiment;
    switch (report->kind) {
    case CC_REPORT_HELLO:
        cc_experiment_set_mpi(x, report->text);
        s->done_s += cc_run_start_s(&s->setting->setting);
        return CC_OK;
    case CC_REPORT_ROW_BEGIN:
        s->row = report->row;
        s->step = 0;
        s->slowdown = 1;
        s->began = cc_now();
        return CC_OK;
    case CC_REPORT_STEP:
        end_step(s, report->row, report->step);
        return CC_OK;
    case CC_REPORT_ROW:
        s->row = s->setting->rows;
        return cc_run_add_row(s->run, s->setting, &report->result, e);
    case CC_REPORT_EVENTS:
        return cc_timeline_output_add(x, s->setting, &report->events, e);
    case CC_REPORT_EVAL:
    case CC_REPORT_CALLS:
    case CC_REPORT_SIZE:
    case CC_REPORT_DONE:
    case CC_REPORT_ERROR: /* cc_launch returns it */
    case CC_REPORT_KILLED:
        break;
    }
    return CC_OK;
}

/* --- a setting --- */

/* For --keep-lab: until Enter, the end of stdin, or an interrupt. */
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

/* For --keep-lab: how to enter the lab by hand. */
static int print_directions(const struct cc_lab *lab, struct cc_error *e)
{
    char *text = cc_lab_directions(lab, e);
    if (text == NULL)
        return CC_FAIL;
    (void)fprintf(stderr, "%s", text);
    free(text);
    return CC_OK;
}

static int open_lab(struct run *r, const struct cc_experiment_setting *s, struct cc_lab **out,
                    struct cc_error *e)
{
    const struct cc_lab_config config = {.hosts = cc_experiment_hosts(&s->setting),
                                         .bw_bps = s->shaped_bps,
                                         .latency_s = s->added_latency_s,
                                         .burst_bytes = (size_t)s->setting.link.burst_bytes,
                                         .limit_bytes = (size_t)r->options.hosts.limit,
                                         .congestion = r->options.hosts.congestion};
    CC_TRY(cc_experiment_check_memory(&s->setting, e));
    CC_TRY(cc_lab_open(&config, out, e));
    r->shaped = *cc_lab_settings(*out);
    if (r->shaped.congestion != NULL)
        (void)snprintf(r->congestion, sizeof r->congestion, "%s", r->shaped.congestion);
    return r->options.keep_lab ? print_directions(*out, e) : CC_OK;
}

static int make_job(struct run *r, const struct cc_experiment_setting *s, struct cc_job *out,
                    struct cc_error *e)
{
    const bool lab = r->options.hosts.lab;
    const char *device = lab ? CC_LAB_DEVICE : r->options.device;
    CC_TRY(cc_experiment_job(&r->experiment, s, out, e));
    if (device == NULL)
        return CC_OK;
    if (!lab)
        out->shaping = (struct cc_job_shaping){s->shaped_bps, (size_t)s->setting.link.burst_bytes,
                                               cc_lab_limit(s->shaped_bps, cc_job_hosts(out))};
    out->device = cc_strdup(device, e);
    return out->device != NULL ? CC_OK : CC_FAIL;
}

static int launch(struct run *r, const struct cc_experiment_setting *setting, const char *program,
                  struct cc_lab *lab, struct cc_error *e)
{
    struct run_state s = {
        .run = r, .setting = setting, .row = setting->rows, .began = cc_now(), .slowdown = 1};
    const struct cc_launch_config config = {.hosts = {lab, &r->options.hosts.cluster},
                                            .rank_program = program,
                                            .on_report = on_report,
                                            .remaining_s = remaining_s,
                                            .on_tick = on_tick,
                                            .arg = &s};
    struct cc_job job = {0};
    int status = make_job(r, setting, &job, e);
    if (status == CC_OK)
        status = cc_launch(&config, &job, e);
    cc_job_free(&job);
    /* An interrupt makes the launch fail, but is not an error here: main reports it. */
    return cc_interrupted() ? CC_OK : status;
}

static int run_setting(struct run *r, const struct cc_experiment_setting *s, const char *program,
                       struct cc_error *e)
{
    struct cc_lab *lab = NULL;
    const size_t first = r->experiment.measured_rows;
    int status = CC_OK;
    if (r->options.device != NULL)
        r->shaped.limit_bytes = cc_lab_limit(s->shaped_bps, cc_experiment_hosts(&s->setting));
    if (r->options.hosts.lab)
        CC_TRY_OUT(open_lab(r, s, &lab, e));
    status = launch(r, s, program, lab, e);
    if (lab != NULL && r->options.keep_lab && status == CC_OK && !cc_interrupted()) {
        cc_progress_end(&r->experiment.progress);
        wait_for_enter();
    }
out:
    r->shaped = (struct cc_lab_config){.hosts = 0}; /* its text is the lab's */
    if (lab != NULL)
        cc_lab_close(lab);
    return status == CC_OK ? cc_run_note_setting(r, s, first, e) : status;
}

int cc_run_all(struct run *r, struct cc_error *e)
{
    struct cc_experiment *x = &r->experiment;
    char *program = cc_rank_program(e);
    int status = program != NULL ? CC_OK : CC_FAIL;
    cc_progress_begin(&x->progress, x->input->quiet);
    for (size_t i = 0; i < x->settings && status == CC_OK && !cc_interrupted(); i++)
        status = run_setting(r, &x->setting[i], program, e);
    cc_progress_end(&x->progress);
    free(program);
    return status;
}
