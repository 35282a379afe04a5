/* Calibration of a link from ping-pong times.
 *
 * 1. The latency is the median over all small messages.
 * 2. A line, seconds = intercept + slope x bytes, is fitted by least squares to the larger sizes,
 *    each represented by the lower quartile of its times and weighted so that relative distances
 *    count alike. The slope is the bandwidth.
 * 3. A token bucket lets the first bytes of every message pass at once: the line then lies below
 *    the latency at 0 bytes, and the difference over the slope is the bucket's size. It counts if
 *    it is at least a frame and three standard deviations.
 * 4. The bucket decides which sizes the line may be fitted to, and the line gives the bucket:
 *    steps 2 and 3 are repeated until the sizes stay the same.
 *
 * docs/calibrate.md explains the choices. */
#include "models/calibrate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_errno.h>
#include <gsl/gsl_fit.h>

#include "core/memory.h"
#include "core/stats.h"

enum { FEWEST_SIZES = 4, MOST_ROUNDS = 20 };

/* Estimates of a bucket smaller than a frame count as no bucket. */
#define LEAST_BURST 1500

/* For normally distributed samples: standard deviation / median distance from the median, and the
 * deviation of the median / that of the mean. */
#define DEVIATION_OF_DISTANCE 1.4826
#define MEDIAN_OF_MEAN        1.2533

struct cc_estimate cc_calibrate_median(const double *seconds, size_t samples, double *scratch)
{
    memcpy(scratch, seconds, samples * sizeof *scratch);
    double middle = cc_stats_of(scratch, samples).median;
    for (size_t i = 0; i < samples; i++)
        scratch[i] = fabs(seconds[i] - middle);
    double distance = cc_stats_of(scratch, samples).median;
    return (struct cc_estimate){middle, MEDIAN_OF_MEAN * DEVIATION_OF_DISTANCE * distance /
                                            sqrt(fmax(1, (double)samples))};
}

size_t cc_calibrate_sizes(double bw_bps, double latency_s, double burst_bytes,
                          size_t bytes[CC_CALIBRATE_MOST])
{
    size_t n = 0;
    double most_s = fmax(0.1, 32 * latency_s);
    double most = fmin(fmax(50 * burst_bytes, most_s * bw_bps / 8), 1 << 30);
    double from = burst_bytes > 0 ? CC_CALIBRATE_BURSTS * burst_bytes : most / 256;
    for (size_t b = 1; (double)b < fmin(from, most); b *= 4)
        bytes[n++] = b;
    /* Spaced from the largest downwards, so that the largest is exact. */
    int halves = (int)floor(2 * log2(most / from));
    for (int k = halves; k >= 0; k--)
        bytes[n++] = (size_t)ceil(most * exp2(-0.5 * k));
    return n;
}

/* --- points --- */

struct points {
    double *bytes, *seconds, *weight;
    size_t count;
    struct cc_estimate latency; /* small messages' */
};

/* Represents a size by its lower quartile: other work on the machine delays large messages and
 * never speeds them up. With both cores of a machine busy, medians were off by 3%, lower quartiles
 * by 1%. */
static double lower_quartile(const struct cc_ping *p, double *scratch)
{
    memcpy(scratch, p->seconds, p->samples * sizeof *scratch);
    (void)cc_stats_of(scratch, p->samples); /* sorts */
    return scratch[p->samples / 4];
}

/* Estimates the latency: the median of all samples of small messages together. */
static int estimate_latency(const struct cc_ping *ping, size_t sizes, double *all, double *scratch,
                            struct cc_estimate *out, struct cc_error *e)
{
    size_t n = 0;
    for (size_t i = 0; i < sizes && ping[i].bytes <= CC_CALIBRATE_SMALL; i++) {
        memcpy(all + n, ping[i].seconds, ping[i].samples * sizeof *all);
        n += ping[i].samples;
    }
    if (n == 0)
        return cc_fail(e, "no messages of up to %d bytes, which tell the latency",
                       CC_CALIBRATE_SMALL);
    *out = cc_calibrate_median(all, n, scratch);
    return CC_OK;
}

static int check(const struct cc_ping *ping, size_t sizes, size_t *samples, struct cc_error *e)
{
    *samples = 0;
    for (size_t i = 0; i < sizes; i++) {
        if (ping[i].samples == 0 || (i > 0 && !(ping[i].bytes > ping[i - 1].bytes)))
            return cc_fail(e, "messages of %g bytes: no samples, or not in ascending order",
                           ping[i].bytes);
        for (size_t k = 0; k < ping[i].samples; k++)
            if (!(ping[i].seconds[k] > 0) || !isfinite(ping[i].seconds[k]))
                return cc_fail(e, "a message of %g bytes took %g s", ping[i].bytes,
                               ping[i].seconds[k]);
        *samples += ping[i].samples;
    }
    return CC_OK;
}

/* p->bytes is to be freed also after a failure. */
static int make_points(const struct cc_ping *ping, size_t sizes, struct points *p,
                       struct cc_error *e)
{
    size_t samples;
    double *scratch;
    CC_TRY(check(ping, sizes, &samples, e));
    CC_TRY(CC_NEW(p->bytes, 3 * sizes, e));
    CC_TRY(CC_NEW(scratch, 2 * samples, e));
    p->seconds = p->bytes + sizes;
    p->weight = p->seconds + sizes;
    p->count = sizes;
    for (size_t i = 0; i < sizes; i++) {
        p->bytes[i] = ping[i].bytes;
        p->seconds[i] = lower_quartile(&ping[i], scratch);
        p->weight[i] = 1 / (p->seconds[i] * p->seconds[i]);
    }
    const int status = estimate_latency(ping, sizes, scratch, scratch + samples, &p->latency, e);
    free(scratch);
    return status;
}

/* --- the line --- */

struct line {
    double intercept, slope;
    double intercept_var, slope_var, rms;
};

/* Fits a line to all points from `first` on; relative distances count alike. */
static struct line fit(const struct points *p, size_t first)
{
    struct line l;
    double covariance, squares, n = (double)(p->count - first);
    gsl_error_handler_t *handler = gsl_set_error_handler_off();
    (void)gsl_fit_wlinear(p->bytes + first, 1, p->weight + first, 1, p->seconds + first, 1,
                          p->count - first, &l.intercept, &l.slope, &l.intercept_var, &covariance,
                          &l.slope_var, &squares);
    (void)gsl_set_error_handler(handler);
    /* GSL takes the weights as the errors' inverse variances; scale by the residuals' instead. */
    l.intercept_var *= squares / (n - 2);
    l.slope_var *= squares / (n - 2);
    l.rms = sqrt(squares / n);
    return l;
}

/* Estimates the bucket: the line's distance below the latency is the time that the bucket saves. */
static struct cc_estimate estimate_bucket(const struct points *p, const struct line *l)
{
    double short_by = p->latency.value - l->intercept;
    double sd = sqrt(l->intercept_var + p->latency.sd * p->latency.sd);
    return (struct cc_estimate){fmax(0, short_by) / l->slope, sd / l->slope};
}

/* Whether a bucket is more than noise: at least a frame, and three standard deviations. */
static bool significant(const struct cc_estimate *b)
{
    return b->value >= LEAST_BURST && b->value >= 3 * b->sd;
}

/* The first point that the line may be fitted to, given the bucket. */
static size_t first_usable(const struct points *p, double burst)
{
    size_t first = 0;
    while (first < p->count && (p->bytes[first] < CC_CALIBRATE_BURSTS * burst ||
                                p->seconds[first] < CC_CALIBRATE_BURSTS * p->latency.value))
        first++;
    return first;
}

static int too_few(const struct points *p, double burst, struct cc_error *e)
{
    return cc_fail(e,
                   "%d sizes of messages are needed that take %d times as long as the smallest "
                   "(%.3g us)%s%.0f%s; the largest measured has %.0f bytes and takes %.3g us",
                   FEWEST_SIZES, CC_CALIBRATE_BURSTS, 1e6 * p->latency.value,
                   burst > 0 ? " and are larger than " : ", from ", CC_CALIBRATE_BURSTS * burst,
                   burst > 0 ? " bytes, as a bucket lets the first of them pass" : " bytes on",
                   p->bytes[p->count - 1], 1e6 * p->seconds[p->count - 1]);
}

/* Fits line and bucket in turn, beginning with the larger half of the sizes, until the sizes that
 * the line is fitted to do not change. `given` < 0: the bucket is not known. */
static int fit_line_and_bucket(const struct points *p, double given, size_t *first, struct line *l,
                               struct cc_estimate *burst, struct cc_error *e)
{
    bool known = given >= 0;
    *burst = (struct cc_estimate){known ? given : 0, 0};
    size_t last = p->count > FEWEST_SIZES ? p->count - FEWEST_SIZES : 0,
           at = first_usable(p, burst->value);
    size_t upper = at + (p->count - at) / 2;
    *first = known || at > last ? at : upper < last ? upper : last;
    for (int i = 0; i < MOST_ROUNDS; i++) {
        if (*first > last || p->count < FEWEST_SIZES)
            return too_few(p, burst->value, e);
        *l = fit(p, *first);
        if (!(l->slope > 0))
            return cc_fail(e, "larger messages do not take longer: the link is not what is slow");
        if (known)
            return CC_OK;
        *burst = estimate_bucket(p, l);
        size_t next = first_usable(p, burst->value);
        if (next == *first)
            break;
        /* In later rounds the first size may only grow, so that the loop ends. */
        *first = i > MOST_ROUNDS / 2 && next < *first ? *first : next;
    }
    burst->value = significant(burst) ? burst->value : 0;
    return CC_OK;
}

int cc_calibrate(const struct cc_ping *ping, size_t sizes, double burst_bytes,
                 struct cc_calibration *out, struct cc_error *e)
{
    struct points p = {.bytes = NULL};
    struct line l;
    struct cc_estimate burst;
    size_t first;
    int status = CC_OK;
    CC_TRY_OUT(make_points(ping, sizes, &p, e));
    CC_TRY_OUT(fit_line_and_bucket(&p, burst_bytes, &first, &l, &burst, e));
    *out =
        (struct cc_calibration){.latency_s = p.latency,
                                .bw_bps = {8 / l.slope, 8 / l.slope * sqrt(l.slope_var) / l.slope},
                                .intercept_s = {l.intercept, sqrt(l.intercept_var)},
                                .burst_bytes = burst,
                                .from_bytes = p.bytes[first],
                                .sizes = p.count - first,
                                .rms = l.rms};
out:
    free(p.bytes);
    return status;
}

/* While one direction is busy, the other's bucket fills. A message of fewer bytes than two buckets
 * does not find it full: in the long run each direction carries one message in the time of two, and
 * no more than the rate. */
double cc_calibration_s(const struct cc_calibration *c, double bytes)
{
    double byte_s = 8 / c->bw_bps.value, alone = c->latency_s.value + bytes * byte_s;
    double full = alone - c->burst_bytes.value * byte_s;
    if (c->burst_bytes.value == 0)
        return alone;
    return fmax(c->latency_s.value, fmax(full, alone / 2));
}
