/* Links: what a host's port to the network carries, in each direction at once. */
#ifndef CC_MODELS_LINK_H
#define CC_MODELS_LINK_H

#include <stddef.h>

#include "core/error.h"

#define CC_LINK_SCHEMA "commcomp-link/1"

struct cc_link {
    char name[64];    /* the preset, the rate as written, or the calibration's name */
    double bw_bps;    /* line rate of a port in each direction, bits per second */
    double latency_s; /* alpha: of one message, whatever its size */
    double overhead;  /* header bytes on the wire for each byte of payload: 66.0/1448 */
    double
        message_bytes; /* framing of each message beyond its payload (an RPC's, say); usually 0 */
    /* Of the token bucket that shapes each direction of the port: what passes at once when it is
     * full, as bw_bps counts bytes. 0: not shaped. */
    double burst_bytes;
    double reduce_byte_s; /* gamma, where it was measured with the link; 0: it was not */
};

/* Seconds for a byte of payload (beta): line rate less headers. */
static inline double cc_link_byte_s(const struct cc_link *l)
{
    return 8 * (1 + l->overhead) / l->bw_bps;
}

/* What a full token bucket saves: seconds that its bytes would take at the rate. */
static inline double cc_link_burst_s(const struct cc_link *l)
{
    return 8 * l->burst_bytes / l->bw_bps;
}

/* What --bw takes: a rate (10mbps, 2.5gbit/s, 125MB/s) with the defaults below, or a preset's name.
 * *out is set on success only. What is neither is CC_USAGE, naming the nearest preset. */
int cc_link_parse(const char *text, struct cc_link *out, struct cc_error *e);

/* What --overhead takes: tc, ethernet, jumbo, infiniband, none, or HEADER/PAYLOAD bytes of a
 * segment as in 66/1448. */
int cc_overhead_parse(const char *text, double *out, struct cc_error *e);

/* A calibration file, as docs/model.md describes it. The first is given its text: any bytes either
 * parse or give an error, which does not name the file. */
int cc_link_parse_json(const char *text, size_t length, struct cc_link *out, struct cc_error *e);
int cc_link_read(const char *path, struct cc_link *out, struct cc_error *e);
/* Writes one, whole or not at all; `source`: how it was measured. */
int cc_link_write(const struct cc_link *l, const char *source, const char *path,
                  struct cc_error *e);

/* Of a bare rate: 50 us, and 1,448 of 1,514 bytes as through tc on veth. */
#define CC_LINK_LATENCY  50e-6
#define CC_LINK_OVERHEAD (66.0 / 1448)

/* Everything that cc_link_parse knows by name; ends with a row without one. */
struct cc_link_preset {
    struct cc_link link;
    const char *source; /* where the figures come from */
};
extern const struct cc_link_preset cc_link_presets[];

#endif
