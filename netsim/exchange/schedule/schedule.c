#include "netsim/exchange/schedule/schedule.h"

#include "core/memory.h"

struct cc_round *cc_schedule_add(struct cc_schedule *p, struct cc_error *e)
{
    if (CC_GROW(p->round, &p->capacity, p->rounds + 1, e) != CC_OK)
        return NULL;
    struct cc_round *r = &p->round[p->rounds++];
    *r = (struct cc_round){.to = -1, .from = -1};
    return r;
}

cc_schedule_builder *cc_schedule_of(enum cc_exchange x)
{
    static cc_schedule_builder *const builder[CC_EXCHANGE_COUNT] = {
        [CC_RING] = cc_schedule_ring,
        [CC_RECDOUBLE] = cc_schedule_recdouble,
        [CC_RABENSEIFNER] = cc_schedule_rabenseifner,
        [CC_SSAR_RECDOUBLE] = cc_schedule_recdouble,
        [CC_SSAR_RABENSEIFNER] = cc_schedule_rabenseifner,
        [CC_SSAR_SPLIT] = cc_schedule_split,
        [CC_DSAR_SPLIT] = cc_schedule_split,
    };
    return builder[x];
}
