/* Floats are summed; index-value pairs are merged, if the exchange merges; other payloads are
 * encoded again at every hop, or gathered where the job says so. */
#include "netsim/exchange/allreduce.h"

int cc_allreduce_open(struct cc_rank_state *s, const struct cc_message *m, size_t index,
                      cc_schedule_builder *build, void **out, struct cc_error *e)
{
    const enum cc_exchange x = s->job->exchange;
    const bool sums = s->row->reduction == CC_REDUCE_SUM;
    const struct cc_exchange_kind *reduction = &cc_reduce_recode;
    if (!cc_exchange_has(x, sums ? CC_X_SUMS : CC_X_RECODES | CC_X_MERGES))
        return cc_fail(e,
                       "%s: %s does not carry payloads of this kind (its flags in "
                       "core/exchange.h)",
                       s->row->scheme, cc_exchange_names[x]);
    if (sums)
        reduction = &cc_reduce_sum;
    else if (cc_exchange_has(x, CC_X_MERGES))
        reduction = &cc_reduce_merge;
    else if (s->job->via == CC_VIA_ALLGATHER)
        reduction = &cc_allgather_bruck;
    return cc_exchange_make(reduction, s, m, index, build, out, e);
}
