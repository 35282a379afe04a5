/* The sum of gradients that local and powersgd work on. */
#ifndef CC_SCHEMES_ACCUMULATE_H
#define CC_SCHEMES_ACCUMULATE_H

#include "schemes/scheme.h"

/* sum += x, n values, up to the first piece in which a value, or a sum, is not finite: returns
 * where that piece begins, or n. The piece and what follows are as they were. */
size_t cc_accumulate(const float *x, float *sum, size_t n);

/* The same by several threads. A value or sum that is not finite is refused (cc_refuse). */
int cc_accumulate_all(const struct cc_context *ctx, const float *x, float *sum, size_t n,
                      int threads, struct cc_error *e);

/* Refuses what stopped cc_accumulate at value i of the n; sum may be NULL, as for cc_refuse. */
int cc_accumulate_refuse(const struct cc_context *ctx, const float *x, const float *sum, size_t i,
                         size_t n, struct cc_error *e);

#endif
