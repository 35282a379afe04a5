/* commcomp calibrate: measures alpha, beta and gamma of a link, and what sending costs.
 *
 * Two ranks send messages of many sizes to and fro, in several passes. From the medians of half the
 * round trips models/calibrate.c fits bandwidth, latency and, where a token bucket is to be found,
 * its burst. The sizes depend on the link's rate, which on a cluster is estimated first. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/load.h"
#include "cmd/cli/progress.h"
#include "cmd/input/hosts.h"
#include "core/clock.h"
#include "core/interrupt.h"
#include "core/memory.h"
#include "core/stats.h"
#include "core/units.h"
#include "models/calibrate.h"
#include "models/link.h"
#include "results/machine_info.h"

/* clang-format off */
static const struct cc_column columns[] = {
    CC_COLUMN(message_bytes, CC_SETTING),
    CC_COLUMN(shaped_bps, CC_SETTING),
    CC_COLUMN(congestion, CC_SETTING),
    CC_COLUMN(limit_bytes, CC_SETTING),
    CC_COLUMN(bw_bps, CC_SETTING, .origin = CC_ORIGIN_MEASURED, .note = "found: bits of payload per second, from the times of large messages"),
    CC_COLUMN(bw_bps_sd, CC_SETTING),
    CC_COLUMN(latency_s, CC_SETTING, .origin = CC_ORIGIN_MEASURED, .note = "found, of small messages"),
    CC_COLUMN(latency_s_sd, CC_SETTING),
    CC_COLUMN(burst_bytes, CC_SETTING, .origin = CC_ORIGIN_MEASURED, .note = "as given, or found"),
    CC_COLUMN(burst_bytes_sd, CC_SETTING),
    CC_COLUMN(latency_large_s, CC_SETTING),
    CC_COLUMN(message_s, CC_SETTING, .note = "found"),
    CC_COLUMN(reduce_byte_s, CC_SETTING),
    CC_COLUMN(half_trip_s, CC_ANSWER),
    CC_COLUMN(half_trip_s_sd, CC_MAIN),
    CC_COLUMN(payload_bps, CC_MAIN),
    CC_COLUMN(half_trip_s_model, CC_ANSWER),
    CC_COLUMN(model_error, CC_ANSWER, .note = "here of half_trip_s and half_trip_s_model"),
    CC_COLUMN(counted, CC_PART),
    CC_COLUMN(samples, CC_SETTING, .note = "round trips"),
    {.key = NULL},
};

/* The options, but those of hosts. */
struct calibrate_options {
    struct cc_given given;
    double bw_bps;
    uint64_t burst, repeats;
    const char *name, *link_out;
};

#define MEMBER(m) CC_OPTION_AT(struct calibrate_options, m)
static const struct cc_option own_options[] = {
    {.name = "bw", MEMBER(bw_bps), .kind = CC_TAKES_RATE, .value = "RATE", .def = "1gbps",
     .help = "shape the lab's link to this rate; on a cluster, the link is as it is"},
    {.name = "burst", MEMBER(burst), .kind = CC_TAKES_COUNT, .max = INT64_MAX, .value = "BYTES",
     .otherwise = "lab: what suits the rate; cluster: looked for",
     .help = "size of the token bucket that shapes the link: the lab's, or one that the cluster's links "
             "are known to have; 0: none"},
    {.name = "repeats", MEMBER(repeats), .kind = CC_TAKES_COUNT, .min = 3, .max = 100000,
     .value = "N", .def = "20", .help = "round trips of each size"},
    {.name = "name", MEMBER(name), .value = "NAME", .otherwise = "lab or cluster",
     .help = "name of the link in the file"},
    {.name = "link-out", MEMBER(link_out), .value = "FILE", .file = CC_WRITES_FILE,
     .help = "file to write the link to, for --calibration of model, sim and the others"},
    {.name = NULL},
};

static const struct cc_option_use options[] = {
    {.rows = own_options, .names = "bw burst"},
    {.rows = cc_hosts_options},
    {.rows = own_options, .names = "repeats name link-out"},
    {.rows = NULL},
};
/* clang-format on */

/* Sizes are measured in several passes: a disturbance of the machine then affects a part of every
 * size's samples, which medians tolerate, and not all samples of one size. */
enum { PASSES = 4 };

/* The times of one size. */
struct series {
    double *seconds;
    size_t samples, capacity;
};

struct calibrate {
    struct cc_record *record;
    struct cc_hosts hosts;
    struct calibrate_options options;
    struct cc_lab *lab;        /* NULL: a cluster */
    double shaped_bps;         /* by tc; 0: not shaped here */
    double expected_bps;       /* estimated rate of payload, for choosing sizes; */
    double expected_latency_s; /* and latency; 0: short */
    double burst_bytes;        /* as tc counts; < 0: to be found */
    size_t size[CC_CALIBRATE_MOST];
    struct series series[CC_CALIBRATE_MOST];
    size_t sizes, reported;                    /* reported: in all passes */
    double send_s[PASSES * CC_CALIBRATE_MOST]; /* the small sizes', in all passes */
    size_t sends;
    double message_s, reduce_byte_s;
    double load; /* this machine's before the measurement (bench/load.h) */
    struct cc_calibration found;
    struct cc_progress progress;
};

/* --- options --- */

static int parse(const struct cc_args *args, struct calibrate *c, struct cc_error *e)
{
    struct calibrate_options *o = &c->options;
    const size_t name_cap = sizeof((struct cc_link *)NULL)->name;
    CC_TRY(cc_options_read(args, own_options, o, e));
    CC_TRY(cc_hosts_parse(args, NULL, cc_given(o, &o->bw_bps), &c->hosts, e));
    const bool burst = cc_given(o, &o->burst) != NULL;
    if (c->hosts.lab && burst && o->burst == 0)
        return cc_usage(e, "--burst 0: a lab's links are shaped by buckets");
    c->shaped_bps = c->hosts.lab ? o->bw_bps : 0;
    c->burst_bytes = burst ? (double)o->burst : -1;
    if (o->name != NULL && (o->name[0] == '\0' || strlen(o->name) >= name_cap))
        return cc_usage(e, "--name: a text of 1 to %zu bytes", name_cap - 1);
    return CC_OK;
}

/* --- adding floats --- */

static double add_floats(float *sum, const float *x, size_t n)
{
    const double began = cc_now();
    for (size_t i = 0; i < n; i++)
        sum[i] += x[i];
    return cc_now() - began;
}

/* Measures gamma on arrays of a net's size, which exceed the inner caches. */
static int measure_adding(double *byte_s, struct cc_error *e)
{
    enum { VALUES = 1 << 20, TIMES = 31 };
    double seconds[TIMES];
    float *sum;
    CC_TRY(CC_NEW(sum, 2 * (size_t)VALUES, e));
    for (size_t i = 0; i < 2 * (size_t)VALUES; i++)
        sum[i] = 1;
    for (int i = 0; i < TIMES; i++)
        seconds[i] = add_floats(sum, sum + VALUES, VALUES);
    const bool added = sum[VALUES / 2] == 1 + TIMES;
    free(sum);
    *byte_s = cc_stats_of(seconds, TIMES).median / (4 * (double)VALUES);
    return added ? CC_OK : cc_fail(e, "floats do not add up on this machine");
}

/* --- ping-pong --- */

/* Appends a report's samples to those of the size's earlier passes. */
static int on_report(void *arg, const struct cc_report *report, struct cc_error *e)
{
    struct calibrate *c = arg;
    const struct cc_report_size *got = &report->size;
    if (report->kind == CC_REPORT_HELLO)
        (void)snprintf(c->record->mpi, sizeof c->record->mpi, "%s", report->text);
    if (report->kind != CC_REPORT_SIZE)
        return CC_OK;
    struct series *s = &c->series[c->reported % c->sizes];
    if (c->reported >= PASSES * c->sizes || got->bytes != c->size[c->reported % c->sizes] ||
        got->samples == 0)
        return cc_fail(e, "commcomp-rank reports messages of %zu bytes: is it of another version?",
                       got->bytes);
    CC_TRY(CC_GROW(s->seconds, &s->capacity, s->samples + got->samples, e));
    memcpy(s->seconds + s->samples, got->seconds, got->samples * sizeof *s->seconds);
    s->samples += got->samples;
    if (got->bytes <= CC_CALIBRATE_SMALL)
        c->send_s[c->sends++] = got->send_s;
    c->reported++;
    return CC_OK;
}

/* Expected time of a size's round trips in one pass. */
static double pass_s(const struct calibrate *c, size_t i)
{
    return 2 * (double)c->options.repeats *
           (100e-6 + c->expected_latency_s + 8 * (double)c->size[i % c->sizes] / c->expected_bps);
}

/* Allows for links that are slower than expected, and for round trips that are not counted. */
static double remaining_s(void *arg)
{
    const struct calibrate *c = arg;
    return 2 + 3 * pass_s(c, c->reported);
}

static bool on_tick(void *arg)
{
    struct calibrate *c = arg;
    double done = 0, all = 0;
    for (size_t i = 0; i < PASSES * c->sizes; i++) {
        all += pass_s(c, i);
        done += i < c->reported ? pass_s(c, i) : 0;
    }
    cc_progress_left(&c->progress, "ping-pong", done / all, all - done);
    return cc_interrupted();
}

static void free_series(struct calibrate *c)
{
    for (size_t i = 0; i < c->sizes; i++) {
        free(c->series[i].seconds);
        c->series[i] = (struct series){NULL, 0, 0};
    }
    c->reported = c->sends = 0;
}

static int ping(struct calibrate *c, struct cc_error *e)
{
    struct cc_machine_info host;
    cc_machine_info_read(&host);
    const struct cc_launch_config calls = {
        .on_report = on_report, .remaining_s = remaining_s, .on_tick = on_tick, .arg = c};
    size_t passes[PASSES * CC_CALIBRATE_MOST];
    const struct cc_job job = {.kind = CC_JOB_PINGPONG,
                               .workers = 2,
                               .yield_when_idle = c->lab != NULL && host.cores < 2,
                               .size = passes,
                               .sizes = PASSES * c->sizes,
                               .repeats = (size_t)c->options.repeats};
    for (size_t i = 0; i < job.sizes; i++)
        passes[i] = c->size[i % c->sizes];
    const int status = cc_hosts_launch(&c->hosts, c->lab, &calls, &job, e);
    if (cc_interrupted())
        return CC_OK;
    CC_TRY(status);
    if (c->reported < job.sizes)
        return cc_fail(e, "commcomp-rank measured %zu of %zu sizes", c->reported, job.sizes);
    return CC_OK;
}

static double median(const struct calibrate *c, size_t i)
{
    return cc_stats_of(c->series[i].seconds, c->series[i].samples).median;
}

/* Estimates rate and latency of a cluster's link from three sizes. */
static int probe(struct calibrate *c, struct cc_error *e)
{
    static const size_t sizes[] = {64, 1 << 16, 1 << 20};
    const uint64_t repeats = c->options.repeats;
    c->sizes = sizeof sizes / sizeof sizes[0];
    memcpy(c->size, sizes, sizeof sizes);
    c->options.repeats = 1;
    c->expected_bps = 1e6;
    const int status = ping(c, e);
    if (status == CC_OK && !cc_interrupted()) {
        const double seconds = median(c, 2) - median(c, 1);
        c->expected_bps = 8 * (double)(sizes[2] - sizes[1]) / fmax(1e-6, seconds);
        c->expected_latency_s = median(c, 0);
    }
    c->options.repeats = repeats;
    free_series(c);
    return status;
}

/* Payload bytes of the bucket, in which headers pass too. */
static double payload_burst(const struct calibrate *c)
{
    return c->lab != NULL && c->burst_bytes > 0 ? c->burst_bytes / (1 + CC_LINK_OVERHEAD)
                                                : c->burst_bytes;
}

static int measure(struct calibrate *c, struct cc_error *e)
{
    if (c->lab == NULL)
        CC_TRY(probe(c, e));
    if (cc_interrupted())
        return CC_OK;
    c->options.repeats = (c->options.repeats + PASSES - 1) / PASSES;
    c->sizes = cc_calibrate_sizes(c->expected_bps, c->expected_latency_s, fmax(0, payload_burst(c)),
                                  c->size);
    return ping(c, e);
}

static int open_lab(struct calibrate *c, struct cc_error *e)
{
    const struct cc_lab_config config = {.hosts = 2,
                                         .bw_bps = c->shaped_bps,
                                         .burst_bytes =
                                             c->burst_bytes > 0 ? (size_t)c->burst_bytes : 0,
                                         .limit_bytes = (size_t)c->hosts.limit,
                                         .congestion = c->hosts.congestion};
    CC_TRY(cc_lab_open(&config, &c->lab, e));
    c->burst_bytes = (double)cc_lab_settings(c->lab)->burst_bytes;
    c->expected_bps = c->shaped_bps / (1 + CC_LINK_OVERHEAD);
    return CC_OK;
}

/* --- the link --- */

static int fit(struct calibrate *c, struct cc_error *e)
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
    const double bytes = (double)c->size[i], model = cc_calibration_s(f, bytes);
    const double saved = 8 * f->burst_bytes.value / f->bw_bps.value;
    const bool burst_found = c->burst_bytes < 0 && saved > 0;
    double *scratch;
    CC_TRY(CC_NEW(scratch, s->samples, e));
    const struct cc_estimate time = cc_calibrate_median(s->seconds, s->samples, scratch);
    free(scratch);
    const struct cc_number_column all[] = {
        {CC_KEY(message_bytes), bytes},
        {CC_KEY(shaped_bps), lab != NULL ? c->shaped_bps : NAN},
        {CC_KEY(limit_bytes), lab != NULL ? (double)lab->limit_bytes : NAN},
        {CC_KEY(bw_bps), f->bw_bps.value},
        {CC_KEY(bw_bps_sd), f->bw_bps.sd},
        {CC_KEY(latency_s), f->latency_s.value},
        {CC_KEY(latency_s_sd), f->latency_s.sd},
        {CC_KEY(burst_bytes), f->burst_bytes.value},
        {CC_KEY(burst_bytes_sd), c->burst_bytes < 0 ? f->burst_bytes.sd : NAN},
        {CC_KEY(latency_large_s), burst_found ? NAN : f->intercept_s.value + saved},
        {CC_KEY(message_s), c->message_s},
        {CC_KEY(reduce_byte_s), c->reduce_byte_s},
        {CC_KEY(half_trip_s), time.value},
        {CC_KEY(half_trip_s_sd), time.sd},
        {CC_KEY(payload_bps), 8 * bytes / time.value},
        {CC_KEY(half_trip_s_model), model},
        {CC_KEY(model_error), (time.value - model) / time.value},
        {CC_KEY(samples), (double)s->samples},
    };
    size_t row;
    CC_TRY(cc_record_add(c->record, &row, e));
    cc_record_numbers(c->record, row, all, sizeof all / sizeof all[0]);
    cc_record_bool(c->record, row, CC_KEY(counted), bytes >= f->from_bytes);
    return lab != NULL ? cc_record_text(c->record, row, CC_KEY(congestion), lab->congestion, e)
                       : CC_OK;
}

static int write_link(const struct calibrate *c, struct cc_error *e)
{
    const struct cc_calibration *f = &c->found;
    const char *name = c->options.name != NULL ? c->options.name
                       : c->lab != NULL        ? "lab"
                                               : "cluster";
    struct cc_link link = {.bw_bps = f->bw_bps.value,
                           .latency_s = f->latency_s.value,
                           .message_s = c->message_s,
                           .burst_bytes = f->burst_bytes.value,
                           .reduce_byte_s = c->reduce_byte_s};
    struct cc_machine_info host;
    char source[400];
    if (c->options.link_out == NULL)
        return CC_OK;
    cc_machine_info_read(&host);
    (void)snprintf(link.name, sizeof link.name, "%s", name);
    (void)snprintf(source, sizeof source,
                   "ping-pong of %zu sizes from %.0f bytes on, %s, at %s; commcomp %s", f->sizes,
                   f->from_bytes, c->record->mpi, host.time, host.version);
    return cc_link_write(&link, source, c->options.link_out, e);
}

/* --- notes --- */

static int note_burst(struct calibrate *c, struct cc_error *e)
{
    const struct cc_estimate *b = &c->found.burst_bytes;
    if (c->burst_bytes >= 0)
        return CC_OK;
    if (b->value == 0)
        return cc_record_note(c->record, e, "burst: none found; small and large messages agree");
    return cc_record_note(c->record, e,
                          "burst: %.0f +- %.0f bytes pass at once: large messages arrive this "
                          "much earlier than bandwidth and latency alone explain",
                          b->value, b->sd);
}

static int add_notes(struct calibrate *c, struct cc_error *e)
{
    const struct cc_calibration *f = &c->found;
    char rate[32], shaped[96] = "";
    cc_print_si(f->bw_bps.value, "bit/s", rate, sizeof rate);
    if (c->lab != NULL)
        (void)snprintf(shaped, sizeof shaped,
                       "; %.2f%% of the rate given to tc, of which headers leave 95.64%%",
                       100 * f->bw_bps.value / c->shaped_bps);
    CC_TRY(cc_record_note(
        c->record, e, "bandwidth: %s +- %.2g%% of payload, from %zu sizes of %.0f bytes and more%s",
        rate, 100 * f->bw_bps.sd / f->bw_bps.value, f->sizes, f->from_bytes, shaped));
    CC_TRY(cc_record_note(c->record, e,
                          "latency: %.3g +- %.2g us, the median of messages of up to %d bytes",
                          1e6 * f->latency_s.value, 1e6 * f->latency_s.sd, CC_CALIBRATE_SMALL));
    CC_TRY(cc_record_note(
        c->record, e, "sending: %.3g us of a processor's time for each message, whatever its size",
        1e6 * c->message_s));
    CC_TRY(note_burst(c, e));
    if (f->burst_bytes.value != 0) /* then times depend on the messages that were sent before */
        CC_TRY(
            cc_record_note(c->record, e,
                           "error of messages below %.0f bytes: a full bucket lets the first ones "
                           "pass unshaped, and the model's time is that of an endless ping-pong; "
                           "only the sizes that counted tell how well the figures fit",
                           f->from_bytes));
    if (c->load > CC_LOAD_BUSY)
        CC_TRY(
            cc_record_note(c->record, e,
                           "this machine was busy: before the measurement, processes waited for a "
                           "processor %.0f%% of the time. Latencies may be too long and bandwidths "
                           "too low; repeat it when the machine is quiet",
                           100 * c->load));
    if (c->options.link_out == NULL)
        return CC_OK;
    return cc_record_note(c->record, e, "written to %s: commcomp model --calibration %s",
                          c->options.link_out, c->options.link_out);
}

/* --- the command --- */

static int report(struct calibrate *c, struct cc_error *e)
{
    CC_TRY(fit(c, e));
    c->message_s = cc_stats_of(c->send_s, c->sends).median;
    for (size_t i = 0; i < c->sizes; i++)
        CC_TRY(add_row(c, i, e));
    CC_TRY(write_link(c, e));
    return add_notes(c, e);
}

static int run(struct cc_args *args, struct cc_error *e)
{
    struct calibrate c = {.record = &args->record};
    int status = CC_OK;
    CC_TRY_OUT(parse(args, &c, e));
    CC_TRY_OUT(cc_hosts_check(e));
    c.load = cc_load_waiting();
    CC_TRY_OUT(measure_adding(&c.reduce_byte_s, e));
    if (c.hosts.lab)
        CC_TRY_OUT(open_lab(&c, e));
    cc_progress_begin(&c.progress, args->quiet);
    status = measure(&c, e);
    cc_progress_end(&c.progress);
    if (status == CC_OK && !cc_interrupted())
        status = report(&c, e);
out:
    args->record.partial = cc_interrupted();
    if (c.lab != NULL)
        cc_lab_close(c.lab);
    free_series(&c);
    cc_hosts_free(&c.hosts);
    return status;
}

const struct cc_command cc_command_calibrate = {
    .name = "calibrate",
    .summary = "latency and bandwidth of a link, measured",
    .operands = "",
    .description =
        "Sends messages of many sizes to and fro between two hosts, and finds the figures of the "
        "link that `model` needs: the bandwidth of payload, from large messages; the latency, "
        "from small ones; and the bytes that a token bucket which shapes the link lets pass at "
        "once. Also measures how long adding floats takes on this machine. By default the two "
        "hosts are those of a lab on this machine, with its link shaped to --bw; with --hostfile "
        "or --hosts, or inside an allocation, they are the first two of a cluster.\n\nThe record "
        "has a row for each size; --link-out writes the link. docs/calibrate.md explains the "
        "method.",
    .examples = "  commcomp calibrate --bw 100mbps --link-out lab.json\n"
                "  commcomp calibrate --hosts node1,node2 --link-out cluster.json\n"
                "  commcomp model --calibration cluster.json --scheme paper\n",
    .options = options,
    .columns = columns,
    .takes_schemes = CC_NO_SCHEME,
    .run = run,
};
