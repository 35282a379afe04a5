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

#include "cmd/run/run.h"
#include "core/clock.h"
#include "core/interrupt.h"
#include "core/memory.h"
#include "core/memory_text.h"

/* --- time --- */

static const struct cc_experiment_row *current_row(const struct cc_experiment *x)
{
    return x->row < x->now->rows ? &x->now->row[x->row] : NULL;
}

/* Before a row's first step, ranks make gradients and the codecs' states: nanoseconds per value of
 * each rank. */
static double prepare_s(const struct cc_experiment_setting *s)
{
    return 1 + 200e-9 * (double)s->setting.net->values * s->ranks_per_core;
}

/* The longest that the step under way may take: the step of a period that sends takes the time of
 * all; with stragglers, one may be slow. */
static double longest_step_s(const struct run *r)
{
    const struct cc_experiment *x = &r->experiment;
    const struct cc_experiment_row *row = current_row(x);
    const struct cc_timing *t = &x->now->setting.timing;
    const double period_s =
        cc_run_step_s(x->now, row, x->step) * (double)row->period * fmax(1, r->slowdown);
    return t->straggler == CC_STEADY ? period_s
                                     : period_s + 5 * t->spread * t->compute_s *
                                                      (double)cc_experiment_round(&x->now->setting);
}

static double remaining_s(void *arg)
{
    const struct run *r = arg;
    const struct cc_experiment *x = &r->experiment;
    if (current_row(x) == NULL)
        return prepare_s(x->now);
    return longest_step_s(r) + (x->step == 0 ? prepare_s(x->now) : 0.1);
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
    struct run *r = arg;
    struct cc_experiment *x = &r->experiment;
    const struct cc_experiment_row *row = current_row(x);
    const double now = cc_now(), passed = now - x->progress.began, factor = fmax(0.2, r->slowdown);
    double left = -r->done_s;
    char what[300] = "starting";
    for (const struct cc_experiment_setting *i = x->now; i < x->setting + x->settings; i++)
        left += setting_s(i);
    if (row != NULL) {
        left -= fmin(cc_run_step_s(x->now, row, x->step), (now - x->began) / factor);
        (void)snprintf(what, sizeof what, "%s %s", x->now->setting.link.name,
                       cc_experiment_scheme(x, row));
    }
    left = fmax(0, left * factor);
    cc_progress_left(&x->progress, what, passed / fmax(1e-3, passed + left), left);
    return cc_interrupted();
}

/* --- reports --- */

/* A step has ended, and the next begins. */
static void end_step(struct run *r, size_t row, size_t step)
{
    struct cc_experiment *x = &r->experiment;
    const double now = cc_now();
    x->row = row;
    const struct cc_experiment_row *current = current_row(x);
    const double expected = current != NULL ? cc_run_step_s(x->now, current, step) : 0;
    if (current != NULL && expected > 0 && current->period == 1)
        r->slowdown = (now - x->began) / expected;
    r->done_s += expected;
    x->began = now;
    if (current != NULL && step + 1 >= current->warmup + current->steps)
        x->row = x->now->rows;
}

static int on_report(void *arg, const struct cc_report *report, struct cc_error *e)
{
    struct run *r = arg;
    if (report->kind == CC_REPORT_HELLO)
        r->done_s += cc_run_start_s(&r->experiment.now->setting);
    if (report->kind == CC_REPORT_ROW_BEGIN)
        r->slowdown = 1;
    if (report->kind == CC_REPORT_STEP)
        end_step(r, report->row, report->step);
    if (report->kind == CC_REPORT_ROW) {
        const struct cc_report_row got =
            cc_experiment_per_step(&r->experiment.now->setting, &report->result);
        CC_TRY(cc_run_add_row(r, r->experiment.now, &got, e));
    }
    return cc_experiment_take_report(&r->experiment, report, e);
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

/* A direction's factor on the rate of the slower one. */
static double way(double factor)
{
    return factor > 0 ? factor : 1;
}

static int open_lab(struct run *r, const struct cc_experiment_setting *s, struct cc_lab **out,
                    struct cc_error *e)
{
    const struct cc_link *l = &s->setting.link;
    const struct cc_lab_config config = {
        .hosts = cc_experiment_hosts(&s->setting),
        .nics = s->setting.cluster.nics,
        .nic_hosts = cc_cluster_hosts(&s->setting.cluster),
        .bw_bps = s->shaped_bps * way(l->up_factor),
        .down_bps = cc_link_asymmetric(l) ? s->shaped_bps * way(l->down_factor) : 0,
        .latency_s = s->added_latency_s,
        .burst_bytes = (size_t)s->setting.link.burst_bytes,
        .limit_bytes = (size_t)r->options.hosts.limit,
        .congestion = r->options.hosts.congestion};
    CC_TRY(cc_hosts_check(e));
    CC_TRY(cc_experiment_check_memory(&s->setting, 0, e));
    CC_TRY(cc_lab_open(&config, out, e));
    r->shaped = *cc_lab_settings(*out);
    if (r->shaped.congestion != NULL)
        (void)snprintf(r->congestion, sizeof r->congestion, "%s", r->shaped.congestion);
    return r->options.keep_lab ? print_directions(*out, e) : CC_OK;
}

/* Names a host's interfaces: "data,data1" for two. */
static int name_devices(const char *device, int nics, char **out, struct cc_error *e)
{
    struct cc_memory_text list;
    CC_TRY(cc_memory_text_begin(&list, "the names of interfaces", e));
    (void)fputs(device, list.f);
    for (int i = 1; i < nics; i++)
        (void)fprintf(list.f, ",%s%d", device, i);
    CC_TRY(cc_memory_text_end(&list, CC_OK, e));
    *out = list.text;
    return CC_OK;
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
    return name_devices(device, lab ? s->setting.cluster.nics : 1, &out->device, e);
}

static int launch(struct run *r, const struct cc_experiment_setting *setting, struct cc_lab *lab,
                  struct cc_error *e)
{
    const struct cc_launch_config calls = {.on_report = on_report,
                                           .remaining_s = remaining_s,
                                           .on_tick = on_tick,
                                           .arg = r,
                                           .began = &r->experiment.launched};
    struct cc_job job = {0};
    r->slowdown = 1;
    r->done_s = 0;
    int status = make_job(r, setting, &job, e);
    if (status == CC_OK)
        status = cc_hosts_launch(&r->options.hosts, lab, &calls, &job, e);
    cc_job_free(&job);
    return status;
}

/* Launches the ranks of a setting; with --ping, between two measurements of its links, which its
 * rows then show. */
static int launch_measured(struct run *r, const struct cc_experiment_setting *s, struct cc_lab *lab,
                           struct cc_error *e)
{
    struct cc_record *record = r->experiment.record;
    const size_t first = record != NULL ? record->row_count : 0;
    if (!r->options.ping)
        return launch(r, s, lab, e);
    if (r->links == NULL)
        CC_TRY(CC_NEW(r->links, r->experiment.settings, e));
    struct cc_run_links *of = &r->links[s - r->experiment.setting];
    of->after_bps = NAN;
    CC_TRY(cc_run_ping(r, s, lab, &of->before_bps, e));
    CC_TRY(launch(r, s, lab, e));
    CC_TRY(cc_run_ping(r, s, lab, &of->after_bps, e));
    for (size_t i = first; record != NULL && i < record->row_count; i++)
        cc_run_put_links(r, s, record, i);
    return CC_OK;
}

static int measure(void *arg, const struct cc_experiment_setting *s, struct cc_error *e)
{
    struct run *r = arg;
    struct cc_lab *lab = NULL;
    int status = CC_OK;
    if (r->options.device != NULL)
        r->shaped.limit_bytes = cc_lab_limit(s->shaped_bps, cc_experiment_hosts(&s->setting));
    if (r->options.hosts.lab)
        CC_TRY_OUT(open_lab(r, s, &lab, e));
    status = launch_measured(r, s, lab, e);
    if (lab != NULL && r->options.keep_lab && status == CC_OK && !cc_interrupted()) {
        cc_progress_end(&r->experiment.progress);
        wait_for_enter();
    }
out:
    r->shaped = (struct cc_lab_config){.hosts = 0}; /* its text is the lab's */
    if (lab != NULL)
        cc_lab_close(lab);
    return status;
}

int cc_run_prepare(struct run *r, struct cc_experiment_input *input, struct cc_record *record,
                   struct cc_error *e)
{
    static const struct cc_experiment_ops ops = {.complete = cc_run_complete,
                                                 .choose = cc_run_choose,
                                                 .measure = measure,
                                                 .limit = cc_run_limit,
                                                 .cause = cc_run_cause};
    return cc_experiment_prepare(&r->experiment, input, record, &ops, r, e);
}
