/* Timing calls of an exchange, one by one: the rows of a job with `calls`. */
#ifndef CC_NETSIM_RANK_CALLS_H
#define CC_NETSIM_RANK_CALLS_H

#include "netsim/rank/context.h"
#include "netsim/rank/loop.h"

/* Runs the row that *l has open, and reports it. Collective. */
int cc_rank_calls(struct cc_rank *r, size_t row, struct cc_rank_loop *l, struct cc_error *e);

#endif
