/* Runs the source's work while messages make progress, and charges its time.
 *
 * Emulated computing is time that passes on the rank's clock. l->clock is when the work asked for
 * so far is complete; it advances by exactly the emulated seconds, so that a rank that was late
 * with one part catches up in the next. Real computing is done in the calls to the source: l->clock
 * follows the rank's clock. */
#ifndef CC_NETSIM_RANK_COMPUTING_H
#define CC_NETSIM_RANK_COMPUTING_H

#include "netsim/rank/loop.h"

/* Computes a part of `step` (cc_source_compute), from l->clock on, beside messages under way. */
int cc_compute(struct cc_rank_loop *l, size_t step, enum cc_compute_part part,
               const struct cc_message *m, struct cc_error *e);

/* Computes the micro-steps of a step before the last one, in which nothing is exchanged. */
int cc_compute_micro_steps(struct cc_rank_loop *l, size_t step, struct cc_error *e);

/* Computes all of `step` except for the part of it that the job hides behind the exchange:
 * *hidden seconds, to be spent by cc_compute_hidden. */
int cc_compute_visible(struct cc_rank_loop *l, size_t step, double *hidden, struct cc_error *e);
/* Spends what the exchange was too short to hide. It took `waited` seconds of waiting, which were
 * computing in part, and ended at `since`. */
int cc_compute_hidden(struct cc_rank_loop *l, double hidden, double waited, double since,
                      struct cc_error *e);

/* Updates the model by the result of `step` (cc_source_apply), from l->clock on. */
int cc_apply(struct cc_rank_loop *l, int64_t step, const struct cc_message *m, struct cc_error *e);

/* Applies the result of step `applied` and ends that step, unless it is negative; then computes all
 * of `computed`. Begins now, and shares the processor with codecs: emulated computing pauses while
 * one works. */
int cc_apply_and_compute(struct cc_rank_loop *l, int64_t applied, size_t computed,
                         struct cc_error *e);

#endif
