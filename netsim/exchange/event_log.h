/* The event log: what a rank did when, for timelines. Where a pointer to it is NULL, nothing is
 * logged.
 *
 * A log has two lists of spans, each in order and without overlaps: the work of codecs, logged as
 * it ends; and everything else (computing, updating, waiting), which is known only afterwards and
 * fills the gaps between codecs, or, where codecs have a processor of their own, lies beside them.
 */
#ifndef CC_NETSIM_EXCHANGE_EVENT_LOG_H
#define CC_NETSIM_EXCHANGE_EVENT_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "netsim/job/report.h"

struct cc_span_list {
    struct cc_span *at;
    size_t count, capacity;
};

/* All times are on the rank's clock. */
struct cc_event_log {
    bool on;               /* set during the counted steps */
    size_t step, first;    /* the current step; the first counted one */
    size_t most, left_out; /* capacity for spans and flows together; those that came later */
    struct cc_span_list codec, other;
    size_t next_codec; /* the first span of a codec that did not end before the last gap */
    struct cc_flow_event *flow;
    size_t flows, capacity;
    double before_s; /* this much of the next gaps belongs to the phase `before` */
    enum cc_phase before;
};

void cc_event_log_free(struct cc_event_log *m);

/* Logs a codec's work for the exchange of `step`. */
void cc_event_log_codec(struct cc_event_log *m, enum cc_phase phase, uint64_t step, double begin,
                        double end);
/* Logs another span of the current step. It begins after those logged before. */
void cc_event_log_span(struct cc_event_log *m, enum cc_phase phase, double begin, double end);
/* Logs the gaps between codecs' spans within [begin, end). */
void cc_event_log_gaps(struct cc_event_log *m, enum cc_phase phase, double begin, double end);
/* The first `seconds` of all gaps that follow are of `phase`, whatever they are logged as. */
void cc_event_log_before(struct cc_event_log *m, enum cc_phase phase, double seconds);
/* Logs this rank's end of a transfer, if it belongs to a counted step, even after the last step. */
void cc_event_log_flow(struct cc_event_log *m, const struct cc_flow_event *p);

#endif
