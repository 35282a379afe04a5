/* What a rank did when, for timelines. NULL in the place of a pointer to it: nobody asks, and
 * nothing happens.
 *
 * There are two lists, each without overlaps: stints of codecs, and the rest: computing and
 * waiting, which are known only afterwards and fill the time between those stints, or, where codecs
 * have a processor of their own, go on beside them. */
#ifndef CC_NETSIM_MPI_EXCHANGE_EVENT_LOG_H
#define CC_NETSIM_MPI_EXCHANGE_EVENT_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "netsim/job/report.h"

struct cc_span_list {
    struct cc_span *at;
    size_t count, capacity;
};

/* Times are those of the rank's clock. */
struct cc_event_log {
    bool on;               /* set during the steps that count */
    size_t step, first;    /* the step under way; the first that counts */
    size_t most, left_out; /* of all together; what came later */
    struct cc_span_list codec, rest;
    size_t looked; /* stints before this one ended before the last gap that was filled */
    struct cc_flow_event *flow;
    size_t flows, capacity;
    double
        before_s; /* so much of the next gaps will be of another phase than they are said to be */
    enum cc_phase before;
};

void cc_event_log_free(struct cc_event_log *m);

/* A stint of a codec's, for the exchange of `step`. */
void cc_event_log_codec(struct cc_event_log *m, enum cc_phase phase, uint64_t step, double begin,
                        double end);
/* Of the step under way, after all the rest that it knows. */
void cc_event_log_rest(struct cc_event_log *m, enum cc_phase phase, double begin, double end);
/* The same, where no codec worked. The first seconds of these gaps may be of another phase
 * (cc_event_log_before). */
void cc_event_log_gaps(struct cc_event_log *m, enum cc_phase phase, double begin, double end);
void cc_event_log_before(struct cc_event_log *m, enum cc_phase phase, double seconds);
/* The end of a transfer that is on this rank. Those of the steps that count only, but also those
 * that come after them. */
void cc_event_log_passage(struct cc_event_log *m, const struct cc_flow_event *p);

#endif
