/* --ping: the rate of a setting's links, by messages of two sizes to and fro between its first two
 * hosts. Their difference has neither latencies nor what token buckets let pass at once. */
#include <math.h>

#include "cmd/run/run.h"
#include "core/interrupt.h"

enum { SIZES = 2, REPEATS = 3 };

/* The larger message takes so much longer than the smaller one, which is of so many bursts. */
#define MORE_S      0.1
#define LEAST_MORE  65536.0
#define BURSTS      8
#define LEAST_BYTES 65536.0

struct ping {
    double expected_bps, burst_bytes;
    size_t bytes[SIZES];
    double least_s[SIZES]; /* half of a round trip */
    size_t reported;
};

static int on_report(void *arg, const struct cc_report *report, struct cc_error *e)
{
    struct ping *p = arg;
    const struct cc_report_size *got = &report->size;
    if (report->kind != CC_REPORT_SIZE)
        return CC_OK;
    if (p->reported >= SIZES || got->samples == 0)
        return cc_fail(e, "commcomp-rank reports too many sizes: is it of another version?");
    p->least_s[p->reported] = INFINITY;
    for (size_t i = 0; i < got->samples; i++)
        p->least_s[p->reported] = fmin(p->least_s[p->reported], got->seconds[i]);
    p->reported++;
    return CC_OK;
}

static double remaining_s(void *arg)
{
    const struct ping *p = arg;
    return 3 + 6 * REPEATS * 8 * (double)p->bytes[SIZES - 1] / p->expected_bps;
}

static bool on_tick(void *arg)
{
    (void)arg;
    return cc_interrupted();
}

static struct ping ping_of(const struct cc_experiment_setting *s)
{
    const struct cc_link *l = &s->setting.link;
    struct ping p = {.expected_bps = l->bw_bps, .burst_bytes = l->burst_bytes};
    p.bytes[0] = (size_t)fmax(LEAST_BYTES / 4, BURSTS * l->burst_bytes);
    p.bytes[1] = p.bytes[0] + (size_t)fmax(LEAST_MORE, MORE_S * l->bw_bps / 8);
    return p;
}

double cc_run_ping_s(const struct cc_experiment_setting *s)
{
    const struct ping p = ping_of(s);
    double bytes = 0;
    for (size_t i = 0; i < SIZES; i++)
        bytes += (double)p.bytes[i];
    return 1.7 + 2 * (REPEATS + 1) * 8 * bytes / p.expected_bps;
}

int cc_run_ping(const struct run *r, const struct cc_experiment_setting *s, struct cc_lab *lab,
                double *bps, struct cc_error *e)
{
    struct ping p = ping_of(s);
    const struct cc_launch_config calls = {
        .on_report = on_report, .remaining_s = remaining_s, .on_tick = on_tick, .arg = &p};
    const struct cc_job job = {.kind = CC_JOB_PINGPONG,
                               .workers = 2,
                               .yield_when_idle = s->yield_when_idle,
                               .way = CC_WAY_PAIR,
                               .size = p.bytes,
                               .sizes = SIZES,
                               .repeats = REPEATS};
    *bps = NAN;
    const int status = cc_hosts_launch(&r->options.hosts, lab, &calls, &job, e);
    if (cc_interrupted())
        return CC_OK;
    CC_TRY(status);
    if (p.reported < SIZES)
        return cc_fail(e, "commcomp-rank measured %zu of %d sizes", p.reported, SIZES);
    /* As bw_bps counts: with headers. */
    *bps = 8 * (1 + s->setting.link.overhead) * (double)(p.bytes[1] - p.bytes[0]) /
           (p.least_s[1] - p.least_s[0]);
    return CC_OK;
}

void cc_run_put_links(const struct run *r, const struct cc_experiment_setting *s,
                      struct cc_record *record, size_t row)
{
    if (r->links == NULL)
        return;
    const struct cc_run_links *of = &r->links[s - r->experiment.setting];
    const struct cc_number_column all[] = {{CC_KEY(links_before_bps), of->before_bps},
                                           {CC_KEY(links_after_bps), of->after_bps}};
    cc_record_numbers(record, row, all, sizeof all / sizeof all[0]);
}
