/* Properties of a trace that tell whether its figures can be believed, and statistics of its
 * values. */
#ifndef CC_CORE_TRACE_TRACE_CHECK_H
#define CC_CORE_TRACE_TRACE_CHECK_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/trace/trace.h"

/* Removes every step in which a value of any sender is not finite, as training skips a step whose
 * scaled loss overflows: the trace then has the others only, of all streams, under their numbers.
 * Reads all values. Fails if a stream would be left without steps. */
int cc_trace_skip_nonfinite(struct cc_trace *t, struct cc_error *e);

/* The same for the steps of these numbers, of a trace that has all its steps: what
 * cc_trace_skip_nonfinite found elsewhere (cc_trace_skipped). */
int cc_trace_skip(struct cc_trace *t, const uint64_t *numbers, size_t count, struct cc_error *e);

/* cc_trace_load, but a value that is NaN or infinite is an error that names the trace, the stream,
 * the step, the tensor and the index. */
int cc_trace_load_finite(struct cc_trace *t, size_t stream, size_t step, size_t tensor, float *x,
                         struct cc_error *e);

/* Sets *same to the number of streams of pushes whose values are bit for bit those of the first:
 * all the others, if gradients were captured after they were averaged over the workers. Compares up
 * to 4,096 values of each tensor, of the first step that two streams both have; zeros tell nothing.
 */
int cc_trace_same_pushes(struct cc_trace *t, size_t *same, struct cc_error *e);

/* Statistics of one tensor over all steps. */
struct cc_tensor_stats {
    uint64_t values, zeros, not_finite; /* counts; values includes those not finite */
    float max_abs;                      /* the largest of the finite values; 0 without any */
    double rms;                         /* root mean square of the finite values; NaN without any */
};

/* Computes the statistics of a stream; out has one entry for each tensor. Reads each step once, in
 * order. Calls `progress`, if not NULL, before each step with the part that is done, in [0, 1). An
 * interrupt is an error. */
int cc_trace_stats(struct cc_trace *t, size_t stream, void (*progress)(void *context, double done),
                   void *context, struct cc_tensor_stats *out, struct cc_error *e);

#endif
