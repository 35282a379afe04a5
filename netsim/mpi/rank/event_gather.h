/* Moments of all ranks, told by rank 0. */
#ifndef CC_NETSIM_MPI_RANK_EVENT_GATHER_H
#define CC_NETSIM_MPI_RANK_EVENT_GATHER_H

#include "netsim/mpi/rank/rank.h"

/* Prepares *m if the job asks for moments; returns what the loop's station is to get: m, or NULL.
 */
struct cc_event_log *cc_event_gather_open(const struct cc_rank *r, size_t row,
                                          struct cc_event_log *m);
/* Reports them, of one rank after the other, so that rank 0 has no more than one other's at a time.
 * Nothing if the job does not ask for any. */
int cc_event_gather(struct cc_rank *r, size_t row, const struct cc_rank_loop *l,
                    struct cc_error *e);

#endif
