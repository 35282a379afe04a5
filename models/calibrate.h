/* What ping-pong times say of a link: alpha, beta, and the token bucket that shapes it, if one
 * does. docs/calibrate.md tells why it is done so. */
#ifndef CC_MODELS_CALIBRATE_H
#define CC_MODELS_CALIBRATE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"

/* Messages of one size: what each took one way, which is half a round trip. */
struct cc_ping {
    double bytes;
    const double *seconds;
    size_t samples;
};

/* A figure and how far it may be off: one standard deviation. */
struct cc_estimate {
    double value, sd;
};

struct cc_calibration {
    struct cc_estimate latency_s; /* median of the messages of up to CC_CALIBRATE_SMALL bytes */
    struct cc_estimate bw_bps;    /* of payload, from the slope */
    struct cc_estimate
        intercept_s; /* of the line: below latency_s where a bucket lets bytes pass */
    struct cc_estimate
        burst_bytes;   /* of payload; as given (sd 0), or from the intercept; 0: none */
    double from_bytes; /* the line goes through sizes from here on, */
    size_t sizes;      /* so many of them, */
    double rms;        /* which are so far from it in the mean, relatively */
};

enum { CC_CALIBRATE_SMALL = 64, CC_CALIBRATE_BURSTS = 8 };

/* Which sizes to measure on a link of about this rate (payload, bits per second) and latency: small
 * ones, a few in between, and every half octave for the line, up to what takes a tenth of a second
 * one way or 32 latencies, or is 50 times the bucket (0: none, or not known). In ascending order;
 * returns how many. */
enum { CC_CALIBRATE_MOST = 64 };
size_t cc_calibrate_sizes(double bw_bps, double latency_s, double burst_bytes,
                          size_t bytes[CC_CALIBRATE_MOST]);

/* Sizes are in ascending order. The line goes through the lower quartiles of those that are at
 * least CC_CALIBRATE_BURSTS times the bucket and take so many times as long as a small message.
 * `burst_bytes` of the bucket, if it is known; < 0: it is looked for. CC_FAIL says which sizes are
 * missing. */
int cc_calibrate(const struct cc_ping *ping, size_t sizes, double burst_bytes,
                 struct cc_calibration *out, struct cc_error *e);

/* What a message takes by a calibration, with its bucket full, or as full as ping-pong leaves it
 * (each way's bucket fills while the other way is busy). */
double cc_calibration_s(const struct cc_calibration *c, double bytes);

/* The median of samples, and its standard deviation, judged by the samples' median distance from
 * it, so that outliers do not count. `scratch` has room for all samples. */
struct cc_estimate cc_calibrate_median(const double *seconds, size_t samples, double *scratch);

#endif
