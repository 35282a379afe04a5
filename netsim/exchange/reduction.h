/* Reductions: what happens to the chunks that a schedule moves.
 *
 *   reduce_sum       payloads are floats, which are added as they are
 *   reduce_recode    payloads are decoded, added to, and encoded again at every hop
 *   reduce_merge     payloads are index-value pairs, which are added value by value
 *   allgather_bruck  no chunks: every rank gets every payload, and decodes them all */
#ifndef CC_NETSIM_EXCHANGE_REDUCTION_H
#define CC_NETSIM_EXCHANGE_REDUCTION_H

#include "netsim/exchange/rank_state.h"
#include "netsim/exchange/schedule/schedule.h"

/* Every reduction's object begins with a pointer to its operations, as in struct cc_exchange_ops.
 */
struct cc_reduction_ops {
    int (*start)(void *x, struct cc_error *e);
    int (*test)(void *x, bool *done, struct cc_error *e);
    void (*close)(void *x);
};

/* Each opens one message, as cc_exchange_ops.open does; those with a schedule take the schedule
 * over, also when they fail. */
int cc_reduce_sum_open(struct cc_rank_state *s, const struct cc_message *m, size_t index,
                       struct cc_schedule *schedule, void **out, struct cc_error *e);
int cc_reduce_recode_open(struct cc_rank_state *s, const struct cc_message *m, size_t index,
                          struct cc_schedule *schedule, void **out, struct cc_error *e);
int cc_reduce_merge_open(struct cc_rank_state *s, const struct cc_message *m, size_t index,
                         struct cc_schedule *schedule, void **out, struct cc_error *e);
int cc_allgather_bruck_open(struct cc_rank_state *s, const struct cc_message *m, size_t index,
                            void **out, struct cc_error *e);

#endif
