/* Payload sizes of schemes whose payloads change while residuals fill: what a long training sends,
 * and not the first steps. A scheme runs over the steps again and again, with its state kept. */
#ifndef CC_BENCH_SETTLE_H
#define CC_BENCH_SETTLE_H

#include "bench/sample.h"

/* When to give up. 0: no limit. */
struct cc_settle_limits {
    size_t passes;
    double seconds;
};

struct cc_settled {
    size_t passes; /* needed; 1 for a scheme without a state */
    size_t steps;  /* encoded */
    bool settled;  /* false: given up before sizes had settled */
    bool unknown;  /* a given number of passes over a scheme with a state: not asked */
};

/* Encodes passes of cc_bench_steps steps until sizes have settled: until the bytes of
 * CC_SETTLE_STEPS steps or more, in whole passes, lie within 1% of those of as many steps before.
 * Sets bytes[i] to the mean payload of piece i per step, over these last steps; of a scheme without
 * a state, over one pass. The codecs of *set, which is empty at first, are left as they are after
 * the last pass, whatever the status; item i is that of piece i. After an interrupt, the results
 * mean nothing. */
int cc_settle_sizes(const struct cc_bench_config *config, size_t scheme, struct cc_sample *sample,
                    const struct cc_settle_limits *limits, struct cc_codec_set *set, double *bytes,
                    struct cc_settled *out, struct cc_error *e);

#define CC_SETTLE_STEPS      40
#define CC_SETTLE_STEPS_TEXT "40" /* the same */

#endif
