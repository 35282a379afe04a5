/* Between the steps of a training its ranks evaluate it, write and read checkpoints, and capture
 * gradients. All of it is collective, and takes no time of the training. */
#ifndef CC_NETSIM_RANK_TRAINING_H
#define CC_NETSIM_RANK_TRAINING_H

#include "netsim/inprocess/training_log.h"
#include "netsim/rank/rank.h"

/* Adds the figures of the row's latest steps to the log, which rank 0 has; the others' is zeros.
 * Evaluates the training and reports it, after steps where that is due. */
int cc_rank_train_interval(struct cc_rank *r, struct cc_rank_loop *l,
                           const struct cc_report_row *figures, struct cc_training_log *log,
                           struct cc_error *e);

/* Writes the checkpoint after the row's latest steps, if it is due. */
int cc_rank_save(struct cc_rank *r, const struct cc_rank_loop *l, struct cc_training_log *log,
                 struct cc_error *e);
/* Continues from the checkpoint of a job that is resumed. Call it before the row's steps. */
int cc_rank_restore(struct cc_rank *r, const struct cc_rank_loop *l, struct cc_training_log *log,
                    struct cc_error *e);

/* Writes the gradients of a step that has ended, where the job asks for them. */
int cc_rank_capture(struct cc_rank *r, const struct cc_rank_loop *l, size_t step,
                    struct cc_error *e);

/* Puts n values that the servers have together on rank 0: each server has its own, and 0 where the
 * others have theirs. out has room for n values on rank 0; the others' is not
 * used. */
int cc_rank_gather_servers(struct cc_rank *r, const float *own, size_t n, float *out,
                           struct cc_error *e);

/* Puts the main parameters of all workers' shards, and with_state the optimizer's state, on rank 0,
 * into flat arrays (cc_shard_get); the others' are not used. */
int cc_rank_gather_shards(struct cc_rank *r, const struct cc_job_row *row,
                          const struct cc_shard *own, bool with_state, float *weights, float *state,
                          struct cc_error *e);

/* Where parameters are divided: gathers those of the next step outside of a step, after the row's
 * latest one (cc_source_copy). */
int cc_rank_gather_copy(struct cc_rank_loop *l, struct cc_error *e);

#endif
