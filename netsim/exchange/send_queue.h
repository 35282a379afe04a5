/* The messages on their way from one rank to another leave in order: at most two are under way at a
 * time, or more while they are CC_QUEUE_BYTES together at most; the others wait.
 *
 * Overlapped steps hand many messages to MPI at once. If all were under way, they would share the
 * connection, and the first would arrive hardly before the last: a simulated network shares links
 * among all flows, and MPI's rendezvous protocol sends the ends of large messages after all that
 * was posted later. Two, so that the next one is on its way while the end of one is noticed. */
#ifndef CC_NETSIM_EXCHANGE_SEND_QUEUE_H
#define CC_NETSIM_EXCHANGE_SEND_QUEUE_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "netsim/exchange/rank_state.h"

/* One message. It must stay in place until it is complete. */
struct cc_send {
    struct cc_requests *requests;
    size_t request; /* becomes that of the send once this begins */
    struct cc_parcel parcel;
    struct cc_send *next; /* waits for the same peer */
};

/* The messages to one peer. All zeros: none. */
struct cc_send_queue {
    struct cc_send *first, *last; /* waiting */
    size_t count, bytes;          /* under way */
};

/* Sends a message, now or when it may. */
int cc_send_queue_add(struct cc_send_queue *q, struct cc_rank_state *s, struct cc_send *m,
                      struct cc_error *e);
/* A message that was under way is complete: sends those that may leave now. */
int cc_send_queue_done(struct cc_send_queue *q, struct cc_rank_state *s, const struct cc_send *m,
                       struct cc_error *e);

#endif
