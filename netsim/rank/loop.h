/* The rank's loop: the steps of one row, one after the other. */
#ifndef CC_NETSIM_RANK_LOOP_H
#define CC_NETSIM_RANK_LOOP_H

#include "netsim/rank/loop_state.h"

/* Opens the row's messages on the ranks of comm: workers, then servers. `sizes` is the row's index
 * in jobs without data, else NULL. It and `source` must outlive the loop. Close the loop also after
 * an error. */
int cc_rank_loop_open(struct cc_rank_loop *l, MPI_Comm comm, const struct cc_job *job,
                      const struct cc_job_row *row, const struct cc_size_index *sizes,
                      struct cc_source *source, struct cc_error *e);
/* Passes a barrier, then runs all steps; the results are in l->start, l->end and l->s.counters.
 * Sequential steps run in lockstep, as the formulas assume: no rank begins one before all have
 * ended the last. In the other modes a step starts on each rank where its last one ended. */
int cc_rank_loop_run(struct cc_rank_loop *l, struct cc_error *e);
void cc_rank_loop_close(struct cc_rank_loop *l);

#endif
