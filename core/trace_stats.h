/* What the values of a trace look like. */
#ifndef CC_CORE_TRACE_STATS_H
#define CC_CORE_TRACE_STATS_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/trace.h"

/* Of the finite values of one tensor, over all steps. */
struct cc_tensor_stats {
    uint64_t values, zeros, not_finite;
    float min, max; /* 0 without values */
    double rms;
    double
        peak; /* max|x| / rms of a step, mean over the steps that are not all zero; 0 if all are */
};

/* Reads a whole stream; out has room for all its tensors. Keeps one step mapped at a time. */
int cc_trace_stats(struct cc_trace *t, size_t stream, struct cc_tensor_stats *out,
                   struct cc_error *e);

#endif
