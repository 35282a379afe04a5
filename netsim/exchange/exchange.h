/* Exchanges: how one message's payloads move between the ranks and are reduced, over MPI. One
 * exchange is one file here and one line in core/exchange.h.
 *
 * Nothing blocks: after start, the caller calls test until the exchange is done, and waits in
 * between. Neither threads nor MPI's own progress could do this instead: SMPI has no threads inside
 * a rank, and Open MPI makes no progress while a rank sleeps. */
#ifndef CC_NETSIM_EXCHANGE_EXCHANGE_H
#define CC_NETSIM_EXCHANGE_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"
#include "core/exchange.h"
#include "netsim/exchange/rank_state.h"

struct cc_exchange_ops {
    /* Opens one message of the row; collective, in the same order on all ranks. Codecs begin with
     * fresh states. `index` counts the row's messages and tells their MPI tags apart. *out is set
     * on success only. */
    int (*open)(struct cc_rank_state *s, const struct cc_message *m, size_t index, void **out,
                struct cc_error *e);
    /* Begins the exchange of s->step: a worker encodes its gradient, a server posts receives. */
    int (*start)(void *x, struct cc_error *e);
    /* Makes progress without waiting; where it stops early, it sets s->waits.more. *done: this rank
     * has nothing left to do for the message in this step. */
    int (*test)(void *x, bool *done, struct cc_error *e);
    void (*close)(void *x);
};

/* The code of an exchange, of bulk synchronous steps; and that of a job. */
const struct cc_exchange_ops *cc_exchange_ops(enum cc_exchange x);
const struct cc_exchange_ops *cc_exchange_ops_of(const struct cc_job *job);

#endif
