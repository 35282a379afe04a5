/* Gathers the event logs of all ranks on rank 0, which reports them. */
#ifndef CC_NETSIM_RANK_EVENT_GATHER_H
#define CC_NETSIM_RANK_EVENT_GATHER_H

#include "netsim/rank/context.h"
#include "netsim/rank/loop.h"

/* Prepares *m and returns it if the job asks for events; otherwise returns NULL. */
struct cc_event_log *cc_event_gather_open(const struct cc_rank *r, size_t row,
                                          struct cc_event_log *m);
/* Reports the row's events, rank by rank, so that rank 0 has those of one other rank at a time.
 * Does nothing if the job asks for none. */
int cc_event_gather(struct cc_rank *r, size_t row, const struct cc_rank_loop *l,
                    struct cc_error *e);

#endif
