/* The limits of the schemes of a run: which patterns of bench/roofline.h they have. */
#ifndef CC_BENCH_LIMITS_H
#define CC_BENCH_LIMITS_H

#include <stdbool.h>

#include "bench/calls.h"
#include "bench/roofline.h"

/* What one scheme's payload was like when it was last looked at. */
struct cc_limits;

/* *out is NULL if memory is not what limits the plan: tensors that are too large for the cache have
 * less than nine tenths of its values. `most` samples. */
int cc_limits_open(const struct cc_bench_config *p, size_t most, struct cc_limits **out,
                   struct cc_error *e);
void cc_limits_free(struct cc_limits *l);

/* For cc_calls_group: notes which lines of the largest tensor are not all zero. */
void cc_limits_on_decoded(void *limits, size_t tensor, const float *decoded);

/* Whether this sample of the scheme needs that: the first one, and all if its limits depend on it.
 */
bool cc_limits_wants_decoded(const struct cc_limits *l, size_t scheme);

/* Sample number `sample` of the scheme's limits; its first call finds the patterns. `bytes`: the
 * payload of a step. */
int cc_limits_sample(struct cc_limits *l, size_t scheme, double bytes, size_t sample,
                     struct cc_error *e);
void cc_limits_round(struct cc_limits *l);

/* GB/s of float32; 0: memory is not what limits. */
double cc_limits_of(struct cc_limits *l, size_t scheme, enum cc_call call, size_t samples);

#endif
