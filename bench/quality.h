/* How small and how wrong: each scheme over the whole trace, residuals carried from step to step.
 *
 * Scheme by scheme, so that an interrupt keeps those that are complete, and tensor by tensor, so
 * that only one tensor's state and sums are alive: a trace larger than memory needs no more than a
 * few times its largest tensor. */
#ifndef CC_BENCH_QUALITY_H
#define CC_BENCH_QUALITY_H

#include "bench/config.h"

/* Of one tensor under one scheme, over the last pass. */
struct cc_quality {
    size_t values, steps;
    uint64_t payload_bytes;     /* of all steps */
    double error_sq, raw_sq;    /* sums over steps and values of (y - g)^2 and g^2 */
    double output_sq, dot;      /* of y^2 and y g */
    double max_error;           /* max |y - g| */
    double cumulative_error_sq; /* of (sum over steps of (y - g))^2 */
    double cumulative_raw_sq;   /* of (sum over steps of g)^2 */
};

/* Adds b, another tensor of the same scheme, to a. */
void cc_quality_add(struct cc_quality *a, const struct cc_quality *b);

/* passes[s]: how often scheme s goes through the trace; the last pass counts. Fills
 * out[s * tensors + t], except for schemes that fail: plan->failed says why. *done counts the
 * schemes that are complete: fewer than all after an interrupt. */
int cc_quality_measure(const struct cc_bench_config *p, const size_t *passes,
                       struct cc_quality *out, size_t *done, struct cc_error *e);

/* How many passes the scheme takes until its residuals have settled: until over five passes the
 * payload lies within 1%, and the squared error within 5%, of what they were over the five passes
 * before; at most `most`. 1 for a scheme without state. */
int cc_quality_settle(const struct cc_bench_config *p, size_t scheme, size_t most, size_t *passes,
                      struct cc_error *e);

#endif
