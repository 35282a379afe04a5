/* An exchange without servers: a schedule, and the reduction that the row and the job ask for. */
#ifndef CC_NETSIM_EXCHANGE_ALLREDUCE_H
#define CC_NETSIM_EXCHANGE_ALLREDUCE_H

#include "netsim/exchange/exchange.h"
#include "netsim/exchange/schedule/schedule.h"

/* Opens a message: floats are summed after the exchange's schedule; index-value pairs are merged,
 * if the exchange merges; other payloads are encoded again at every hop, or gathered where the job
 * says so. */
int cc_allreduce_open(struct cc_rank_state *s, const struct cc_message *m, size_t index, void **out,
                      struct cc_error *e);

/* For struct cc_exchange_ops: call the reduction's operations. */
int cc_allreduce_start(void *x, struct cc_error *e);
int cc_allreduce_test(void *x, bool *done, struct cc_error *e);
void cc_allreduce_close(void *x);

#endif
