/* The options of links, and the links that they make. */
#include <stdlib.h>

#include "cmd/input/cluster.h"
#include "core/memory.h"

int cc_option_link(const char *text, void *member, struct cc_error *e)
{
    return cc_link_parse(text, member, e);
}

int cc_option_intra(const char *text, void *member, struct cc_error *e)
{
    return cc_link_parse_intra(text, member, e);
}

static int parse_overhead(const char *text, void *member, struct cc_error *e)
{
    return cc_overhead_parse(text, member, e);
}

/* clang-format off */
#define MEMBER(m) CC_OPTION_AT(struct cc_link_options, m)
const struct cc_option cc_link_options[] = {
    {.name = "bw", CC_OPTION_LIST(struct cc_link_options, bw, bws), .parse = cc_option_link,
     .value = "RATE", .def = "1gbps", .group = CC_GROUP_CLUSTER,
     .brief = "bandwidth, as in 10gbps or 100mbps,1gbps",
     .words = cc_link_names,
     .help = "bandwidth of every host's link, each way: bits per second as 10mbps, 10Mbit/s or "
             "2.5gbit, bytes with a capital B as 125MB/s or 125MBps; or a link known by name: "
             "{words}; a list gives a row for each"},
    {.name = "bw-up", MEMBER(bw_up), .kind = CC_TAKES_RATE, .value = "RATE",
     .otherwise = "as --bw", .group = CC_GROUP_CLUSTER,
     .help = "bandwidth at which a host sends, where links are slower in one direction"},
    {.name = "bw-down", MEMBER(bw_down), .kind = CC_TAKES_RATE, .value = "RATE",
     .otherwise = "as --bw", .group = CC_GROUP_CLUSTER,
     .help = "bandwidth at which a host receives"},
    {.name = "intra-bw", MEMBER(intra), .parse = cc_option_intra, .value = "RATE", .def = "nvlink3",
     .group = CC_GROUP_CLUSTER, .words = cc_intra_names,
     .help = "--per-host: bandwidth of an accelerator to the others of its host, each way: a rate "
             "as of --bw, or {words} (docs/model.md)"},
    {.name = "intra-latency", MEMBER(intra_latency), .kind = CC_TAKES_TIME, .value = "TIME",
     .otherwise = CC_INTRA_LATENCY_TEXT ", or the link's own", .group = CC_GROUP_CLUSTER,
     .help = "--per-host: latency of a message inside a host"},
    {.name = "burst", MEMBER(burst_bytes), .kind = CC_TAKES_COUNT, .max = INT64_MAX,
     .value = "BYTES", .otherwise = "0, or the link's own; run: chosen from the rate",
     .group = CC_GROUP_CLUSTER,
     .help = "bytes that the token bucket which shapes a link lets pass at once when full"},
    {.name = "calibration", MEMBER(calibration), .value = "FILE", .file = CC_READS_FILE,
     .group = CC_GROUP_CLUSTER,
     .help = "instead of --bw, a link as measured by `commcomp calibrate`; with --per-host also "
             "instead of --intra-bw, if it was measured (docs/model.md)"},
    {.name = "latency", CC_OPTION_LIST(struct cc_link_options, latency, latencies),
     .kind = CC_TAKES_TIME, .value = "TIME", .otherwise = "that of the link's class, or its own",
     .group = CC_GROUP_CLUSTER,
     .help = "latency of a message, whatever its size; a list gives a row for each. A rate is TCP "
             "(50 us) up to 10 Gbit/s, in a lab, and for ps without --system, and above it RDMA "
             "(14 us)"},
    {.name = "message-cost", MEMBER(message_s), .kind = CC_TAKES_TIME, .value = "TIME",
     .otherwise = "0, or the link's own", .group = CC_GROUP_CLUSTER,
     .help = "processor time of a host for each message that it sends: what a server needs for "
             "one worker after the other. `calibrate` measures it"},
    {.name = "overhead", MEMBER(overhead), .parse = parse_overhead, .value = "HEADERS",
     .otherwise = "that of the link's class (tc or roce), or its own", .group = CC_GROUP_CLUSTER,
     .help = "bytes on the wire beyond the payload: tc (66 for each 1,448), ethernet (90/1448), "
             "jumbo (90/8948), infiniband (26/4096), roce (82/4096), none, or HEADER/PAYLOAD"},
    {.name = NULL},
};
/* clang-format on */

/* Replaces what the options name. */
static void replace(const struct cc_link_options *o, bool classes, size_t latency,
                    struct cc_link *link)
{
    if (o->bw_up > 0 || o->bw_down > 0)
        cc_link_set_rates(link, o->bw_up > 0 ? o->bw_up : cc_link_up_bps(link),
                          o->bw_down > 0 ? o->bw_down : cc_link_down_bps(link));
    if (classes)
        cc_link_classify(link);
    if (o->latencies > 0)
        link->latency_s = o->latency[latency];
    if (cc_given(o, &o->overhead) != NULL)
        link->overhead = o->overhead;
    if (cc_given(o, &o->message_s) != NULL)
        link->message_s = o->message_s;
    if (cc_given(o, &o->burst_bytes) != NULL)
        link->burst_bytes = o->burst_bytes;
}

int cc_links_make(struct cc_link_options *o, bool classes, struct cc_link **out, size_t *count,
                  struct cc_error *e)
{
    const size_t each = o->latencies > 0 ? o->latencies : 1;
    struct cc_calibrated_links calibrated;
    if (o->calibration != NULL) {
        if (cc_given(o, &o->bw) != NULL)
            return cc_usage(e, "--bw and --calibration exclude each other");
        CC_TRY_IN(cc_link_read(o->calibration, &calibrated, e), e, "--calibration");
        o->inside = calibrated.inside;
    }
    if (o->bw_up > 0 && o->bw_down > 0 && cc_given(o, &o->bw) != NULL)
        return cc_usage(e, "--bw-up and --bw-down are both directions: leave out --bw, or one of "
                           "them");
    *count = o->bws * each;
    CC_TRY(CC_NEW(*out, *count, e));
    for (size_t i = 0; i < *count; i++) {
        (*out)[i] = o->calibration != NULL ? calibrated.between : o->bw[i / each];
        replace(o, classes, i % each, &(*out)[i]);
    }
    return CC_OK;
}
