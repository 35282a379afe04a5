/* A replay's source of gradients: steps of a trace, or drawn from a distribution, in memory before
 * any clock runs; and the model that what comes back is applied to. */
#ifndef CC_NETSIM_MPI_RANK_REPLAY_H
#define CC_NETSIM_MPI_RANK_REPLAY_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "netsim/job/job.h"

struct cc_replay;

/* How many different steps fit into so many bytes: one at least, the job's trace_steps at most. */
size_t cc_replay_fit(const struct cc_job *job, size_t bytes);

/* A worker's own stream: of a trace, that of its rank, or of its rank modulo the streams that there
 * are. `steps` different ones, used in turn; of a trace, not more than it has. Servers, and all
 * in a job without data, have none: worker -1 gives a source without gradients and without a model.
 */
int cc_replay_open(const struct cc_job *job, int worker, size_t steps, struct cc_replay **out,
                   struct cc_error *e);
void cc_replay_close(struct cc_replay *r);

/* A flat step. */
const float *cc_replay_gradient(const struct cc_replay *r, uint64_t step);
/* A flat step, on which everything that came back since the last reset adds up. */
float *cc_replay_model(struct cc_replay *r);
void cc_replay_reset(struct cc_replay *r);

#endif
