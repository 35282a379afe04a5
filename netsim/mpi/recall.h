/* Moments of all ranks, told by rank 0. */
#ifndef CC_NETSIM_MPI_RECALL_H
#define CC_NETSIM_MPI_RECALL_H

#include "netsim/mpi/rank.h"

/* Prepares *m if the job asks for moments; returns what the loop's station is to get: m, or NULL.
 */
struct cc_moments *cc_recall_open(const struct cc_rank *r, size_t row, struct cc_moments *m);
/* Reports them, of one rank after the other, so that rank 0 has no more than one other's at a time.
 * Nothing if the job does not ask for any. */
int cc_recall(struct cc_rank *r, size_t row, const struct cc_loop *l, struct cc_error *e);

#endif
