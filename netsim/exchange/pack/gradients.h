/* A job's gradients, loaded step by step: from a trace, or drawn from a distribution. */
#ifndef CC_NETSIM_EXCHANGE_PACK_GRADIENTS_H
#define CC_NETSIM_EXCHANGE_PACK_GRADIENTS_H

#include <stddef.h>

#include "core/error.h"
#include "core/trace/trace.h"
#include "netsim/job/job.h"

struct cc_gradients;

/* `trace`: the job's, if the caller has it open; it is borrowed then. NULL: opens the trace that
 * the job names, or draws from the job's distribution. Job and trace must outlive the gradients. A
 * trace without pushes, or with other tensors than the job's, is an error. */
int cc_gradients_open(const struct cc_job *job, struct cc_trace *trace, struct cc_gradients **out,
                      struct cc_error *e);
/* The same for pieces of the job's tensors: `part` is a job whose tensor i has no more values than
 * tensor origin[i] of the whole job. Of captured gradients a piece has the first values; drawn ones
 * are drawn for its shape, with the mean square of the whole tensor. All must outlive the
 * gradients.
 */
int cc_gradients_open_part(const struct cc_job *whole, const struct cc_job *part,
                           const size_t *origin, struct cc_trace *trace, struct cc_gradients **out,
                           struct cc_error *e);
/* The number of different steps that a worker has: the job's trace_steps, or as many as its stream
 * of the trace has if those are fewer. */
size_t cc_gradients_steps(const struct cc_gradients *g, int worker);
/* Loads a step into out[cc_job_values(job)]. A worker's stream is that of its rank modulo the
 * number of workers' streams in the trace. Values that are not finite are an error. step <
 * cc_gradients_steps. */
int cc_gradients_load(struct cc_gradients *g, int worker, size_t step, float *out,
                      struct cc_error *e);
void cc_gradients_close(struct cc_gradients *g); /* NULL is allowed */

#endif
