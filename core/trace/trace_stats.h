/* Statistics of the values of a trace. */
#ifndef CC_CORE_TRACE_TRACE_STATS_H
#define CC_CORE_TRACE_TRACE_STATS_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/trace/trace.h"

/* Statistics of one tensor over all steps. */
struct cc_tensor_stats {
    uint64_t values, zeros, not_finite; /* counts; values includes those not finite */
    float max_abs;                      /* the largest of the finite values; 0 without any */
    double rms;                         /* that of the finite values; NaN without any */
};

/* Computes the statistics of a stream; out has one entry for each tensor. Reads each step once, in
 * order. Calls `progress`, if not NULL, before each step with the part that is done, in [0, 1). An
 * interrupt is an error. */
int cc_trace_stats(struct cc_trace *t, size_t stream, void (*progress)(void *context, double done),
                   void *context, struct cc_tensor_stats *out, struct cc_error *e);

#endif
