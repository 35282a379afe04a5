#include "netsim/exchange/data.h"

#include "core/memory.h"

int cc_data_alloc(const struct cc_job *job, size_t bytes, uint8_t **out, struct cc_error *e)
{
    *out = job->data ? cc_alloc(bytes, e) : NULL;
    return *out == NULL && job->data ? CC_FAIL : CC_OK;
}

int cc_inbox_alloc(const struct cc_rank_state *s, size_t bytes, uint8_t **out, struct cc_error *e)
{
    *out = NULL;
    return s->transport->ops->lends ? CC_OK : cc_data_alloc(s->job, bytes, out, e);
}
