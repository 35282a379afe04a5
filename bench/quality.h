/* Sizes and errors: each scheme over the whole trace, with residuals kept from step to step.
 *
 * Schemes are measured one after the other, so that an interrupt keeps those that are complete.
 * Within a scheme, tensors are measured one after the other with only one tensor's state and sums
 * alive: memory for a few copies of the largest tensor suffices for any trace. */
#ifndef CC_BENCH_QUALITY_H
#define CC_BENCH_QUALITY_H

#include "bench/config.h"

/* The last pass of one tensor (or, added up, of several) under one scheme. g is the gradient, y the
 * decoded payload. */
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

/* Fills in out[s * tensors + t], where scheme s is run over the trace passes[s] times and the last
 * pass counts. A scheme that fails is left out, with the reason in config->failed. *done is the
 * number of complete schemes: fewer than all after an interrupt. */
int cc_quality_measure(const struct cc_bench_config *config, const size_t *passes,
                       struct cc_quality *out, size_t *done, struct cc_error *e);

/* *passes: how many passes a scheme needs until its residuals have settled, at most `most`. They
 * have settled when over five passes the payload lies within 1%, and the squared error within 5%,
 * of the five passes before. 1 for a scheme without state. */
int cc_quality_settle(const struct cc_bench_config *config, size_t scheme, size_t most,
                      size_t *passes, struct cc_error *e);

#endif
