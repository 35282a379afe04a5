/* Where a job's gradients come from: the steps of a trace, or drawn from a distribution. */
#ifndef CC_NETSIM_MESSAGE_GRADIENTS_H
#define CC_NETSIM_MESSAGE_GRADIENTS_H

#include <stddef.h>

#include "core/error.h"
#include "netsim/job/job.h"

struct cc_gradients;

/* From the job's trace, or drawn from its distribution. Refuses traces without pushes, or with
 * other tensors than the job's. The job must outlive them. */
int cc_gradients_open_trace(const struct cc_job *job, struct cc_gradients **out,
                            struct cc_error *e);
int cc_gradients_open_synthetic(const struct cc_job *job, struct cc_gradients **out,
                                struct cc_error *e);
/* From the trace, if the job names one. */
int cc_gradients_open(const struct cc_job *job, struct cc_gradients **out, struct cc_error *e);
/* How many different steps a worker has: the job's trace_steps; of a trace, not more than it has.
 */
size_t cc_gradients_steps(const struct cc_gradients *g, int worker);
/* A flat step of the worker's own stream: of a trace, that of its rank, or of its rank modulo the
 * streams that there are. */
int cc_gradients_load(struct cc_gradients *g, int worker, size_t step, float *out,
                      struct cc_error *e);
void cc_gradients_close(struct cc_gradients *g);

#endif
