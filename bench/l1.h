/* The limit that its own instructions set to a codec: the speed of the same calls where data stay
 * in the first-level cache, without the cost of the call itself.
 *
 * Tensors of SHORT and of LONG values are timed in each call, directly one after the other, and the
 * difference is what LONG - SHORT values take. Both sizes leave the same remainder in the blocks
 * that kernels work on, and the longer tensor, its residual and its payload fit into 32 KiB (with
 * dgc's momentum they do not). Its values are the first ones of the trace's largest tensor; they
 * begin elsewhere in each call, so that residuals and branches do not meet the same values again
 * and again. */
#ifndef CC_BENCH_L1_H
#define CC_BENCH_L1_H

#include "bench/calls.h"

struct cc_l1;

/* *out is NULL if the trace's largest tensor is too small for it, or if there are several threads.
 * There will be at most `most` samples. */
int cc_l1_open(const struct cc_bench_config *config, size_t largest, size_t most,
               struct cc_l1 **out, struct cc_error *e);
void cc_l1_free(struct cc_l1 *l); /* NULL is allowed */

/* Takes sample number `sample` of each call of the scheme, and of the clock. */
void cc_l1_sample(struct cc_l1 *l, size_t scheme, size_t sample);

/* GB/s of float32, from the median of the first `samples`; 0: not known, as of a scheme that sends
 * in some steps only or treats matrices in another way than vectors, or of a call that takes less
 * than can be measured. */
double cc_l1_speed(struct cc_l1 *l, size_t scheme, enum cc_call call, size_t samples);

/* The processor's clock in GHz beside these samples: cycles of a value are 4 x GHz / (GB/s). */
double cc_l1_clock(struct cc_l1 *l, size_t scheme, size_t samples);

#endif
