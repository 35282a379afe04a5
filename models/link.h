/* Links: bandwidth, latency and headers of a host's port to the network, which is full duplex. */
#ifndef CC_MODELS_LINK_H
#define CC_MODELS_LINK_H

#include <stddef.h>

#include "core/error.h"

#define CC_LINK_SCHEMA "commcomp-link/1"

struct cc_link {
    char name[64];        /* the preset, the rate ("10 Mbit/s"), or the calibration's name */
    double bw_bps;        /* line rate of a port in each direction, bits per second */
    double latency_s;     /* alpha: of one message, whatever its size */
    double message_s;     /* for which a host's processor is busy with each message it sends */
    double overhead;      /* header bytes on the wire for each byte of payload: 66.0/1448 */
    double message_bytes; /* framing of each message (an RPC's, say); usually 0 */
    /* Size of the token bucket that shapes each direction of the port: the bytes, as bw_bps counts
     * them, that pass at once when it is full. 0: not shaped. */
    double burst_bytes;
    double reduce_byte_s; /* gamma, if it was measured with the link; otherwise 0 */
};

/* Seconds for a byte of payload (beta): line rate less headers. */
static inline double cc_link_byte_s(const struct cc_link *l)
{
    return 8 * (1 + l->overhead) / l->bw_bps;
}

/* Seconds that a full token bucket saves: its bytes at the link's rate. */
static inline double cc_link_burst_s(const struct cc_link *l)
{
    return 8 * l->burst_bytes / l->bw_bps;
}

/* Parses --bw: a rate (10mbps, 2.5gbit/s, 125MB/s), which gets the defaults below, or a preset's
 * name. *out is set on success only. Other texts are CC_USAGE, naming the nearest preset. */
int cc_link_parse(const char *text, struct cc_link *out, struct cc_error *e);

/* Parses --overhead: tc, ethernet, jumbo, infiniband, none, or HEADER/PAYLOAD bytes of a
 * segment as in 66/1448. */
int cc_overhead_parse(const char *text, double *out, struct cc_error *e);

/* Read a calibration file (docs/model.md), from its text or by path. Any bytes either parse or give
 * an error; the first's does not name the file. *out is set on success only. */
int cc_link_parse_json(const char *text, size_t length, struct cc_link *out, struct cc_error *e);
int cc_link_read(const char *path, struct cc_link *out, struct cc_error *e);
/* Writes a calibration file, whole or not at all; `source` tells how it was measured. */
int cc_link_write(const struct cc_link *l, const char *source, const char *path,
                  struct cc_error *e);

/* Defaults of a bare rate: 50 us, and 1,448 payload bytes in frames of 1,514, as tc counts them. */
#define CC_LINK_LATENCY      50e-6
#define CC_LINK_LATENCY_TEXT "50us" /* the same */
#define CC_LINK_OVERHEAD     (66.0 / 1448)

/* The links that cc_link_parse knows by name, ending with NULL. */
extern const char *const cc_link_names[];

#endif
