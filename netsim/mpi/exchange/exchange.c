#include "netsim/mpi/exchange/exchange.h"

/* cc_exchange_ops_SYMBOL of every exchange that runs: those with a schedule are in allreduce.c, the
 * others in files of their own. */
#define DECLARE_RUN(symbol) extern const struct cc_exchange_ops cc_exchange_ops_##symbol;
#define DECLARE_PREDICT(symbol)
#define DECLARE(id, symbol, name, runs, ...) DECLARE_##runs(symbol)
CC_EXCHANGES(DECLARE)

#define OPS_RUN(symbol)                  &cc_exchange_ops_##symbol,
#define OPS_PREDICT(symbol)              NULL,
#define OPS(id, symbol, name, runs, ...) OPS_##runs(symbol)
static const struct cc_exchange_ops *const ops[] = {CC_EXCHANGES(OPS)};

const struct cc_exchange_ops *cc_exchange_ops(enum cc_exchange x)
{
    return ops[x];
}
