/* Adding a gradient to a running sum (the state of local, the residual of powersgd), refusing
 * values and sums that are not finite. */
#ifndef CC_SCHEMES_ACCUMULATE_H
#define CC_SCHEMES_ACCUMULATE_H

#include "schemes/scheme.h"

/* sum += x over n values, in blocks, up to the first block in which a value or a sum is not finite.
 * Returns where that block begins, or n. That block and all after it are unchanged. */
size_t cc_accumulate(const float *x, float *sum, size_t n);

/* The same over the whole tensor by up to `threads` threads. A value or sum that is not finite is
 * refused (cc_refuse); sum is then unspecified. */
int cc_accumulate_all(const struct cc_context *ctx, const float *x, float *sum, size_t n,
                      int threads, struct cc_error *e);

/* CC_FAIL with a message about the value that stopped cc_accumulate, or another check of x + sum,
 * in the block from value i on; sum may be NULL, as for cc_refuse. */
int cc_accumulate_refuse(const struct cc_context *ctx, const float *x, const float *sum, size_t i,
                         size_t n, struct cc_error *e);

#endif
