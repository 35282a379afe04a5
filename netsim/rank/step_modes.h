/* The order of a step's parts: computing, exchanging and updating. */
#ifndef CC_NETSIM_RANK_STEP_MODES_H
#define CC_NETSIM_RANK_STEP_MODES_H

#include "netsim/rank/loop_state.h"

/* One step of a worker, in the job's mode, or of a server. */
int cc_step_run(struct cc_rank_loop *l, size_t step, struct cc_error *e);

/* Completes the exchanges that a pipe has under way after its last step. */
int cc_step_drain(struct cc_rank_loop *l, struct cc_error *e);

#endif
