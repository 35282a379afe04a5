/* Sizes and errors: each scheme over the whole trace, with residuals kept from step to step.
 *
 * Schemes are measured one after the other, so that an interrupt keeps those that are complete.
 * Where the number of passes is given, tensors are measured one after the other with only one
 * tensor's state and sums alive: memory for a few copies of the largest tensor suffices for any
 * trace. Until sizes have settled, the states of all tensors are. */
#ifndef CC_BENCH_QUALITY_H
#define CC_BENCH_QUALITY_H

#include "bench/compare.h"
#include "bench/settle.h"

/* One tensor (or, added up, several) under one scheme in a pass. g is the gradient, y the decoded
 * payload. */
struct cc_quality {
    size_t values, steps;
    uint64_t payload_bytes;     /* for all steps; settled: as many steps times the settled mean */
    struct cc_compared sums;    /* over steps and values */
    double cumulative_error_sq; /* sum of (sum over steps of (y - g))^2 */
    double cumulative_raw_sq;   /* sum of (sum over steps of g)^2 */
    double entropy_bits;        /* cc_entropy_bits over all steps; NAN without a model */
};

/* Adds b, another tensor of the same scheme, to a. */
void cc_quality_add(struct cc_quality *a, const struct cc_quality *b);

struct cc_quality_plan {
    size_t passes; /* through the trace, of which the last counts; 0: until sizes have settled; one
                      more pass then gives the errors */
    struct cc_settle_limits settle; /* for each scheme, without passes */
};

/* Fills in out[s * tensors + t] and settled[s], whose passes are all of them. A scheme that fails
 * is left out, with the reason in config->failed. *done is the number of complete schemes: fewer
 * than all after an interrupt. */
int cc_quality_measure(const struct cc_bench_config *config, const struct cc_quality_plan *plan,
                       struct cc_quality *out, struct cc_settled *settled, size_t *done,
                       struct cc_error *e);

#endif
