#include "netsim/exchange/exchange.h"

/* cc_exchange_ops_SYMBOL: those with a schedule are in allreduce.c, the others in files of their
 * own.
 */
#define DECLARE(id, symbol, ...) extern const struct cc_exchange_ops cc_exchange_ops_##symbol;
CC_EXCHANGES(DECLARE)

#define OPS(id, symbol, ...) &cc_exchange_ops_##symbol,
static const struct cc_exchange_ops *const ops[] = {CC_EXCHANGES(OPS)};

extern const struct cc_exchange_ops cc_exchange_ops_ps_stale;

const struct cc_exchange_ops *cc_exchange_ops(enum cc_exchange x)
{
    return ops[x];
}

const struct cc_exchange_ops *cc_exchange_ops_of(const struct cc_job *job)
{
    return cc_job_bulk(job) ? ops[job->exchange] : &cc_exchange_ops_ps_stale;
}
