#include "netsim/inprocess/rounds.h"

#include <stdlib.h>

#include "core/memory.h"

/* The round in which `from` sends to `to` for the n-th time, from 0; its rounds if there is none.
 */
static size_t sending_round(const struct cc_schedule *from, int to, size_t n)
{
    size_t k = 0;
    for (; k < from->rounds; k++)
        if (from->round[k].to == to && n-- == 0)
            break;
    return k;
}

/* Between two ranks, messages arrive in the order in which they were sent. */
static int match(struct cc_rounds *r, int rank, struct cc_error *e)
{
    const struct cc_schedule *s = &r->rank[rank];
    r->sent_in[rank] = cc_alloc0(s->rounds * sizeof **r->sent_in, e);
    if (r->sent_in[rank] == NULL)
        return CC_FAIL;
    for (size_t k = 0; k < s->rounds; k++) {
        const int from = s->round[k].from;
        size_t before = 0;
        for (size_t j = 0; j < k; j++)
            before += s->round[j].from == from;
        if (from < 0)
            continue;
        r->sent_in[rank][k] = sending_round(&r->rank[from], rank, before);
        if (r->sent_in[rank][k] == r->rank[from].rounds)
            return cc_fail(e, "round %zu of rank %d receives what rank %d does not send", k, rank,
                           from);
    }
    return CC_OK;
}

int cc_rounds_open(struct cc_rounds *r, enum cc_exchange x, int workers, struct cc_error *e)
{
    const size_t n = (size_t)workers;
    *r = (struct cc_rounds){.workers = workers,
                            .rank = cc_alloc0(n * sizeof *r->rank, e),
                            .sent_in = cc_alloc0(n * sizeof(size_t *), e),
                            .current = cc_alloc0(n * sizeof *r->current, e)};
    if (r->rank == NULL || r->sent_in == NULL || r->current == NULL)
        return CC_FAIL;
    for (int i = 0; i < workers; i++)
        CC_TRY(cc_schedule_of(x)(workers, i, &r->rank[i], e));
    for (int i = 0; i < workers; i++)
        CC_TRY(match(r, i, e));
    return CC_OK;
}

void cc_rounds_close(struct cc_rounds *r)
{
    for (int i = 0; i < r->workers; i++) {
        if (r->rank != NULL)
            free(r->rank[i].round);
        if (r->sent_in != NULL)
            free(r->sent_in[i]);
    }
    free(r->rank);
    free(r->sent_in);
    free(r->current);
    *r = (struct cc_rounds){0};
}

/* Goes on with a rank as far as what it receives has been sent. */
static int advance(struct cc_rounds *r, int rank, const struct cc_rounds_work *work, void *arg,
                   bool *moved, struct cc_error *e)
{
    const struct cc_schedule *s = &r->rank[rank];
    for (; r->current[rank] < s->rounds; *moved = true) {
        const size_t k = r->current[rank], from_round = r->sent_in[rank][k];
        const int from = s->round[k].from;
        if (from >= 0 && r->current[from] < from_round)
            return CC_OK;
        if (from >= 0)
            CC_TRY(work->receive(arg, rank, k, from, from_round, e));
        r->current[rank] = k + 1;
        CC_TRY(work->begin(arg, rank, k + 1, e));
    }
    return CC_OK;
}

int cc_rounds_play(struct cc_rounds *r, const struct cc_rounds_work *work, void *arg,
                   struct cc_error *e)
{
    bool moved = true;
    for (int i = 0; i < r->workers; i++) {
        r->current[i] = 0;
        CC_TRY(work->begin(arg, i, 0, e));
    }
    while (moved) {
        moved = false;
        for (int i = 0; i < r->workers; i++)
            CC_TRY(advance(r, i, work, arg, &moved, e));
    }
    for (int i = 0; i < r->workers; i++)
        if (r->current[i] < r->rank[i].rounds)
            return cc_fail(e, "rank %d waits in round %zu for what nobody sends", i, r->current[i]);
    return CC_OK;
}
