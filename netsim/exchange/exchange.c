/* The table of exchanges, made from the lines of core/exchange.h. */
#include "netsim/exchange/exchange.h"

#include "netsim/exchange/allreduce.h"
#include "netsim/exchange/exchange_code.h"

#define CODE(id, symbol, ...) &cc_exchange_code_##symbol,
static const struct cc_exchange_code *const codes[] = {CC_EXCHANGES(CODE)};

int cc_exchange_open(struct cc_rank_state *s, const struct cc_message *m, size_t index, void **out,
                     struct cc_error *e)
{
    const enum cc_exchange x = s->job->exchange;
    const struct cc_exchange_code *code = codes[x];
    const bool bulk = cc_job_bulk(s->job);
    cc_exchange_opener *open = bulk ? code->open : code->open_unsynced;
    if (open != NULL)
        return open(s, m, index, out, e);
    if (!bulk)
        return cc_fail(e, "%s has only bulk synchronous steps", cc_exchange_names[x]);
    if (code->kind != NULL)
        return cc_exchange_make(code->kind, s, m, index, NULL, out, e);
    return code->schedule != NULL
               ? cc_allreduce_open(s, m, index, code->schedule, out, e)
               : cc_fail(e, "%s has no code (struct cc_exchange_code)", cc_exchange_names[x]);
}

static const struct cc_exchange_ops *ops_of(const void *x)
{
    return *(const struct cc_exchange_ops *const *)x;
}

int cc_exchange_start(void *x, struct cc_error *e)
{
    return ops_of(x)->start(x, e);
}

int cc_exchange_test(void *x, bool *done, struct cc_error *e)
{
    return ops_of(x)->test(x, done, e);
}

void cc_exchange_close(void *x)
{
    if (x != NULL)
        ops_of(x)->close(x);
}
