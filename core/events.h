/* The events of a simulation: a queue in the order of their times, then of those whom they concern,
 * then in which they were added, so that the order never depends on the machine. */
#ifndef CC_CORE_EVENTS_H
#define CC_CORE_EVENTS_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

struct cc_event {
    double time;
    size_t who;
    int what;       /* the owner's */
    void *of;       /* likewise */
    uint64_t order; /* cc_events_add counts it */
};

/* Zero-initialized: empty. */
struct cc_events {
    struct cc_event *heap; /* the next event first */
    size_t count, capacity;
    uint64_t added;
};

void cc_events_free(struct cc_events *q);
/* Makes room for `count` events, which can then be added without an error. */
int cc_events_reserve(struct cc_events *q, size_t count, struct cc_error *e);
int cc_events_add(struct cc_events *q, struct cc_event v, struct cc_error *e);
/* Takes the next event out. There must be one. */
struct cc_event cc_events_take(struct cc_events *q);

#endif
