/* The code of an exchange. Each file of an exchange defines its `cc_exchange_code_SYMBOL`; one that
 * is missing does not link. */
#ifndef CC_NETSIM_EXCHANGE_EXCHANGE_CODE_H
#define CC_NETSIM_EXCHANGE_EXCHANGE_CODE_H

#include "core/exchange.h"
#include "netsim/exchange/rank_state.h"
#include "netsim/exchange/schedule.h"

/* As cc_exchange_open. */
typedef int cc_exchange_opener(struct cc_rank_state *s, const struct cc_message *m, size_t index,
                               void **out, struct cc_error *e);

struct cc_exchange_code {
    /* An exchange without servers is a schedule, combined with the reduction that the row and the
     * job ask for (allreduce.c); ... */
    cc_schedule_builder *schedule;
    /* ... another one opens its messages itself, */
    cc_exchange_opener *open;
    /* also where steps are not bulk synchronous; NULL: it has no such steps. */
    cc_exchange_opener *open_unsynced;
};

/* An open exchange begins with a pointer to its operations. */
struct cc_exchange_ops {
    int (*start)(void *x, struct cc_error *e);
    int (*test)(void *x, bool *done, struct cc_error *e);
    void (*close)(void *x);
};

/* cc_exchange_code_SYMBOL, of every line in core/exchange.h. */
#define CC_EXCHANGE_CODE(id, symbol, ...)                                                          \
    extern const struct cc_exchange_code cc_exchange_code_##symbol;
CC_EXCHANGES(CC_EXCHANGE_CODE)
#undef CC_EXCHANGE_CODE

#endif
