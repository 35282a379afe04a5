/* A worker's step with local steps that overlap with the exchange before them. */
#ifndef CC_NETSIM_RANK_STEP_LOCAL_H
#define CC_NETSIM_RANK_STEP_LOCAL_H

#include "netsim/rank/loop_state.h"

/* The job's training has local steps and its mode is CC_OVERLAP. */
int cc_step_local(struct cc_rank_loop *l, size_t step, struct cc_error *e);

#endif
