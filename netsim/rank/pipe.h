/* The steps of a pipeline. */
#ifndef CC_NETSIM_RANK_PIPE_H
#define CC_NETSIM_RANK_PIPE_H

#include "netsim/rank/loop_state.h"

/* The number of steps under way: Pipe-SGD's K. */
size_t cc_pipe_depth(const struct cc_job *job);

/* One step of a worker. The last one of a training ends when everything is applied. */
int cc_pipe_step(struct cc_rank_loop *l, size_t step, struct cc_error *e);

/* Ends the exchanges under way before a training is evaluated after `step`, and applies what is due
 * by then. The clock stands still meanwhile: the next step waits for as long as it took here. */
int cc_pipe_pause(struct cc_rank_loop *l, size_t step, struct cc_error *e);

#endif
