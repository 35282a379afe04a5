/* Exchanges without servers: a schedule, and the reduction that the row and the job ask for. Floats
 * are summed; index-value pairs are merged, if the exchange merges; other payloads are encoded
 * again at every hop, or gathered where the job says so. */
#include "netsim/exchange/allreduce.h"

#include <stdlib.h>

static int refuse(const struct cc_rank_state *s, struct cc_error *e)
{
    return cc_fail(e, "%s: %s does not carry payloads of this kind (its flags in core/exchange.h)",
                   s->row->scheme, cc_exchange_names[s->job->exchange]);
}

int cc_allreduce_open(struct cc_rank_state *s, const struct cc_message *m, size_t index,
                      cc_schedule_builder *build, void **out, struct cc_error *e)
{
    const enum cc_exchange x = s->job->exchange;
    const bool sums = s->row->reduction == CC_REDUCE_SUM;
    const bool merges = cc_exchange_has(x, CC_X_MERGES);
    struct cc_schedule schedule = {0};
    if (!cc_exchange_has(x, sums ? CC_X_SUMS : CC_X_RECODES | CC_X_MERGES))
        return refuse(s, e);
    if (!sums && !merges && s->job->via == CC_VIA_ALLGATHER)
        return cc_allgather_bruck_open(s, m, index, out, e);
    int status = build(s->job->workers, s->rank, &schedule, e);
    if (status != CC_OK) {
        free(schedule.round);
        return status;
    }
    if (sums)
        return cc_reduce_sum_open(s, m, index, &schedule, out, e);
    return merges ? cc_reduce_merge_open(s, m, index, &schedule, out, e)
                  : cc_reduce_recode_open(s, m, index, &schedule, out, e);
}
