/* The limits that memory sets to the schemes of a bench: which patterns of bench/roofline.h their
 * calls have, and samples of these patterns taken between those of the codecs. */
#ifndef CC_BENCH_LIMITS_H
#define CC_BENCH_LIMITS_H

#include <stdbool.h>

#include "bench/calls.h"
#include "bench/roofline.h"

struct cc_limits;

/* Whether memory is the limit: at least nine tenths of the values are in tensors that are too large
 * for the cache. */
bool cc_limits_apply(const struct cc_trace *trace);

/* *out is NULL if memory is not the limit. There will be at most `most` samples. */
int cc_limits_open(const struct cc_bench_config *config, size_t most, struct cc_limits **out,
                   struct cc_error *e);
void cc_limits_free(struct cc_limits *l);

/* A cc_on_decoded, with the limits as its argument: notes which lines of the largest tensor are not
 * all zero. */
void cc_limits_on_decoded(void *limits, size_t tensor, const float *decoded);

/* Whether the next sample of the scheme needs cc_limits_on_decoded: the first one does, and all if
 * its limits depend on the lines. */
bool cc_limits_wants_decoded(const struct cc_limits *l, size_t scheme);

/* Takes sample number `sample` of the scheme's limits; the first call finds the patterns. `bytes`:
 * the payload of a step. */
int cc_limits_sample(struct cc_limits *l, size_t scheme, double bytes, size_t sample,
                     struct cc_error *e);

/* Begins a round of samples: schemes with the same pattern share one sample per round. */
void cc_limits_round(struct cc_limits *l);

/* GB/s of float32, the median of the first `samples`; 0: memory is not the limit. */
double cc_limits_of(struct cc_limits *l, size_t scheme, enum cc_call call, size_t samples);

#endif
