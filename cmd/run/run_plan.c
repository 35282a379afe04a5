/* What run is going to do: the rows of every setting, how many steps of each, and how long that
 * takes by the forecast. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/run/run.h"
#include "results/machine_info.h"
#include "core/units.h"

/* --- steps --- */

/* Seconds that go into filling residuals, where the payload's size depends on them. */
#define FILLING_S 6.0

/* Whole periods. A long step is counted once, and nothing precedes it: what warms up, connections
 * and TCP's windows, takes milliseconds. Connections stay open from row to row of a setting. In
 * overlapped steps the first has nothing to hide behind. */
static size_t warm_periods(const struct cc_timing *t, const struct cc_experiment_row *row,
                           bool first)
{
    enum { FILLED = 32 };
    double seconds = row->seconds * (double)row->period;
    size_t least = t->mode != CC_SEQUENTIAL;
    if (seconds <= 5 && (first || seconds <= 1))
        least = seconds > 0.1 ? 1 : 3;
    if (!row->fills)
        return least;
    double filling = FILLING_S / fmax(1e-6, row->bare_s * (double)row->period);
    return (size_t)fmax((double)least, fmin(FILLED, floor(filling)));
}

static size_t counted_periods(const struct cc_timing *t, double seconds, size_t period)
{
    double least = t->straggler != CC_STEADY ? 10 : 2, most = fmax(least, 200 / (double)period);
    if (seconds > 3)
        return t->straggler != CC_STEADY ? 3 : 1;
    return (size_t)fmin(most, fmax(least, ceil(3 / fmax(seconds, 1e-6))));
}

int cc_run_choose(void *arg, const struct cc_experiment_setting *s, struct cc_experiment_row *row,
                  struct cc_error *e)
{
    (void)arg;
    (void)e;
    const struct cc_timing *t = &s->setting.timing;
    row->warmup = row->period * warm_periods(t, row, s->rows == 0);
    row->steps = row->period * counted_periods(t, row->seconds * (double)row->period, row->period);
    return CC_OK;
}

/* --- settings --- */

double cc_run_start_s(const struct cc_setting *s)
{
    return 1.5 + 0.1 * cc_experiment_ranks(s);
}

double cc_run_step_s(const struct cc_experiment_row *row, size_t step)
{
    return step + row->period < row->warmup ? row->bare_s : row->seconds;
}

double cc_run_row_s(const struct cc_experiment_row *row)
{
    double bare = row->warmup > row->period ? (double)(row->warmup - row->period) : 0;
    return row->seconds * (double)(row->warmup + row->steps) - bare * (row->seconds - row->bare_s);
}

/* How many ranks compute or code at a time: in sequential steps servers wait while workers work,
 * and the other way round. */
static int busy_ranks(const struct cc_setting *s)
{
    int workers = s->cluster.workers, servers = s->exchange == CC_PS ? s->cluster.servers : 0;
    if (s->timing.mode != CC_SEQUENTIAL)
        return workers + servers;
    return workers > servers ? workers : servers;
}

/* Links of a lab are shaped. A calibrated link has its payload's speed in a lab, whose headers are
 * those of tc. */
static void shape(const struct run *r, struct cc_experiment_setting *s)
{
    struct cc_link *l = &s->setting.link;
    bool calibrated = cc_arg(r->plan.args, "calibration") != NULL;
    if (!r->options.hosts.lab && r->options.device == NULL)
        return;
    s->shaped_bps = l->bw_bps;
    if (calibrated)
        s->shaped_bps *= (1 + CC_LINK_OVERHEAD) / (1 + l->overhead);
    if (l->burst_bytes == 0)
        l->burst_bytes = (double)cc_lab_burst(s->shaped_bps);
    if (r->options.hosts.lab && l->latency_s > CC_LINK_LATENCY &&
        (!calibrated || r->options.latency_given))
        s->added_latency_s = l->latency_s;
}

static void ranks_per_core(const struct run *r, struct cc_experiment_setting *s)
{
    struct cc_machine_info host;
    cc_machine_info_read(&host);
    int busy = busy_ranks(&s->setting);
    s->oversubscribed = r->options.hosts.lab && busy > host.cores;
    s->ranks_per_core = s->oversubscribed ? (double)busy / host.cores : 1;
    s->yield_when_idle = r->options.hosts.lab && cc_experiment_ranks(&s->setting) > host.cores;
}

void cc_run_complete(void *arg, struct cc_experiment_setting *s)
{
    const struct run *r = arg;
    shape(r, s);
    ranks_per_core(r, s);
}

/* --- a dry run --- */

static int dry_row(struct run *r, const struct cc_experiment_setting *s,
                   const struct cc_experiment_row *row, struct cc_error *e)
{
    size_t at = cc_experiment_dry_row(&r->plan, s, row, e);
    if (at == SIZE_MAX)
        return CC_FAIL;
    const struct cc_number_column all[] = {
        {"burst_bytes", s->setting.link.burst_bytes},
        {"row_s", cc_run_row_s(row)},
        {"row_bytes", row->bytes * (double)(row->warmup + row->steps)}};
    cc_forecast_numbers(r->plan.record, at, all, sizeof all / sizeof all[0]);
    if (r->options.hosts.lab)
        cc_record_bool(r->plan.record, at, "oversubscribed", s->oversubscribed);
    return CC_OK;
}

/* "95 s", "6 min 40 s", "2 h 5 min" */
static void duration(double seconds, char text[32])
{
    long s = lround(seconds);
    if (s < 120)
        (void)snprintf(text, 32, "%ld s", s);
    else if (s < 7200)
        (void)snprintf(text, 32, "%ld min %ld s", s / 60, s % 60);
    else
        (void)snprintf(text, 32, "%ld h %ld min", s / 3600, s / 60 % 60);
}

int cc_run_dry(struct run *r, struct cc_error *e)
{
    double seconds = 0, bytes = 0;
    char time[32], moved[32];
    int status = CC_OK;
    for (size_t i = 0; i < r->plan.settings && status == CC_OK; i++) {
        const struct cc_experiment_setting *s = &r->plan.setting[i];
        seconds += cc_run_start_s(&s->setting);
        for (size_t k = 0; k < s->rows && status == CC_OK; k++) {
            const struct cc_experiment_row *row = &s->row[k];
            seconds += cc_run_row_s(row);
            bytes += row->bytes * (double)(row->warmup + row->steps);
            status = dry_row(r, s, row, e);
        }
    }
    duration(seconds, time);
    cc_print_si(bytes, "B", moved, sizeof moved);
    if (status != CC_OK)
        return status;
    return cc_record_note(r->plan.record, e,
                          "dry run: %zu row%s would take about %s and move %s over the links, each "
                          "byte counted once",
                          r->plan.record->row_count, r->plan.record->row_count == 1 ? "" : "s",
                          time, moved);
}
