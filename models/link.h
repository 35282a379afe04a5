/* Links: bandwidth, latency and headers of a host's port to the network, which is full duplex. */
#ifndef CC_MODELS_LINK_H
#define CC_MODELS_LINK_H

#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"

#define CC_LINK_SCHEMA   "commcomp-link/2"
#define CC_LINK_SCHEMA_1 "commcomp-link/1" /* without "up_bps", "down_bps" and "inside" */

struct cc_link {
    char name[64];        /* the preset, the rate ("10 Mbit/s"), or the calibration's name */
    double bw_bps;        /* line rate of a port in its slower direction, bits per second */
    double latency_s;     /* alpha: of one message, whatever its size */
    double message_s;     /* for which a host's processor is busy with each message it sends */
    double overhead;      /* header bytes on the wire for each byte of payload: 66.0/1448 */
    double message_bytes; /* framing of each message (an RPC's, say); usually 0 */
    /* Size of the token bucket that shapes each direction of the port: the bytes, as bw_bps counts
     * them, that pass at once when it is full. 0: not shaped. */
    double burst_bytes;
    double reduce_byte_s; /* gamma, if it was measured with the link; otherwise 0 */
    /* A port that sends and receives at different rates: each direction's rate by bw_bps, at least
     * 1. 0: 1. */
    double up_factor, down_factor;
    double achieved;                      /* the share of its rate that is reached; 0: all of it */
    const struct cc_link_class *of_class; /* a bare rate's, once it is classified; or NULL */
    bool bare;                            /* --bw gave a rate and nothing else */
};

/* A class of links between hosts: the latency and headers of a bare rate above `above_bps`, unless
 * the next class begins below it. docs/model.md, Links, has the sources. */
struct cc_link_class {
    const char *name, *text; /* "rdma", "RDMA over Ethernet" */
    double above_bps, latency_s, overhead;
};
extern const struct cc_link_class
    cc_link_classes[]; /* in the order of rates; ends without a name */

/* Gives a bare rate the latency and headers of its class; other links stay as they are. */
void cc_link_classify(struct cc_link *l);

/* Line rates at which a port sends and receives. */
static inline double cc_link_up_bps(const struct cc_link *l)
{
    return l->bw_bps * (l->up_factor > 0 ? l->up_factor : 1);
}
static inline double cc_link_down_bps(const struct cc_link *l)
{
    return l->bw_bps * (l->down_factor > 0 ? l->down_factor : 1);
}
/* Whether the two differ. */
static inline bool cc_link_asymmetric(const struct cc_link *l)
{
    return l->up_factor > 1 || l->down_factor > 1;
}
/* Sets the rates of the two directions, in bits per second, and the name if they differ. */
void cc_link_set_rates(struct cc_link *l, double up_bps, double down_bps);

/* Seconds for a byte of payload (beta): line rate less headers. Where the directions differ, that
 * of the slower one, which limits hosts that send as much as they receive. */
static inline double cc_link_byte_s(const struct cc_link *l)
{
    return 8 * (1 + l->overhead) / (l->bw_bps * (l->achieved > 0 ? l->achieved : 1));
}

/* Seconds that a full token bucket saves: its bytes at the link's rate. */
static inline double cc_link_burst_s(const struct cc_link *l)
{
    return 8 * l->burst_bytes / l->bw_bps;
}

/* Parses --bw: a rate (10mbps, 2.5gbit/s, 125MB/s), which gets the defaults of TCP through the
 * kernel, whatever its class, or a preset's name. *out is set on success only. Other texts are
 * CC_USAGE, naming the nearest preset. */
int cc_link_parse(const char *text, struct cc_link *out, struct cc_error *e);

/* The same for --intra-bw, the link of an accelerator to the others of its host, whose presets and
 * defaults of a bare rate are others: no headers, and CC_INTRA_LATENCY. */
int cc_link_parse_intra(const char *text, struct cc_link *out, struct cc_error *e);

/* Parses --overhead: tc, ethernet, jumbo, infiniband, roce, none, or HEADER/PAYLOAD bytes of a
 * segment as in 66/1448. */
int cc_overhead_parse(const char *text, double *out, struct cc_error *e);

/* The links of a calibration file (docs/model.md). */
struct cc_calibrated_links {
    struct cc_link between; /* hosts */
    struct cc_link inside;  /* a host, between its workers; bw_bps 0: the file has none */
};

/* Read a calibration file, from its text or by path. Any bytes either parse or give an error; the
 * first's does not name the file. *out is set on success only. */
int cc_link_parse_json(const char *text, size_t length, struct cc_calibrated_links *out,
                       struct cc_error *e);
int cc_link_read(const char *path, struct cc_calibrated_links *out, struct cc_error *e);
/* Writes a calibration file, whole or not at all; `source` tells how it was measured. */
int cc_link_write(const struct cc_calibrated_links *l, const char *source, const char *path,
                  struct cc_error *e);

/* TCP through the kernel: 50 us, and 1,448 payload bytes in frames of 1,514, as tc counts them. */
#define CC_LINK_LATENCY      50e-6
#define CC_LINK_LATENCY_TEXT "50us" /* the same */
#define CC_LINK_OVERHEAD     (66.0 / 1448)

/* The latency of a bare rate inside a host: a hop over NVLink in a ring, by NCCL's constants
 * (src/graph/tuning.cc, protocol Simple). */
#define CC_INTRA_LATENCY      3.4e-6
#define CC_INTRA_LATENCY_TEXT "3.4us" /* the same */

/* The name of a calibrated link inside a host. */
#define CC_LINK_MEMORY "memory"
/* The latency that a link inside a host has unless another is given for it: a preset's, that of a
 * bare rate, or a calibrated link's own. */
double cc_link_intra_latency(const struct cc_link *l);

/* The links that cc_link_parse and cc_link_parse_intra know by name, ending with NULL. */
extern const char *const cc_link_names[];
extern const char *const cc_intra_names[];

#endif
