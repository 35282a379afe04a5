/* Exchanges without servers. The reductions say what happens to the chunks that a schedule moves:
 *
 *   reduce_sum       payloads are floats, which are added as they are
 *   reduce_recode    payloads are decoded, added to, and encoded again at every hop
 *   reduce_merge     payloads are index-value pairs, which are added value by value
 *   allgather_bruck  no chunks: every rank gets every payload, and decodes them all */
#ifndef CC_NETSIM_EXCHANGE_ALLREDUCE_H
#define CC_NETSIM_EXCHANGE_ALLREDUCE_H

#include "netsim/exchange/exchange_code.h"

/* Opens a message with a schedule, and the reduction that the row and the job ask for. */
int cc_allreduce_open(struct cc_rank_state *s, const struct cc_message *m, size_t index,
                      cc_schedule_builder *build, void **out, struct cc_error *e);

extern const struct cc_exchange_kind cc_reduce_sum, cc_reduce_recode, cc_reduce_merge,
    cc_allgather_bruck;

#endif
