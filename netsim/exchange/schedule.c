#include "netsim/exchange/schedule.h"

#include <stdlib.h>

#include "core/memory.h"

int cc_schedule_add(struct cc_schedule *p, const struct cc_round *r, struct cc_error *e)
{
    CC_TRY(CC_GROW(p->round, &p->capacity, p->rounds + 1, e));
    p->round[p->rounds++] = *r;
    return CC_OK;
}

int cc_schedule_to_first(cc_schedule_builder *build, int workers, int rank, struct cc_schedule *p,
                         struct cc_error *e)
{
    const struct cc_round own = {.to = 0, .from = -1, .send_first = p->own_chunk, .send_count = 1};
    int status = CC_OK;
    if (p->chunks == 1)
        return CC_OK;
    p->rounds = p->reduce_rounds;
    if (rank > 0 && p->owns_chunk)
        return cc_schedule_add(p, &own, e);
    for (int i = 1; i < workers && rank == 0 && status == CC_OK; i++) {
        struct cc_schedule other = {0};
        status = build(workers, i, &other, e);
        const struct cc_round theirs = {
            .to = -1, .from = i, .recv_first = other.own_chunk, .recv_count = 1};
        if (status == CC_OK && other.owns_chunk)
            status = cc_schedule_add(p, &theirs, e);
        free(other.round);
    }
    return status;
}
