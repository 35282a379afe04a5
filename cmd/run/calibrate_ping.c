/* Ping-pong: two ranks send messages of many sizes to and fro, or one of them sends to, or receives
 * from, several others at once. The sizes depend on the link's rate, which is estimated first where
 * it is not known. */
#include "cmd/run/calibrate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/interrupt.h"
#include "core/memory.h"
#include "core/stats.h"
#include "results/machine_info.h"

enum { PASSES = CC_CALIBRATE_PASSES };

/* One launch of the ranks. */
struct ping {
    struct cc_ping_run *run;
    const struct cc_ping_place *at;
    size_t repeats; /* of each size in a pass */
};

/* --- reports --- */

/* Appends a report's samples to those of the size's earlier passes. */
static int on_report(void *arg, const struct cc_report *report, struct cc_error *e)
{
    const struct ping *k = arg;
    struct cc_ping_run *p = k->run;
    const struct cc_report_size *got = &report->size;
    if (report->kind == CC_REPORT_HELLO)
        (void)snprintf(k->at->mpi, k->at->mpi_size, "%s", report->text);
    if (report->kind != CC_REPORT_SIZE)
        return CC_OK;
    struct cc_ping_series *s = &p->series[p->reported % p->sizes];
    if (p->reported >= PASSES * p->sizes || got->bytes != p->size[p->reported % p->sizes] ||
        got->samples == 0)
        return cc_fail(e, "commcomp-rank reports messages of %zu bytes: is it of another version?",
                       got->bytes);
    CC_TRY(CC_GROW(s->seconds, &s->capacity, s->samples + got->samples, e));
    memcpy(s->seconds + s->samples, got->seconds, got->samples * sizeof *s->seconds);
    s->samples += got->samples;
    if (got->bytes <= CC_CALIBRATE_SMALL)
        p->send_s[p->sends++] = got->send_s;
    p->reported++;
    return CC_OK;
}

/* Expected time of a size's exchanges in one pass. */
static double pass_s(const struct ping *k, size_t i)
{
    const struct cc_ping_run *p = k->run;
    const double bytes = (double)p->size[i % p->sizes] * cc_ping_others(p);
    return 2 * (double)k->repeats * (100e-6 + p->expected_latency_s + 8 * bytes / p->expected_bps);
}

/* Allows for links that are slower than expected, and for round trips that are not counted. */
static double remaining_s(void *arg)
{
    const struct ping *k = arg;
    return 2 + 3 * pass_s(k, k->run->reported);
}

static bool on_tick(void *arg)
{
    struct ping *k = arg;
    double done = 0, all = 0;
    for (size_t i = 0; i < PASSES * k->run->sizes; i++) {
        all += pass_s(k, i);
        done += i < k->run->reported ? pass_s(k, i) : 0;
    }
    cc_progress_left(k->at->progress, "ping-pong", done / all, all - done);
    return cc_interrupted();
}

void cc_ping_free(struct cc_ping_run *p)
{
    for (size_t i = 0; i < p->sizes; i++) {
        free(p->series[i].seconds);
        p->series[i] = (struct cc_ping_series){NULL, 0, 0};
    }
    p->sizes = p->reported = p->sends = 0;
}

/* --- measuring --- */

static int launch(struct ping *k, struct cc_error *e)
{
    struct cc_ping_run *p = k->run;
    struct cc_machine_info host;
    cc_machine_info_read(&host);
    const struct cc_launch_config calls = {
        .on_report = on_report, .remaining_s = remaining_s, .on_tick = on_tick, .arg = k};
    size_t passes[PASSES * CC_CALIBRATE_MOST];
    const struct cc_job job = {.kind = CC_JOB_PINGPONG,
                               .workers = p->ranks,
                               .per_host = p->per_host,
                               .yield_when_idle = k->at->lab != NULL && host.cores < p->ranks,
                               .way = p->way,
                               .size = passes,
                               .sizes = PASSES * p->sizes,
                               .repeats = k->repeats};
    for (size_t i = 0; i < job.sizes; i++)
        passes[i] = p->size[i % p->sizes];
    const int status = cc_hosts_launch(k->at->hosts, k->at->lab, &calls, &job, e);
    if (cc_interrupted())
        return CC_OK;
    CC_TRY(status);
    if (p->reported < job.sizes)
        return cc_fail(e, "commcomp-rank measured %zu of %zu sizes", p->reported, job.sizes);
    return CC_OK;
}

static double median(const struct cc_ping_run *p, size_t i)
{
    return cc_stats_of(p->series[i].seconds, p->series[i].samples).median;
}

/* Estimates rate and latency of a link that is not known from three sizes. */
static int probe(struct ping *k, struct cc_error *e)
{
    static const size_t sizes[] = {64, 1 << 16, 1 << 20};
    struct cc_ping_run *p = k->run;
    p->sizes = sizeof sizes / sizeof sizes[0];
    memcpy(p->size, sizes, sizeof sizes);
    k->repeats = 1;
    p->expected_bps = 1e6;
    const int status = launch(k, e);
    if (status == CC_OK && !cc_interrupted()) {
        const double seconds = median(p, 2) - median(p, 1);
        p->expected_bps =
            8 * (double)(sizes[2] - sizes[1]) * cc_ping_others(p) / fmax(1e-6, seconds);
        p->expected_latency_s = median(p, 0);
    }
    cc_ping_free(p);
    return status;
}

/* Chooses the sizes; those of several messages at a time are divided among them. */
static void choose_sizes(struct cc_ping_run *p)
{
    size_t all[CC_CALIBRATE_MOST];
    const size_t others = (size_t)cc_ping_others(p), most = p->most_bytes;
    const double bps = most > 0 ? fmin(p->expected_bps, 8 * (double)most / 0.1) : p->expected_bps;
    const size_t count =
        cc_calibrate_sizes(bps, p->expected_latency_s, fmax(0, p->burst_bytes), all);
    p->sizes = 0;
    for (size_t i = 0; i < count; i++) {
        const size_t bytes = all[i] / others;
        if (p->latency_s > 0 && bytes <= CC_CALIBRATE_SMALL)
            continue;
        if (p->sizes == 0 || bytes > p->size[p->sizes - 1])
            p->size[p->sizes++] = bytes;
    }
}

static int fit(struct cc_ping_run *p, struct cc_error *e)
{
    struct cc_ping pings[1 + CC_CALIBRATE_MOST];
    const size_t known = p->latency_s > 0;
    pings[0] = (struct cc_ping){1, &p->latency_s, 1};
    for (size_t i = 0; i < p->sizes; i++)
        pings[known + i] = (struct cc_ping){(double)p->size[i] * cc_ping_others(p),
                                            p->series[i].seconds, p->series[i].samples};
    p->message_s = p->sends > 0 ? cc_stats_of(p->send_s, p->sends).median : NAN;
    return cc_calibrate(pings, known + p->sizes, p->burst_bytes, &p->found, e);
}

int cc_ping_measure(struct cc_ping_run *p, const struct cc_ping_place *at, struct cc_error *e)
{
    struct ping k = {.run = p, .at = at};
    if (p->expected_bps == 0)
        CC_TRY(probe(&k, e));
    if (cc_interrupted())
        return CC_OK;
    k.repeats = (size_t)(p->repeats + PASSES - 1) / PASSES;
    choose_sizes(p);
    CC_TRY(launch(&k, e));
    return cc_interrupted() ? CC_OK : fit(p, e);
}
