#include "netsim/exchange/schedule.h"

#include "core/memory.h"

struct cc_round *cc_schedule_add(struct cc_schedule *p, struct cc_error *e)
{
    if (CC_GROW(p->round, &p->capacity, p->rounds + 1, e) != CC_OK)
        return NULL;
    struct cc_round *r = &p->round[p->rounds++];
    *r = (struct cc_round){.to = -1, .from = -1};
    return r;
}
