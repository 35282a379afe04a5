/* Steps with sharded states on a rank: a state for each collective of the job, in which the
 * exchanges of its messages run, and the queues of messages that have been asked for. */
#ifndef CC_NETSIM_RANK_QUEUES_H
#define CC_NETSIM_RANK_QUEUES_H

#include "core/collective.h"
#include "netsim/exchange/collectives.h"
#include "netsim/rank/source.h"

struct cc_queues {
    struct cc_collectives list;
    struct cc_rank_collective of[CC_MOST_COLLECTIVES];
    struct cc_job_cost *no_cost; /* of parameters as they are: [tensors] */
    struct cc_step_plan plan;
    size_t units, messages; /* messages: list.count * units */
    bool *pending;          /* by message: asked for, and not over */
    size_t *item;           /* [CC_COLLECTIVE_QUEUES][messages]: those that wait to begin */
    size_t first[CC_COLLECTIVE_QUEUES], count[CC_COLLECTIVE_QUEUES];
    bool busy[CC_COLLECTIVE_QUEUES];          /* one of its messages is under way */
    double *since;                            /* by message: when it began */
    double collective_s[CC_MOST_COLLECTIVES]; /* for which messages were under way */
};

/* Makes the queues of a row, whose rank state is `s`; *q stays in place until it is closed. Close
 * it also after an error. */
int cc_queues_open(struct cc_queues *q, const struct cc_rank_state *s,
                   const struct cc_collective_sizes *sizes, struct cc_error *e);
void cc_queues_close(struct cc_queues *q);

/* The unit of a message, as the row's message. */
const struct cc_message *cc_queues_unit(const struct cc_queues *q, const struct cc_job_row *row,
                                        size_t message);
/* The state that its exchange runs in. */
struct cc_rank_state *cc_queues_state(struct cc_queues *q, size_t message);

/* Sets the step of all collectives to that of `s`, and their buffers. */
void cc_queues_take_step(struct cc_queues *q, const struct cc_rank_state *s,
                         const struct cc_source_buffers *b);
/* Moves what a message's exchange has counted to *total. */
void cc_queues_collect(struct cc_queues *q, size_t message, struct cc_counters *total);

/* A message is asked for; a message that was, begins, if one can; one is over. */
void cc_queues_push(struct cc_queues *q, size_t message);
bool cc_queues_begin(struct cc_queues *q, double now, size_t *message);
void cc_queues_end(struct cc_queues *q, size_t message, double now);

#endif
