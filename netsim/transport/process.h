/* The transport of ranks that are all in one process, which drives one after the other by polling,
 * without threads. Messages are not copied unless the receiver has a buffer for them: it is lent
 * the sender's bytes. Work is timed by the wall clock: to read the processor's would take longer
 * than small messages do. */
#ifndef CC_NETSIM_TRANSPORT_PROCESS_H
#define CC_NETSIM_TRANSPORT_PROCESS_H

#include "netsim/transport/transport.h"

struct cc_process_end;

struct cc_process {
    struct cc_process_end *end; /* [ranks] */
    size_t ranks;
    uint64_t arrived; /* messages, until now */
};

/* Close it after all requests, also after an error; all zeros are nothing to close. */
int cc_process_open(struct cc_process *p, size_t ranks, struct cc_error *e);
void cc_process_close(struct cc_process *p);

/* A rank's end. */
struct cc_transport *cc_process_end(const struct cc_process *p, size_t rank);

#endif
