/* Steps: the order of their parts, which are computing, exchanging and updating. */
#ifndef CC_NETSIM_RANK_STEP_MODES_H
#define CC_NETSIM_RANK_STEP_MODES_H

#include "netsim/rank/loop.h"

/* Scales the mean gradients of all ranks by the norm of all parts, where the job clips them; a
 * training whose parameters are divided, before its update (shards.c). */
int cc_rank_clip_shards(struct cc_rank_loop *l, struct cc_error *e);

/* One step of a worker, in the job's mode, or of a server. */
int cc_step_run(struct cc_rank_loop *l, size_t step, struct cc_error *e);

/* Completes the exchanges that a pipe has under way after its last step. */
int cc_step_drain(struct cc_rank_loop *l, struct cc_error *e);

/* --- a pipeline's (pipe.c) --- */

/* The number of steps under way: Pipe-SGD's K. */
size_t cc_pipe_depth(const struct cc_job *job);

/* One step of a worker. The last one of a training ends when everything is applied. */
int cc_pipe_step(struct cc_rank_loop *l, size_t step, struct cc_error *e);

/* Ends the exchanges under way before a training is evaluated after `step`, and applies what is due
 * by then. The clock stands still meanwhile: the next step waits for as long as it took here. */
int cc_pipe_pause(struct cc_rank_loop *l, size_t step, struct cc_error *e);

#endif
