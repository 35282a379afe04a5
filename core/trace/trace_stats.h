/* What the values of a trace look like. */
#ifndef CC_CORE_TRACE_TRACE_STATS_H
#define CC_CORE_TRACE_TRACE_STATS_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/trace/trace.h"

/* Of one tensor, over all steps. */
struct cc_tensor_stats {
    uint64_t values, zeros, not_finite; /* values: all, finite or not */
    float max_abs;                      /* of the finite values; 0 without any */
    double rms;                         /* of the finite values; NaN without any */
};

/* Reads a whole stream, each step once and front to back; out has room for all its tensors. Keeps
 * one step mapped at a time. Before each step it calls `progress`, if not NULL, with the part that
 * is done, in [0, 1). Ctrl-C ends it with an error. */
int cc_trace_stats(struct cc_trace *t, size_t stream, void (*progress)(void *context, double done),
                   void *context, struct cc_tensor_stats *out, struct cc_error *e);

#endif
