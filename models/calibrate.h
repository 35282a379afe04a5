/* Calibration: latency, bandwidth and token bucket of a link from ping-pong times.
 * docs/calibrate.md explains the method. */
#ifndef CC_MODELS_CALIBRATE_H
#define CC_MODELS_CALIBRATE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"

/* Messages of one size, and the time of each one way, which is half a round trip. */
struct cc_ping {
    double bytes;
    const double *seconds;
    size_t samples;
};

/* An estimate and its standard deviation. */
struct cc_estimate {
    double value, sd;
};

struct cc_calibration {
    struct cc_estimate latency_s;   /* median of the messages of up to CC_CALIBRATE_SMALL bytes */
    struct cc_estimate bw_bps;      /* bits of payload, from the slope */
    struct cc_estimate intercept_s; /* the line's: below latency_s where a bucket lets bytes pass */
    struct cc_estimate
        burst_bytes;   /* bytes of payload; as given (sd 0), or from the intercept; 0: none */
    double from_bytes; /* the smallest size that the line was fitted to */
    size_t sizes;      /* the number of those sizes */
    double rms;        /* their relative distance from the line, root mean square */
};

enum { CC_CALIBRATE_SMALL = 64, CC_CALIBRATE_BURSTS = 8 };

/* Chooses the sizes to measure on a link of about this rate (payload, bits per second) and latency:
 * small ones, a few in between, and every half octave for the line, up to a size that takes a tenth
 * of a second one way or 32 latencies, or that is 50 times the bucket (0: none, or not known). Sets
 * bytes[] in ascending order; returns their number. */
enum { CC_CALIBRATE_MOST = 64 };
size_t cc_calibrate_sizes(double bw_bps, double latency_s, double burst_bytes,
                          size_t bytes[CC_CALIBRATE_MOST]);

/* Calibrates. ping[] is in ascending order of sizes. The line is fitted to the lower quartiles of
 * the sizes that are at least CC_CALIBRATE_BURSTS times the bucket and take at least
 * CC_CALIBRATE_BURSTS times as long as a small message. `burst_bytes` is the bucket's size; < 0: it
 * is estimated. CC_FAIL if sizes are missing, naming them, or if larger messages take no longer.
 * *out is set on success only. */
int cc_calibrate(const struct cc_ping *ping, size_t sizes, double burst_bytes,
                 struct cc_calibration *out, struct cc_error *e);

/* The time of a message by a calibration. Its bucket is full, or as full as ping-pong leaves it
 * (each direction's bucket fills while the other direction is busy). */
double cc_calibration_s(const struct cc_calibration *c, double bytes);

/* The median of samples and its standard deviation, estimated from the samples' median distance
 * from it, so that outliers do not count. `scratch` has room for all samples. */
struct cc_estimate cc_calibrate_median(const double *seconds, size_t samples, double *scratch);

#endif
