/* The settings and steps of run: how links are shaped, how many steps of each row are measured, and
 * how long that takes by the forecast. */
#include <math.h>
#include <stdio.h>

#include "cmd/run/run.h"
#include "core/units.h"
#include "results/machine_info.h"

/* --- steps --- */

/* Periods of warm-up. Connections and TCP's windows warm up within milliseconds, and connections
 * stay open from row to row of a setting, so that long steps need none; in overlapped steps,
 * though, the first has nothing to hide behind. */
static size_t warm_periods(const struct cc_timing *t, const struct cc_experiment_row *row,
                           bool first)
{
    const double seconds = row->step_s * (double)row->period;
    size_t least = t->mode != CC_SEQUENTIAL;
    if (seconds <= 5 && (first || seconds <= 1))
        least = seconds > 0.1 ? 1 : 3;
    if (!row->fills)
        return least;
    const double filling = CC_RUN_FILLING_S / fmax(1e-6, row->bare_step_s * (double)row->period);
    return (size_t)fmax(
        (double)least,
        fmin((double)cc_experiment_periods(row->filling, row->period), floor(filling)));
}

/* Periods that are counted: about 3 s of them; of long steps one, or with stragglers a few. */
static size_t counted_periods(const struct cc_timing *t, double seconds, size_t period)
{
    const bool stragglers = t->straggler != CC_STEADY || t->consistency != CC_BULK;
    const double least = stragglers ? 10 : 2, most = fmax(least, 200 / (double)period);
    if (seconds > 3)
        return stragglers ? 3 : 1;
    return (size_t)fmin(most, fmax(least, ceil(3 / fmax(seconds, 1e-6))));
}

int cc_run_choose(void *arg, const struct cc_experiment_setting *s, struct cc_experiment_row *row,
                  struct cc_error *e)
{
    (void)arg;
    (void)e;
    const struct cc_timing *t = &s->setting.timing;
    row->warmup = row->period * warm_periods(t, row, s->rows == 0);
    row->steps = row->period * counted_periods(t, row->step_s * (double)row->period, row->period);
    return CC_OK;
}

double cc_run_start_s(const struct cc_setting *s)
{
    return 1.5 + 0.1 * cc_experiment_ranks(s);
}

double cc_run_step_s(const struct cc_experiment_setting *s, const struct cc_experiment_row *row,
                     size_t step)
{
    return s->setting.timing.pause_s +
           (step + row->period < row->warmup ? row->bare_step_s : row->step_s);
}

double cc_run_row_s(const struct cc_experiment_setting *s, const struct cc_experiment_row *row)
{
    const double bare = row->warmup > row->period ? (double)(row->warmup - row->period) : 0;
    return (s->setting.timing.pause_s + row->step_s) * (double)(row->warmup + row->steps) -
           bare * (row->step_s - row->bare_step_s);
}

/* --- settings --- */

/* Whether all ranks begin each step together. */
static bool in_lockstep(const struct cc_setting *s)
{
    return s->timing.mode == CC_SEQUENTIAL && s->timing.consistency == CC_BULK;
}

/* Ranks that compute or code at the same time: in lockstep servers wait while workers work, and the
 * other way round. */
static int busy_ranks(const struct cc_setting *s)
{
    const int workers = s->cluster.workers;
    const int servers = cc_exchange_has(s->exchange, CC_X_SERVERS) ? s->cluster.servers : 0;
    if (!in_lockstep(s))
        return workers + servers;
    return workers > servers ? workers : servers;
}

/* Sets the rate, burst and latency of the links that are shaped. The rate of a calibrated link is
 * that of its payload; a lab's link gets the rate at which payload is as fast under tc's headers.
 */
static void shape(const struct run *r, struct cc_experiment_setting *s)
{
    const struct cc_cluster_args *c = &r->experiment.forecast->cluster;
    struct cc_link *l = &s->setting.link;
    if (!r->options.hosts.lab && r->options.device == NULL)
        return;
    s->shaped_bps = l->bw_bps;
    if (c->network.calibration != NULL)
        s->shaped_bps *= (1 + CC_LINK_OVERHEAD) / (1 + l->overhead);
    if (l->burst_bytes == 0)
        l->burst_bytes = (double)cc_lab_burst(s->shaped_bps);
    if (r->options.hosts.lab && l->latency_s > CC_LINK_LATENCY &&
        (c->network.calibration == NULL || c->network.latencies > 0))
        s->added_latency_s = l->latency_s;
}

void cc_run_complete(void *arg, struct cc_experiment_setting *s)
{
    const struct run *r = arg;
    struct cc_machine_info host;
    cc_machine_info_read(&host);
    shape(r, s);
    const int busy = busy_ranks(&s->setting);
    if (r->options.hosts.lab) {
        s->cores = host.cores;
        if (in_lockstep(&s->setting))
            s->setting.timing.pause_s = CC_JOB_PAUSE_S;
    }
    s->oversubscribed = r->options.hosts.lab && busy > host.cores;
    s->ranks_per_core = s->oversubscribed ? (double)busy / host.cores : 1;
    s->yield_when_idle = r->options.hosts.lab && cc_experiment_ranks(&s->setting) > host.cores;
}

/* --- a dry run --- */

static int print_dry_row(const struct run *r, struct cc_record *record,
                         const struct cc_experiment_setting *s, const struct cc_experiment_row *row,
                         struct cc_error *e)
{
    size_t at;
    CC_TRY(cc_experiment_print_dry_row(&r->experiment, record, s, row, &at, e));
    const struct cc_number_column all[] = {
        {CC_KEY(burst_bytes), s->setting.link.burst_bytes},
        {CC_KEY(row_s), cc_run_row_s(s, row)},
        {CC_KEY(row_bytes), row->bytes * (double)(row->warmup + row->steps)}};
    cc_record_numbers(record, at, all, sizeof all / sizeof all[0]);
    if (r->options.hosts.lab)
        cc_record_bool(record, at, CC_KEY(oversubscribed), s->oversubscribed);
    return CC_OK;
}

/* "95 s", "6 min 40 s", "2 h 5 min" */
static void duration(double seconds, char text[32])
{
    const long s = lround(seconds);
    if (s < 120)
        (void)snprintf(text, 32, "%ld s", s);
    else if (s < 7200)
        (void)snprintf(text, 32, "%ld min %ld s", s / 60, s % 60);
    else
        (void)snprintf(text, 32, "%ld h %ld min", s / 3600, s / 60 % 60);
}

int cc_run_dry(const struct run *r, struct cc_record *record, struct cc_error *e)
{
    double starting = 0, seconds = 0, bytes = 0;
    char time[32], start[32], moved[32];
    for (size_t i = 0; i < r->experiment.settings; i++) {
        const struct cc_experiment_setting *s = &r->experiment.setting[i];
        starting += cc_run_start_s(&s->setting) + (r->options.ping ? 2 * cc_run_ping_s(s) : 0);
        for (size_t k = 0; k < s->rows; k++) {
            const struct cc_experiment_row *row = &s->row[k];
            seconds += cc_run_row_s(s, row);
            bytes += row->bytes * (double)(row->warmup + row->steps);
            CC_TRY(print_dry_row(r, record, s, row, e));
        }
    }
    duration(starting + seconds, time);
    duration(starting, start);
    cc_print_si(bytes, "B", moved, sizeof moved);
    return cc_record_note_at(
        record, CC_NOTE_ANSWER, e,
        "dry run: %zu row%s would take about %s, %s of it to start the ranks%s, and "
        "move %s over the links, each byte counted once",
        record->row_count, record->row_count == 1 ? "" : "s", time, start,
        r->options.ping ? " and to measure links" : "", moved);
}
