/* commcomp calibrate: measures alpha, beta and gamma of a cluster's links, and what sending costs.
 *
 * Ranks send messages of many sizes (calibrate_ping.c): to and fro between two hosts and between
 * two workers of a host, and from and to a host and several others at once, which tells the rates
 * at which it sends and receives apart. From their times models/calibrate.c fits bandwidth, latency
 * and, where a token bucket is to be found, its burst. */
#include "cmd/run/calibrate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/load.h"
#include "core/clock.h"
#include "core/interrupt.h"
#include "core/memory.h"
#include "core/stats.h"
#include "core/units.h"
#include "models/link.h"
#include "results/machine_info.h"

/* clang-format off */
static const struct cc_column columns[] = {
    CC_COLUMN(traffic, CC_SETTING),
    CC_COLUMN(message_bytes, CC_SETTING),
    CC_COLUMN(peers, CC_SETTING),
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
    double bw_bps, bw_up, bw_down; /* the last two: 0: bw_bps */
    int per_host, peers;
    uint64_t burst, repeats;
    const char *name, *link_out;
};

#define MEMBER(m) CC_OPTION_AT(struct calibrate_options, m)
static const struct cc_option own_options[] = {
    {.name = "bw", MEMBER(bw_bps), .kind = CC_TAKES_RATE, .value = "RATE", .def = "1gbps",
     .brief = "shape the lab's links to this rate",
     .help = "shape the lab's links to this rate; on a cluster, links are as they are"},
    {.name = "bw-up", MEMBER(bw_up), .kind = CC_TAKES_RATE, .value = "RATE", .otherwise = "as --bw",
     .brief = "rate at which the lab's hosts send",
     .help = "rate at which the lab's hosts send, if it is another one"},
    {.name = "bw-down", MEMBER(bw_down), .kind = CC_TAKES_RATE, .value = "RATE",
     .otherwise = "as --bw", .brief = "rate at which the lab's hosts receive",
     .help = "rate at which the lab's hosts receive"},
    {.name = "per-host", MEMBER(per_host), .kind = CC_TAKES_COUNT, .min = 1, .max = 1024,
     .value = "COUNT", .def = "1", .brief = "2: also the link between two of a host",
     .help = "workers on each host: with 2 and more, the link between two of a host is measured, "
             "too"},
    {.name = "peers", MEMBER(peers), .kind = CC_TAKES_COUNT, .max = CC_CALIBRATE_PEERS,
     .value = "COUNT", .otherwise = "0; in a lab with --bw-up or --bw-down, as many as it takes",
     .help = "hosts that one host sends to, and receives from, at once: tells the rates of sending "
             "and receiving apart, up to this ratio"},
    {.name = "burst", MEMBER(burst), .kind = CC_TAKES_COUNT, .max = INT64_MAX, .value = "BYTES",
     .otherwise = "lab: what suits the rate; cluster: looked for",
     .help = "size of the token bucket that shapes the link: the lab's, or one that the cluster's links "
             "are known to have; 0: none"},
    {.name = "repeats", MEMBER(repeats), .kind = CC_TAKES_COUNT, .min = 3, .max = 100000,
     .value = "N", .def = "20", .help = "round trips of each size"},
    {.name = "name", MEMBER(name), .value = "NAME", .otherwise = "lab or cluster",
     .help = "name of the link in the file"},
    {.name = "link-out", MEMBER(link_out), .value = "FILE", .file = CC_WRITES_FILE,
     .brief = "write the link, for --calibration of the others",
     .help = "file to write the link to, for --calibration of model, sim and the others"},
    {.name = NULL},
};

static const struct cc_option_use options[] = {
    {.rows = own_options, .names = "bw bw-up bw-down per-host peers burst"},
    {.rows = cc_hosts_options},
    {.rows = own_options, .names = "repeats name link-out"},
    {.rows = NULL},
};
/* clang-format on */

/* Rates that differ by no more are the same. */
#define SAME 0.03

static const char *const class_names[CC_PING_CLASSES] = {"between hosts", "inside a host",
                                                         "sending", "receiving"};

struct calibrate {
    struct cc_record *record;
    struct cc_hosts hosts;
    struct calibrate_options options;
    struct cc_lab *lab;      /* NULL: a cluster */
    double up_bps, down_bps; /* by tc; 0: not shaped here */
    double burst_bytes;      /* as tc counts; < 0: to be found */
    double reduce_byte_s;
    double load; /* this machine's before the measurement (bench/load.h) */
    struct cc_ping_run class[CC_PING_CLASSES];
    bool wanted[CC_PING_CLASSES];
    struct cc_progress progress;
};

/* --- options --- */

/* Peers that tell the rates of the two directions apart. */
static int choose_peers(const struct calibrate *c)
{
    const double ratio = fmax(c->up_bps, c->down_bps) / fmin(c->up_bps, c->down_bps);
    if (cc_given(&c->options, &c->options.peers) != NULL)
        return c->options.peers;
    return c->hosts.lab && ratio > 1 ? (int)fmin(CC_CALIBRATE_PEERS, ceil(ratio) + 1) : 0;
}

/* Sets up the messages of a class. */
static void add_class(struct calibrate *c, enum cc_ping_class class, enum cc_job_way way, int ranks,
                      int per_host)
{
    c->wanted[class] = true;
    c->class[class] = (struct cc_ping_run){
        .way = way, .ranks = ranks, .per_host = per_host, .repeats = c->options.repeats};
}

static int parse(const struct cc_args *args, struct calibrate *c, struct cc_error *e)
{
    struct calibrate_options *o = &c->options;
    const size_t name_cap = sizeof((struct cc_link *)NULL)->name;
    CC_TRY(cc_options_read(args, own_options, o, e));
    const void *const of_lab[] = {&o->bw_bps, &o->bw_up, &o->bw_down, NULL};
    CC_TRY(cc_hosts_parse(args, NULL, cc_given_of(o, of_lab), &c->hosts, e));
    const bool burst = cc_given(o, &o->burst) != NULL;
    if (c->hosts.lab && burst && o->burst == 0)
        return cc_usage(e, "--burst 0: a lab's links are shaped by buckets");
    if (c->hosts.lab) {
        c->up_bps = o->bw_up > 0 ? o->bw_up : o->bw_bps;
        c->down_bps = o->bw_down > 0 ? o->bw_down : o->bw_bps;
    }
    c->burst_bytes = burst ? (double)o->burst : -1;
    o->peers = choose_peers(c);
    add_class(c, CC_PING_BETWEEN, CC_WAY_PAIR, 2, 1);
    if (o->per_host > 1)
        add_class(c, CC_PING_INSIDE, CC_WAY_PAIR, 2, 2);
    if (o->peers > 0) {
        add_class(c, CC_PING_OUT, CC_WAY_OUT, 1 + o->peers, 1);
        add_class(c, CC_PING_IN, CC_WAY_IN, 1 + o->peers, 1);
    }
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

/* --- measuring --- */

/* Payload bytes of the bucket, in which headers pass too. */
static double payload_burst(const struct calibrate *c)
{
    return c->lab != NULL && c->burst_bytes > 0 ? c->burst_bytes / (1 + CC_LINK_OVERHEAD)
                                                : c->burst_bytes;
}

/* Says what is known of a class before it is measured. */
static void expect(const struct calibrate *c, enum cc_ping_class class, struct cc_ping_run *p)
{
    const struct cc_calibration *between = &c->class[CC_PING_BETWEEN].found;
    const double tcp = 1 / (1 + CC_LINK_OVERHEAD), up = c->up_bps * tcp, down = c->down_bps * tcp;
    p->burst_bytes = payload_burst(c);
    switch (class) {
    case CC_PING_BETWEEN:
        p->expected_bps = fmin(up, down);
        break;
    case CC_PING_INSIDE: /* through memory: no larger than messages of gradients usually are */
        p->burst_bytes = 0;
        p->most_bytes = (size_t)64 << 20;
        break;
    default:
        p->expected_bps = c->lab == NULL ? 0 : class == CC_PING_OUT ? up : down;
        p->latency_s = between->latency_s.value;
        if (p->burst_bytes < 0)
            p->burst_bytes = between->burst_bytes.value;
    }
}

static int measure(struct calibrate *c, struct cc_error *e)
{
    const struct cc_ping_place at = {.hosts = &c->hosts,
                                     .lab = c->lab,
                                     .progress = &c->progress,
                                     .mpi = c->record->mpi,
                                     .mpi_size = sizeof c->record->mpi};
    double left = 0;
    for (int i = 0; i < CC_PING_CLASSES; i++)
        left += c->wanted[i];
    for (enum cc_ping_class i = 0; i < CC_PING_CLASSES && !cc_interrupted(); i++) {
        if (!c->wanted[i])
            continue;
        cc_progress_part(&c->progress, 1 / left--);
        expect(c, i, &c->class[i]);
        CC_TRY_IN(cc_ping_measure(&c->class[i], &at, e), e, "%s", class_names[i]);
    }
    return CC_OK;
}

static int open_lab(struct calibrate *c, struct cc_error *e)
{
    const int peers = c->options.peers;
    const struct cc_lab_config config = {.hosts = 1 + (peers > 1 ? peers : 1),
                                         .bw_bps = c->up_bps,
                                         .down_bps = c->down_bps != c->up_bps ? c->down_bps : 0,
                                         .burst_bytes =
                                             c->burst_bytes > 0 ? (size_t)c->burst_bytes : 0,
                                         .limit_bytes = (size_t)c->hosts.limit,
                                         .congestion = c->hosts.congestion};
    CC_TRY(cc_lab_open(&config, &c->lab, e));
    c->burst_bytes = (double)cc_lab_settings(c->lab)->burst_bytes;
    return CC_OK;
}

/* --- the link --- */

/* The rate given to tc of a class; NaN: it is not shaped. */
static double shaped_bps(const struct calibrate *c, enum cc_ping_class class)
{
    if (c->lab == NULL || class == CC_PING_INSIDE)
        return NAN;
    return class == CC_PING_OUT  ? c->up_bps
           : class == CC_PING_IN ? c->down_bps
                                 : fmin(c->up_bps, c->down_bps);
}

static int add_row(struct calibrate *c, enum cc_ping_class class, size_t i, struct cc_error *e)
{
    const struct cc_ping_run *p = &c->class[class];
    const struct cc_calibration *f = &p->found;
    const double shaped = shaped_bps(c, class);
    const struct cc_lab_config *lab = isnan(shaped) ? NULL : cc_lab_settings(c->lab);
    const struct cc_ping_series *s = &p->series[i];
    const double others = cc_ping_others(p), bytes = (double)p->size[i] * others;
    const double model = cc_calibration_s(f, bytes);
    const double saved = 8 * f->burst_bytes.value / f->bw_bps.value;
    const bool burst_found = p->burst_bytes < 0 && saved > 0;
    double *scratch;
    CC_TRY(CC_NEW(scratch, s->samples, e));
    const struct cc_estimate time = cc_calibrate_median(s->seconds, s->samples, scratch);
    free(scratch);
    const struct cc_number_column all[] = {
        {CC_KEY(message_bytes), (double)p->size[i]},
        {CC_KEY(peers), others},
        {CC_KEY(shaped_bps), shaped},
        {CC_KEY(limit_bytes), lab != NULL ? (double)lab->limit_bytes : NAN},
        {CC_KEY(bw_bps), f->bw_bps.value},
        {CC_KEY(bw_bps_sd), f->bw_bps.sd},
        {CC_KEY(latency_s), f->latency_s.value},
        {CC_KEY(latency_s_sd), p->latency_s > 0 ? NAN : f->latency_s.sd},
        {CC_KEY(burst_bytes), f->burst_bytes.value},
        {CC_KEY(burst_bytes_sd), p->burst_bytes < 0 ? f->burst_bytes.sd : NAN},
        {CC_KEY(latency_large_s), burst_found ? NAN : f->intercept_s.value + saved},
        {CC_KEY(message_s), p->message_s},
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
    CC_TRY(cc_record_text(c->record, row, CC_KEY(traffic), class_names[class], e));
    return lab != NULL ? cc_record_text(c->record, row, CC_KEY(congestion), lab->congestion, e)
                       : CC_OK;
}

/* Whether the rate of a class is that of this host's direction, and not of the peers' other one,
 * which take all that is sent to them. */
static bool is_own_rate(const struct calibrate *c, enum cc_ping_class class)
{
    const struct cc_ping_run *p = &c->class[class];
    const double others = cc_ping_others(p) * c->class[CC_PING_BETWEEN].found.bw_bps.value;
    return cc_ping_others(p) > 1 && p->found.bw_bps.value < (1 - 2 * SAME) * others;
}

/* The link between hosts; of two directions that are alike, the pair's rate. */
static struct cc_link link_between(const struct calibrate *c)
{
    const struct cc_ping_run *p = &c->class[CC_PING_BETWEEN];
    const struct cc_calibration *f = &p->found;
    struct cc_link link = {.bw_bps = f->bw_bps.value,
                           .latency_s = f->latency_s.value,
                           .message_s = p->message_s,
                           .burst_bytes = f->burst_bytes.value,
                           .reduce_byte_s = c->reduce_byte_s};
    const double up = c->class[CC_PING_OUT].found.bw_bps.value,
                 down = c->class[CC_PING_IN].found.bw_bps.value;
    if (up > 0 && down > 0 && fabs(up / down - 1) > SAME)
        cc_link_set_rates(&link, up, down);
    (void)snprintf(link.name, sizeof link.name, "%s",
                   c->options.name != NULL ? c->options.name
                   : c->lab != NULL        ? "lab"
                                           : "cluster");
    return link;
}

/* The links as a file has them. */
static struct cc_calibrated_links links_of(const struct calibrate *c)
{
    const struct cc_ping_run *p = &c->class[CC_PING_INSIDE];
    struct cc_calibrated_links links = {.between = link_between(c)};
    if (c->wanted[CC_PING_INSIDE])
        links.inside = (struct cc_link){.name = CC_LINK_MEMORY,
                                        .bw_bps = p->found.bw_bps.value,
                                        .latency_s = p->found.latency_s.value,
                                        .message_s = p->message_s};
    return links;
}

static int write_links(const struct calibrate *c, struct cc_error *e)
{
    const struct cc_calibration *f = &c->class[CC_PING_BETWEEN].found;
    const struct cc_calibrated_links links = links_of(c);
    struct cc_machine_info host;
    char source[400];
    if (c->options.link_out == NULL)
        return CC_OK;
    cc_machine_info_read(&host);
    (void)snprintf(source, sizeof source,
                   "ping-pong of %zu sizes from %.0f bytes on, %s, at %s; commcomp %s", f->sizes,
                   f->from_bytes, c->record->mpi, host.time, host.version);
    return cc_link_write(&links, source, c->options.link_out, e);
}

/* --- notes --- */

static int note_burst(struct calibrate *c, struct cc_error *e)
{
    const struct cc_estimate *b = &c->class[CC_PING_BETWEEN].found.burst_bytes;
    if (c->burst_bytes >= 0)
        return CC_OK;
    if (b->value == 0)
        return cc_record_note(c->record, e, "burst: none found; small and large messages agree");
    return cc_record_note(c->record, e,
                          "burst: %.0f +- %.0f bytes pass at once: large messages arrive this "
                          "much earlier than bandwidth and latency alone explain",
                          b->value, b->sd);
}

/* The rate of a class, and in a lab its share of tc's. */
static int note_rate(struct calibrate *c, enum cc_ping_class class, enum cc_note_place place,
                     const char *what, struct cc_error *e)
{
    const struct cc_calibration *f = &c->class[class].found;
    const double given = shaped_bps(c, class);
    char rate[32], shaped[96] = "";
    cc_print_si(f->bw_bps.value, "bit/s", rate, sizeof rate);
    if (!isnan(given))
        (void)snprintf(shaped, sizeof shaped,
                       "; %.2f%% of the rate given to tc, of which headers leave 95.64%%",
                       100 * f->bw_bps.value / given);
    return cc_record_note_at(
        c->record, place, e, "%s: %s +- %.2g%% of payload, from %zu sizes of %.0f bytes and more%s",
        what, rate, 100 * f->bw_bps.sd / f->bw_bps.value, f->sizes, f->from_bytes, shaped);
}

static int note_inside(struct calibrate *c, struct cc_error *e)
{
    const struct cc_ping_run *p = &c->class[CC_PING_INSIDE];
    if (!c->wanted[CC_PING_INSIDE])
        return CC_OK;
    CC_TRY(note_rate(c, CC_PING_INSIDE, CC_NOTE_BELOW, "inside a host", e));
    return cc_record_note(c->record, e,
                          "inside a host, latency: %.3g +- %.2g us; sending: %.3g us. One pair of "
                          "workers: others that send at the same time share the host's memory",
                          1e6 * p->found.latency_s.value, 1e6 * p->found.latency_s.sd,
                          1e6 * p->message_s);
}

/* The rates of the two directions, and which of them may be higher. */
static int note_ways(struct calibrate *c, struct cc_error *e)
{
    for (enum cc_ping_class i = CC_PING_OUT; i <= CC_PING_IN; i++) {
        if (!c->wanted[i])
            continue;
        CC_TRY(note_rate(c, i, CC_NOTE_BELOW, class_names[i], e));
        if (!is_own_rate(c, i))
            CC_TRY(cc_record_note(c->record, e,
                                  "%s: perhaps faster, as %d other host%s no more; --peers with a "
                                  "larger number tells",
                                  class_names[i], c->options.peers,
                                  c->options.peers == 1
                                      ? (i == CC_PING_OUT ? " receives" : " sends")
                                      : (i == CC_PING_OUT ? "s receive" : "s send")));
    }
    return CC_OK;
}

static int add_notes(struct calibrate *c, struct cc_error *e)
{
    const struct cc_ping_run *p = &c->class[CC_PING_BETWEEN];
    const struct cc_calibration *f = &p->found;
    CC_TRY(note_rate(c, CC_PING_BETWEEN, CC_NOTE_ANSWER, "bandwidth", e));
    CC_TRY(cc_record_note_at(c->record, CC_NOTE_ANSWER, e,
                             "latency: %.3g +- %.2g us, the median of messages of up to %d bytes",
                             1e6 * f->latency_s.value, 1e6 * f->latency_s.sd, CC_CALIBRATE_SMALL));
    CC_TRY(cc_record_note(
        c->record, e, "sending: %.3g us of a processor's time for each message, whatever its size",
        1e6 * p->message_s));
    CC_TRY(note_burst(c, e));
    CC_TRY(note_inside(c, e));
    CC_TRY(note_ways(c, e));
    if (f->burst_bytes.value != 0) /* then times depend on the messages that were sent before */
        CC_TRY(
            cc_record_note(c->record, e,
                           "error of messages below %.0f bytes: a full bucket lets the first ones "
                           "pass unshaped, and the model's time is that of an endless ping-pong; "
                           "only the sizes that counted tell how well the figures fit",
                           f->from_bytes));
    if (c->load > CC_LOAD_BUSY)
        CC_TRY(
            cc_record_warn(c->record, e,
                           "this machine was busy: before the measurement, processes waited for a "
                           "processor %.0f%% of the time. Latencies may be too long and bandwidths "
                           "too low; repeat it when the machine is quiet",
                           100 * c->load));
    if (c->options.link_out == NULL)
        return CC_OK;
    return cc_record_note(c->record, e, "written to %s: commcomp model --calibration %s%s",
                          c->options.link_out, c->options.link_out,
                          c->wanted[CC_PING_INSIDE] ? " --per-host COUNT" : "");
}

/* --- the command --- */

static int report(struct calibrate *c, struct cc_error *e)
{
    for (enum cc_ping_class class = 0; class < CC_PING_CLASSES; class ++)
        for (size_t i = 0; i < c->class[class].sizes; i++)
            CC_TRY(add_row(c, class, i, e));
    CC_TRY(write_links(c, e));
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
    for (int i = 0; i < CC_PING_CLASSES; i++)
        cc_ping_free(&c.class[i]);
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
        "or --hosts, or inside an allocation, they are the first two of a cluster.\n\nWith "
        "--per-host, also measures the link between two workers of a host, and with --peers, how "
        "fast a host sends to, and receives from, several at once.\n\nThe record "
        "has a row for each size; --link-out writes the links. docs/calibrate.md explains the "
        "method.",
    .examples =
        "  commcomp calibrate --bw 100mbps --link-out lab.json\n"
        "  commcomp calibrate --hosts node1,node2 --link-out cluster.json\n"
        "  commcomp calibrate --hosts node1:8,node2:8 --per-host 8 --link-out cluster.json\n"
        "  commcomp calibrate --bw-up 20mbps --bw-down 100mbps   # both directions apart\n"
        "  commcomp model --calibration cluster.json --scheme paper\n",
    .page = "docs/calibrate.md",
    .options = options,
    .columns = columns,
    .takes_schemes = CC_NO_SCHEME,
    .run = run,
};
