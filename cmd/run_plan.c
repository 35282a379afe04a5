/* What run is going to do: the rows of every setting, how many steps of each, and how long that
 * takes by the forecast. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/run.h"
#include "core/memory.h"
#include "results/host.h"
#include "results/plot.h"

/* --- steps --- */

/* Seconds that go into filling residuals, where the payload's size depends on them. */
#define FILLING_S 6.0

/* Whole periods. A long step is counted once, and nothing precedes it: what warms up, connections
 * and TCP's windows, takes milliseconds. Connections stay open from row to row of a setting. In
 * overlapped steps the first has nothing to hide behind. */
static size_t warm_periods(const struct cc_timing *t, const struct run_row *row, bool first)
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

static size_t whole_periods(uint64_t steps, size_t period)
{
    return (size_t)((steps + period - 1) / period) * period;
}

static void choose_steps(const struct run_options *o, const struct cc_timing *t,
                         struct run_row *row, bool first)
{
    double seconds = row->seconds * (double)row->period;
    row->warmup = o->warmup != UINT64_MAX ? whole_periods(o->warmup, row->period)
                                          : row->period * warm_periods(t, row, first);
    row->steps = o->steps != UINT64_MAX ? whole_periods(o->steps, row->period)
                                        : row->period * counted_periods(t, seconds, row->period);
}

/* --- settings --- */

int cc_run_ranks(const struct cc_setting *s)
{
    return s->cluster.workers + (s->exchange == CC_PS ? s->cluster.servers : 0);
}

double cc_run_start_s(const struct cc_setting *s)
{
    return 1.5 + 0.1 * cc_run_ranks(s);
}

double cc_run_step_s(const struct run_row *row, size_t step)
{
    return step + row->period < row->warmup ? row->bare_s : row->seconds;
}

double cc_run_row_s(const struct run_row *row)
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
static void shape(const struct run *r, struct run_setting *s)
{
    struct cc_link *l = &s->setting.link;
    bool calibrated = cc_arg(r->args, "calibration") != NULL;
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

static void crowd(const struct run *r, struct run_setting *s)
{
    struct cc_host host;
    cc_host_read(&host);
    int busy = busy_ranks(&s->setting);
    s->oversubscribed = r->options.hosts.lab && busy > host.cores;
    s->crowd = s->oversubscribed ? (double)busy / host.cores : 1;
    s->nap = r->options.hosts.lab && cc_run_ranks(&s->setting) > host.cores;
}

/* On all links together, each byte once. */
static double bytes_of(const struct cc_setting *s, const struct cc_prediction *p)
{
    double workers = s->cluster.workers, both = p->values * (p->bits_push + p->bits_pull) / 8;
    return s->exchange == CC_PS ? workers * both * (1 + s->link.overhead) : workers * p->wire_bytes;
}

/* Whether the size of a scheme's payloads depends on what it keeps: they are smaller than they
 * could be. */
static bool fills(const struct run *r, size_t scheme, const struct cc_prediction *p, size_t period)
{
    const struct cc_spec *spec = r->args->schemes.item[scheme];
    struct cc_codec codec = {.scheme = spec->scheme,
                             .params = spec->params,
                             .shape = cc_shape_flat(r->forecast.cluster.net->values)};
    double raw = r->forecast.cluster.raw_share;
    double most = 8 * (double)cc_bound(&codec) / (double)codec.shape.n;
    double bits = (p->bits_push - 32 * raw) * (double)period;
    return cc_state_bytes(&codec) > 0 && bits < 0.95 * most * (1 - raw);
}

static int plan_row(struct run *r, struct run_setting *s, size_t scheme, struct cc_error *e)
{
    struct cc_forecast *f = &r->forecast;
    struct cc_setting bare = s->setting;
    struct cc_prediction without;
    struct run_row *row = &s->row[s->rows];
    *row = (struct run_row){.scheme = scheme, .period = f->parcels[scheme].period};
    bare.timing.compute_s = 0;
    int status = cc_predict(&f->predictor, &bare, &f->parcels[scheme], &without, e);
    if (status == CC_OK)
        status = cc_predict(&f->predictor, &s->setting, &f->parcels[scheme], &row->forecast, e);
    if (status != CC_OK)
        return status;
    double turns = (s->crowd - 1) * row->forecast.codec_s;
    row->seconds = row->forecast.step_s + turns;
    row->bare_s = without.step_s + turns;
    row->bytes = bytes_of(&s->setting, &row->forecast);
    row->fills = fills(r, scheme, &row->forecast, row->period);
    choose_steps(&r->options, &s->setting.timing, row, s->rows == 0);
    s->rows++;
    return CC_OK;
}

static bool is_raw(const struct run *r, size_t scheme)
{
    return strcmp(r->args->schemes.item[scheme]->name, "fp32") == 0;
}

/* fp32 first: the others' speedups need it. */
static int plan_rows(struct run *r, struct run_setting *s, struct cc_error *e)
{
    int status = CC_OK;
    for (int raw = 1; raw >= 0; raw--)
        for (size_t i = 0; i < r->args->schemes.count && status == CC_OK; i++)
            if (is_raw(r, i) == (raw == 1))
                status = plan_row(r, s, i, e);
    return status;
}

static int plan_setting(void *arg, const struct cc_setting *given, struct cc_error *e)
{
    struct run *r = arg;
    if (cc_grow((void **)&r->setting, &r->setting_capacity, r->settings + 1, sizeof *r->setting,
                e) != CC_OK)
        return CC_FAIL;
    struct run_setting *s = &r->setting[r->settings++];
    *s = (struct run_setting){.setting = *given};
    s->row = cc_alloc0(r->args->schemes.count * sizeof *s->row, e);
    if (s->row == NULL)
        return CC_FAIL;
    shape(r, s);
    crowd(r, s);
    return plan_rows(r, s, e);
}

int cc_run_plan(struct run *r, struct cc_error *e)
{
    return cc_forecast_each(&r->forecast, plan_setting, r, e);
}

void cc_run_plan_free(struct run *r)
{
    for (size_t i = 0; i < r->settings; i++)
        free(r->setting[i].row);
    free(r->setting);
}

/* --- a dry run --- */

static int dry_row(struct run *r, const struct run_setting *s, const struct run_row *row,
                   struct cc_error *e)
{
    const struct cc_prediction *p = &row->forecast;
    size_t at = cc_forecast_row(&r->forecast, row->scheme, &s->setting, NULL, 0, e);
    if (at == SIZE_MAX)
        return CC_FAIL;
    const struct cc_number_column all[] = {
        {"payload_bytes", p->payload_bytes},
        {"bits_per_value", p->bits_push},
        {"ratio", 32 / p->bits_push},
        {"bits_push", p->bits_push},
        {"bits_pull", s->setting.exchange == CC_PS ? p->bits_pull : NAN},
        {"step_s_model", p->step_s},
        {"step_s_forecast", p->step_s},
        {"burst_bytes", s->setting.link.burst_bytes},
        {"warmup", (double)row->warmup},
        {"steps", (double)row->steps},
        {"row_s", cc_run_row_s(row)},
        {"row_bytes", row->bytes * (double)(row->warmup + row->steps)}};
    cc_forecast_numbers(r->record, at, all, sizeof all / sizeof all[0]);
    if (r->options.hosts.lab)
        cc_record_bool(r->record, at, "oversubscribed", s->oversubscribed);
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
    for (size_t i = 0; i < r->settings && status == CC_OK; i++) {
        const struct run_setting *s = &r->setting[i];
        seconds += cc_run_start_s(&s->setting);
        for (size_t k = 0; k < s->rows && status == CC_OK; k++) {
            const struct run_row *row = &s->row[k];
            seconds += cc_run_row_s(row);
            bytes += row->bytes * (double)(row->warmup + row->steps);
            status = dry_row(r, s, row, e);
        }
    }
    duration(seconds, time);
    cc_axis_number(bytes, "B", moved, sizeof moved);
    if (status != CC_OK)
        return status;
    return cc_record_note(r->record, e,
                          "dry run: %zu rows would take about %s and move %s over the links, each "
                          "byte counted once",
                          r->record->row_count, time, moved);
}
