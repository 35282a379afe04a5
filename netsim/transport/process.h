/* The transport of ranks that are all in one process, which drives one after the other by polling,
 * without threads. Messages are not copied unless the receiver has a buffer for them: it is lent
 * the sender's bytes. Work is timed by the wall clock, as to read the processor's would take
 * longer than small messages do, and from the end of the work before: the driving between counts as
 * part of it.
 *
 * Without links a message arrives when both sides have begun it. With links the ranks' clock is
 * simulated, and messages arrive in the order of its time (cc_process_next). For its sender a
 * message is over at once; the sender keeps the bytes as they are until it has arrived, unless it
 * is only a head. Work takes no time then. */
#ifndef CC_NETSIM_TRANSPORT_PROCESS_H
#define CC_NETSIM_TRANSPORT_PROCESS_H

#include "core/events.h"
#include "netsim/transport/transport.h"

/* Each rank has a port in and one out, which serve one message after the other, in the order in
 * which they leave: a message of n bytes, without its head, occupies both for (n + message_bytes)
 * byte_s, and arrives latency_s later. Without a network all are 0. */
struct cc_process_links {
    double byte_s, message_bytes, latency_s;
};

struct cc_process_end;
struct cc_process_message;

struct cc_process {
    struct cc_transport_ops ops;
    struct cc_process_end *end; /* [ranks] */
    size_t ranks;
    uint64_t arrived; /* messages, until now */
    double now; /* seconds. With links: set it ahead for messages that leave later. Without: when
                   the latest work ended; set it where others than the ranks have worked */
    /* With links; otherwise NULL: */
    const struct cc_process_links *links;
    struct cc_events events;
    struct cc_process_message *latest, *spare; /* the one that has arrived; a list of free ones */
};

/* It must stay in place. Close it after all requests, also after an error; all zeros are nothing to
 * close. The links must outlive it. */
int cc_process_open(struct cc_process *p, size_t ranks, const struct cc_process_links *links,
                    struct cc_error *e);
void cc_process_close(struct cc_process *p);

/* A rank's end. */
struct cc_transport *cc_process_end(const struct cc_process *p, size_t rank);

/* --- with links --- */

/* A message arrives, or a rank wakes up. */
struct cc_process_event {
    int rank;
    int from;                /* -1: it wakes up */
    struct cc_parcel parcel; /* as it was sent */
};

/* Has a rank wake up at that time. */
int cc_process_wake(struct cc_process *p, double time, size_t rank, struct cc_error *e);
/* The next event, at which the clock then is; NULL if there is none. Events at the same time are in
 * the order of the lower ones of their ranks. *out is valid until the next call. */
int cc_process_next(struct cc_process *p, const struct cc_process_event **out, struct cc_error *e);
/* Messages of a rank that have not arrived yet, without those that are only heads. */
size_t cc_process_on_way(const struct cc_process *p, size_t rank);

#endif
