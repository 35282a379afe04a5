/* Exchanges: how one message's payloads move between the ranks and are reduced. An exchange is one
 * file here and one line in core/exchange.h; all of them are written against a transport
 * (netsim/transport/transport.h), so the same code runs over MPI, in a simulation, and in one
 * process.
 *
 * Nothing blocks: after start, the caller calls test until the exchange is done, and waits in
 * between. Neither threads nor MPI's own progress could do this instead: SMPI has no threads inside
 * a rank, Open MPI makes no progress while a rank sleeps, and one process plays all ranks in turn.
 */
#ifndef CC_NETSIM_EXCHANGE_EXCHANGE_H
#define CC_NETSIM_EXCHANGE_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"
#include "core/exchange.h"
#include "netsim/exchange/rank_state.h"

/* Opens one message of the row; collective, in the same order on all ranks. Codecs begin with fresh
 * states. `index` counts the row's messages and tells their tags apart. *out is set on success
 * only; close it with cc_exchange_close. */
int cc_exchange_open(struct cc_rank_state *s, const struct cc_message *m, size_t index, void **out,
                     struct cc_error *e);
/* Begins the exchange of s->step: a worker encodes its gradient, a server posts receives. */
int cc_exchange_start(void *x, struct cc_error *e);
/* Makes progress without waiting; where it stops early, it sets s->transport->more. *done: this
 * rank has nothing left to do for the message in this step. */
int cc_exchange_test(void *x, bool *done, struct cc_error *e);
/* NULL is nothing to close. */
void cc_exchange_close(void *x);

#endif
