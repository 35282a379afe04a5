/* The sum of gradients that local and powersgd work on. */
#ifndef CC_SCHEMES_ACCUMULATE_H
#define CC_SCHEMES_ACCUMULATE_H

#include "schemes/scheme.h"

/* sum += x, n values of which the first has index `start` in the tensor that ctx describes. Refuses
 * values that are not finite, or make a sum that is not; `sum` is then unspecified. */
int cc_accumulate(const struct cc_context *ctx, size_t start, const float *x, float *sum, size_t n,
                  int threads, struct cc_error *e);

#endif
