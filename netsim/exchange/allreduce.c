#include "netsim/exchange/allreduce.h"

#include <stdlib.h>

#include "netsim/exchange/reduction.h"

static const struct cc_reduction_ops *ops_of(const void *x)
{
    return *(const struct cc_reduction_ops *const *)x;
}

int cc_allreduce_start(void *x, struct cc_error *e)
{
    return ops_of(x)->start(x, e);
}

int cc_allreduce_test(void *x, bool *done, struct cc_error *e)
{
    return ops_of(x)->test(x, done, e);
}

void cc_allreduce_close(void *x)
{
    if (x != NULL)
        ops_of(x)->close(x);
}

int cc_allreduce_open(struct cc_rank_state *s, const struct cc_message *m, size_t index, void **out,
                      struct cc_error *e)
{
    const bool sums = s->row->reduction == CC_REDUCE_SUM;
    const bool merges = cc_exchange_has(s->job->exchange, CC_X_MERGES);
    struct cc_schedule schedule = {0};
    if (!sums && !merges && s->job->via == CC_VIA_ALLGATHER)
        return cc_allgather_bruck_open(s, m, index, out, e);
    int status = cc_schedule_of(s->job->exchange)(s->job->workers, s->rank, &schedule, e);
    if (status != CC_OK) {
        free(schedule.round);
        return status;
    }
    if (sums)
        return cc_reduce_sum_open(s, m, index, &schedule, out, e);
    return merges ? cc_reduce_merge_open(s, m, index, &schedule, out, e)
                  : cc_reduce_recode_open(s, m, index, &schedule, out, e);
}

/* All exchanges with a schedule. */
#define ALLREDUCE                                                                                  \
    {                                                                                              \
        cc_allreduce_open, cc_allreduce_start, cc_allreduce_test, cc_allreduce_close               \
    }
const struct cc_exchange_ops cc_exchange_ops_ring = ALLREDUCE;
const struct cc_exchange_ops cc_exchange_ops_recdouble = ALLREDUCE;
const struct cc_exchange_ops cc_exchange_ops_rabenseifner = ALLREDUCE;
const struct cc_exchange_ops cc_exchange_ops_ssar_recdouble = ALLREDUCE;
const struct cc_exchange_ops cc_exchange_ops_ssar_rabenseifner = ALLREDUCE;
const struct cc_exchange_ops cc_exchange_ops_ssar_split = ALLREDUCE;
const struct cc_exchange_ops cc_exchange_ops_dsar_split = ALLREDUCE;
