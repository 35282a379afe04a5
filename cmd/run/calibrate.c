/* commcomp calibrate: alpha, beta and gamma of a link, measured by ping-pong. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/model/forecast.h"
#include "cmd/input/hosts.h"
#include "cmd/cli/progress.h"
#include "core/clock.h"
#include "core/file.h"
#include "core/interrupt.h"
#include "core/memory.h"
#include "core/stats.h"
#include "core/units.h"
#include "models/calibrate.h"
#include "results/machine_info.h"

/* clang-format off */
static const struct cc_column columns[] = {
    {"bytes", "message", "B", "%.0f", 0, "of payload"},
    {"shaped_bps", "shaped to", "Mbit/s", "%.6g", 1e-6,
     "the rate that tc is told, which counts frames; empty on a cluster"},
    {"congestion", "congestion", "", NULL, 0, "the TCP congestion control of the lab's hosts"},
    {"limit_bytes", "limit", "B", "%.0f", 0, "of the queues in front of the lab's links"},
    {"bw_bps", "bandwidth", "Mbit/s", "%.6g", 1e-6,
     "found: bits of payload per second, from the times of large messages"},
    {"bw_bps_sd", "bandwidth +-", "Mbit/s", "%.2g", 1e-6, "its standard deviation"},
    {"latency_s", "latency", "us", "%.4g", 1e6, "found: of small messages"},
    {"latency_s_sd", "latency +-", "us", "%.2g", 1e6, "its standard deviation"},
    {"burst_bytes", "burst", "B", "%.0f", 0,
     "payload that the link's token bucket lets pass at once: as given, or found; 0: none"},
    {"burst_bytes_sd", "burst +-", "B", "%.2g", 0, "its standard deviation, if it was found"},
    {"latency_large_s", "of large ones", "us", "%.4g", 1e6,
     "latency of large messages, which first ask the receiver: what their line has at 0 bytes, and "
     "what the bucket saved; empty if the bucket was found from just that"},
    {"reduce_byte_s", "adding", "ns/B", "%.4g", 1e9,
     "gamma: of adding a byte of floats to a sum, on this machine"},
    {"time_s", "one way", "us", "%.1f", 1e6, "median of half a round trip"},
    {"time_s_sd", "+-", "us", "%.3g", 1e6, "its standard deviation"},
    {"payload_bps", "payload", "Mbit/s", "%.4g", 1e-6, "8 x bytes / time"},
    {"time_s_model", "by these", "us", "%.1f", 1e6,
     "what bandwidth, latency and burst make of it in a ping-pong"},
    {"model_error", "off", "%", "%+.1f", 100, "(time - by these) / time"},
    {"counted", "counted", "", NULL, 0, "whether the bandwidth is found from this size"},
    {"samples", "samples", "", "%.0f", 0, "round trips"},
    {.key = NULL},
};

static const struct cc_option options[] = {
    {.name = "bw", .value = "RATE", .def = "1gbps",
     .help = "shape the lab's link to this rate; on a cluster, the link is as it is"},
    {.name = "burst", .value = "BYTES", .def = "lab: what suits the rate; cluster: looked for",
     .help = "of the token bucket that shapes the link: the lab's, or one that the cluster's links "
             "are known to have; 0: none"},
    CC_HOSTS_OPTIONS,
    {.name = "repeats", .value = "N", .def = "20", .help = "round trips of each size"},
    {.name = "name", .value = "NAME", .def = "lab or cluster", .help = "of the link, in the file"},
    {.name = "link-out", .value = "FILE", .file = CC_WRITES_FILE,
     .help = "write the link for `model --calibration FILE` and its like"},
    {.name = NULL},
};
/* clang-format on */

/* All sizes are gone through so often: what disturbs the machine for a while then disturbs a part
 * of every size's samples, which medians bear, and not all of one's. */
enum { PASSES = 4 };

/* The times of one size. */
struct series {
    double *seconds;
    size_t samples;
};

struct calibrate {
    struct cc_args *args;
    struct cc_record *record;
    struct cc_hosts hosts;
    struct cc_lab *lab; /* or NULL: a cluster */
    double shaped_bps;  /* by tc; 0: not shaped here */
    double about_bps;   /* what payload may get, for choosing sizes; */
    double about_s;     /* and the latency, if it may be long */
    double burst_bytes; /* as tc counts; < 0: to be looked for */
    uint64_t repeats;
    size_t size[CC_CALIBRATE_MOST];
    struct series series[CC_CALIBRATE_MOST];
    size_t sizes, heard; /* heard: of all passes */
    double reduce_byte_s;
    struct cc_calibration found;
    struct cc_progress progress;
};

/* --- options --- */

static int parse(struct calibrate *c, struct cc_error *e)
{
    const struct cc_args *args = c->args;
    const char *rate = cc_arg(args, "bw");
    uint64_t burst = UINT64_MAX;
    static const char *const labs_own[] = {"bw", NULL};
    int status = cc_hosts_parse(args, NULL, labs_own, &c->hosts, e);
    if (status == CC_OK && c->hosts.lab) {
        status = cc_parse_rate(rate != NULL ? rate : "1gbps", &c->shaped_bps, e);
        if (status != CC_OK)
            cc_error_in(e, "--bw");
    }
    if (status == CC_OK)
        status = cc_arg_count(args, "burst", 0, INT64_MAX, &burst, e);
    c->repeats = 20;
    if (status == CC_OK)
        status = cc_arg_count(args, "repeats", 3, 100000, &c->repeats, e);
    if (status == CC_OK && c->hosts.lab && burst == 0)
        return cc_usage(e, "--burst 0: a lab's links are shaped by buckets");
    c->burst_bytes = burst != UINT64_MAX ? (double)burst : -1;
    if (status == CC_OK && cc_arg(args, "name") != NULL &&
        (cc_arg(args, "name")[0] == '\0' ||
         strlen(cc_arg(args, "name")) >= sizeof((struct cc_link *)NULL)->name))
        return cc_usage(e, "--name: a text of 1 to %zu bytes",
                        sizeof((struct cc_link *)NULL)->name - 1);
    return status;
}

/* --- adding floats --- */

static double add_floats(float *sum, const float *x, size_t n)
{
    double began = cc_now();
    for (size_t i = 0; i < n; i++)
        sum[i] += x[i];
    return cc_now() - began;
}

/* Of arrays as large as a net's gradients, which are beyond the nearest caches. */
static int measure_adding(double *byte_s, struct cc_error *e)
{
    enum { VALUES = 1 << 20, TIMES = 31 };
    double seconds[TIMES];
    float *sum = cc_alloc(2 * (size_t)VALUES * sizeof *sum, e);
    if (sum == NULL)
        return CC_FAIL;
    for (size_t i = 0; i < 2 * (size_t)VALUES; i++)
        sum[i] = 1;
    for (int i = 0; i < TIMES; i++)
        seconds[i] = add_floats(sum, sum + VALUES, VALUES);
    bool added = sum[VALUES / 2] == 1 + TIMES;
    free(sum);
    *byte_s = cc_stats_of(seconds, TIMES).median / (4 * (double)VALUES);
    return added ? CC_OK : cc_fail(e, "floats do not add up on this machine");
}

/* --- pinging --- */

static int on_report(void *arg, const struct cc_report *report, struct cc_error *e)
{
    struct calibrate *c = arg;
    const struct cc_report_size *got = &report->size;
    if (report->kind == CC_REPORT_HELLO)
        (void)snprintf(c->record->mpi, sizeof c->record->mpi, "%s", report->text);
    if (report->kind != CC_REPORT_SIZE)
        return CC_OK;
    struct series *s = &c->series[c->heard % c->sizes];
    if (c->heard >= PASSES * c->sizes || got->bytes != c->size[c->heard % c->sizes] ||
        got->samples == 0)
        return cc_fail(e, "commcomp-rank reports messages of %zu bytes: is it of another version?",
                       got->bytes);
    size_t samples = s->samples + got->samples;
    double *seconds = cc_alloc(samples * sizeof *seconds, e);
    if (seconds == NULL)
        return CC_FAIL;
    if (s->samples > 0)
        memcpy(seconds, s->seconds, s->samples * sizeof *seconds);
    memcpy(seconds + s->samples, got->seconds, got->samples * sizeof *seconds);
    free(s->seconds);
    *s = (struct series){seconds, samples};
    c->heard++;
    return CC_OK;
}

/* Of the round trips of a size in one pass. */
static double size_s(const struct calibrate *c, size_t i)
{
    return 2 * (double)c->repeats *
           (100e-6 + c->about_s + 8 * (double)c->size[i % c->sizes] / c->about_bps);
}

/* Slower than it should be, and a few that are not counted. */
static double remaining_s(void *arg)
{
    const struct calibrate *c = arg;
    return 2 + 3 * size_s(c, c->heard);
}

static bool on_tick(void *arg)
{
    struct calibrate *c = arg;
    double done = 0, all = 0;
    for (size_t i = 0; i < PASSES * c->sizes; i++) {
        all += size_s(c, i);
        done += i < c->heard ? size_s(c, i) : 0;
    }
    cc_progress_left(&c->progress, "ping-pong", done / all, all - done);
    return cc_interrupted();
}

static void forget(struct calibrate *c)
{
    for (size_t i = 0; i < c->sizes; i++) {
        free(c->series[i].seconds);
        c->series[i] = (struct series){NULL, 0};
    }
    c->heard = 0;
}

static int ping(struct calibrate *c, const char *program, struct cc_error *e)
{
    struct cc_machine_info host;
    cc_machine_info_read(&host);
    const struct cc_launch_config config = {.lab = c->lab,
                                            .cluster = &c->hosts.cluster,
                                            .rank_program = program,
                                            .on_report = on_report,
                                            .remaining_s = remaining_s,
                                            .on_tick = on_tick,
                                            .arg = c};
    size_t passes[PASSES * CC_CALIBRATE_MOST];
    const struct cc_job job = {.kind = CC_JOB_PINGPONG,
                               .workers = 2,
                               .yield_when_idle = c->lab != NULL && host.cores < 2,
                               .size = passes,
                               .sizes = PASSES * c->sizes,
                               .repeats = (size_t)c->repeats};
    for (size_t i = 0; i < job.sizes; i++)
        passes[i] = c->size[i % c->sizes];
    int status = cc_launch(&config, &job, e);
    if (status == CC_OK && !cc_interrupted() && c->heard < job.sizes)
        status = cc_fail(e, "commcomp-rank measured %zu of %zu sizes", c->heard, job.sizes);
    return cc_interrupted() ? CC_OK : status;
}

static double middle(const struct calibrate *c, size_t i)
{
    return cc_stats_of(c->series[i].seconds, c->series[i].samples).median;
}

/* How fast a cluster's link may be, for the sizes that are then measured. */
static int probe(struct calibrate *c, const char *program, struct cc_error *e)
{
    static const size_t sizes[] = {64, 1 << 16, 1 << 20};
    c->sizes = sizeof sizes / sizeof sizes[0];
    memcpy(c->size, sizes, sizeof sizes);
    c->repeats = 1;
    c->about_bps = 1e6;
    int status = ping(c, program, e);
    if (status == CC_OK && !cc_interrupted()) {
        double seconds = middle(c, 2) - middle(c, 1);
        c->about_bps = 8 * (double)(sizes[2] - sizes[1]) / fmax(1e-6, seconds);
        c->about_s = middle(c, 0);
    }
    forget(c);
    return status;
}

/* Payload bytes of the bucket, in which headers pass too. */
static double payload_burst(const struct calibrate *c)
{
    return c->lab != NULL && c->burst_bytes > 0 ? c->burst_bytes / (1 + CC_LINK_OVERHEAD)
                                                : c->burst_bytes;
}

static int measure(struct calibrate *c, const char *program, struct cc_error *e)
{
    uint64_t repeats = (c->repeats + PASSES - 1) / PASSES;
    int status = c->lab == NULL ? probe(c, program, e) : CC_OK;
    if (status != CC_OK || cc_interrupted())
        return status;
    c->repeats = repeats;
    c->sizes = cc_calibrate_sizes(c->about_bps, c->about_s, fmax(0, payload_burst(c)), c->size);
    return ping(c, program, e);
}

static int open_lab(struct calibrate *c, struct cc_error *e)
{
    const struct cc_lab_config config = {.hosts = 2,
                                         .bw_bps = c->shaped_bps,
                                         .burst_bytes =
                                             c->burst_bytes > 0 ? (size_t)c->burst_bytes : 0,
                                         .limit_bytes = (size_t)c->hosts.limit,
                                         .congestion = c->hosts.congestion};
    int status = cc_lab_open(&config, &c->lab, e);
    if (status != CC_OK)
        return status;
    c->burst_bytes = (double)cc_lab_settings(c->lab)->burst_bytes;
    c->about_bps = c->shaped_bps / (1 + CC_LINK_OVERHEAD);
    return CC_OK;
}

/* --- what was found --- */

static int find(struct calibrate *c, struct cc_error *e)
{
    struct cc_ping pings[CC_CALIBRATE_MOST];
    for (size_t i = 0; i < c->sizes; i++)
        pings[i] = (struct cc_ping){(double)c->size[i], c->series[i].seconds, c->series[i].samples};
    return cc_calibrate(pings, c->sizes, payload_burst(c), &c->found, e);
}

static int add_row(struct calibrate *c, size_t i, struct cc_error *e)
{
    const struct cc_calibration *f = &c->found;
    const struct cc_lab_config *lab = c->lab != NULL ? cc_lab_settings(c->lab) : NULL;
    const struct series *s = &c->series[i];
    double bytes = (double)c->size[i], model = cc_calibration_s(f, bytes);
    double saved = 8 * f->burst_bytes.value / f->bw_bps.value;
    bool found = c->burst_bytes < 0 && saved > 0;
    double *scratch = cc_alloc(s->samples * sizeof *scratch, e);
    size_t row = scratch != NULL ? cc_record_add(c->record, e) : SIZE_MAX;
    if (row == SIZE_MAX) {
        free(scratch);
        return CC_FAIL;
    }
    struct cc_estimate time = cc_calibrate_median(s->seconds, s->samples, scratch);
    const struct cc_number_column all[] = {
        {"bytes", bytes},
        {"shaped_bps", lab != NULL ? c->shaped_bps : NAN},
        {"limit_bytes", lab != NULL ? (double)lab->limit_bytes : NAN},
        {"bw_bps", f->bw_bps.value},
        {"bw_bps_sd", f->bw_bps.sd},
        {"latency_s", f->latency_s.value},
        {"latency_s_sd", f->latency_s.sd},
        {"burst_bytes", f->burst_bytes.value},
        {"burst_bytes_sd", c->burst_bytes < 0 ? f->burst_bytes.sd : NAN},
        {"latency_large_s", found ? NAN : f->intercept_s.value + saved},
        {"reduce_byte_s", c->reduce_byte_s},
        {"time_s", time.value},
        {"time_s_sd", time.sd},
        {"payload_bps", 8 * bytes / time.value},
        {"time_s_model", model},
        {"model_error", (time.value - model) / time.value},
        {"samples", (double)s->samples},
    };
    free(scratch);
    cc_forecast_numbers(c->record, row, all, sizeof all / sizeof all[0]);
    cc_record_bool(c->record, row, "counted", bytes >= f->from_bytes);
    return lab != NULL ? cc_record_text(c->record, row, "congestion", lab->congestion, e) : CC_OK;
}

static int write_link(const struct calibrate *c, struct cc_error *e)
{
    const struct cc_calibration *f = &c->found;
    const char *path = cc_arg(c->args, "link-out"), *name = cc_arg(c->args, "name");
    struct cc_link link = {.bw_bps = f->bw_bps.value,
                           .latency_s = f->latency_s.value,
                           .burst_bytes = f->burst_bytes.value,
                           .reduce_byte_s = c->reduce_byte_s};
    struct cc_machine_info host;
    char source[400];
    if (path == NULL)
        return CC_OK;
    cc_machine_info_read(&host);
    (void)snprintf(link.name, sizeof link.name, "%s",
                   name != NULL     ? name
                   : c->lab != NULL ? "lab"
                                    : "cluster");
    (void)snprintf(source, sizeof source,
                   "ping-pong of %zu sizes from %.0f bytes on, %s, at %s; commcomp %s", f->sizes,
                   f->from_bytes, c->record->mpi, host.time, host.version);
    return cc_link_write(&link, source, path, e);
}

/* --- in words --- */

static int note_burst(struct calibrate *c, struct cc_error *e)
{
    const struct cc_estimate *b = &c->found.burst_bytes;
    if (c->burst_bytes >= 0)
        return CC_OK;
    if (b->value == 0)
        return cc_record_note(c->record, e, "burst: none found; small and large messages agree");
    return cc_record_note(c->record, e,
                          "burst: %.0f +- %.0f bytes pass at once; the line through the large "
                          "messages begins so much too early",
                          b->value, b->sd);
}

static int notes(struct calibrate *c, struct cc_error *e)
{
    const struct cc_calibration *f = &c->found;
    const char *path = cc_arg(c->args, "link-out");
    char rate[32], shaped[96] = "";
    cc_print_si(f->bw_bps.value, "bit/s", rate, sizeof rate);
    if (c->lab != NULL)
        (void)snprintf(shaped, sizeof shaped,
                       "; %.2f%% of what tc is told, where headers leave "
                       "95.64%%",
                       100 * f->bw_bps.value / c->shaped_bps);
    int status = cc_record_note(
        c->record, e, "bandwidth: %s +- %.2g%% of payload, from %zu sizes of %.0f bytes and more%s",
        rate, 100 * f->bw_bps.sd / f->bw_bps.value, f->sizes, f->from_bytes, shaped);
    if (status == CC_OK)
        status = cc_record_note(
            c->record, e, "latency: %.3g +- %.2g us, the median of messages of up to %d bytes",
            1e6 * f->latency_s.value, 1e6 * f->latency_s.sd, CC_CALIBRATE_SMALL);
    if (status == CC_OK)
        status = note_burst(c, e);
    if (status == CC_OK && path != NULL)
        status = cc_record_note(c->record, e, "written to %s: commcomp model --calibration %s",
                                path, path);
    return status;
}

/* --- the command --- */

static int report(struct calibrate *c, struct cc_error *e)
{
    int status = find(c, e);
    for (size_t i = 0; i < c->sizes && status == CC_OK; i++)
        status = add_row(c, i, e);
    if (status == CC_OK)
        status = write_link(c, e);
    return status == CC_OK ? notes(c, e) : status;
}

static int run(struct cc_args *args, struct cc_error *e)
{
    struct calibrate c = {.args = args, .record = &args->record};
    char *program = NULL;
    int status = parse(&c, e);
    if (status == CC_OK)
        status =
            (program = cc_rank_program(e)) != NULL ? measure_adding(&c.reduce_byte_s, e) : CC_FAIL;
    if (status == CC_OK && c.hosts.lab)
        status = open_lab(&c, e);
    if (status == CC_OK) {
        cc_progress_begin(&c.progress, args->quiet);
        status = measure(&c, program, e);
        cc_progress_end(&c.progress);
    }
    if (status == CC_OK && !cc_interrupted())
        status = report(&c, e);
    args->record.partial = cc_interrupted();
    if (c.lab != NULL)
        cc_lab_close(c.lab);
    forget(&c);
    free(program);
    cc_hosts_free(&c.hosts);
    return status;
}

const struct cc_command cc_command_calibrate = {
    .name = "calibrate",
    .summary = "latency and bandwidth of a link, measured",
    .operands = "",
    .description =
        "Sends messages of many sizes to and fro between two hosts and finds what model "
        "needs of the link: the bandwidth that payload gets, from large messages; the latency, "
        "from "
        "small ones; and what a token bucket that shapes the link lets pass at once. Also how long "
        "adding floats takes on this machine. By default between two hosts of a lab on this "
        "machine, shaped to --bw; with --hostfile, --hosts, or inside an allocation, on a cluster, "
        "between the first two hosts.\n\nThe record has a row for each size; --link-out writes the "
        "link. docs/calibrate.md tells how it is done.",
    .examples = "  commcomp calibrate --bw 100mbps --link-out lab.json\n"
                "  commcomp calibrate --hosts node1,node2 --link-out cluster.json\n"
                "  commcomp model --calibration cluster.json --scheme paper\n",
    .options = options,
    .columns = columns,
    .takes_schemes = CC_NO_SCHEME,
    .run = run,
};
