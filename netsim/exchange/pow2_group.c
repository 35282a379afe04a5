#include "netsim/exchange/pow2_group.h"

struct cc_pow2_group cc_pow2_group_make(int workers, int rank)
{
    struct cc_pow2_group f = {.size = 1};
    while (f.size <= workers / 2)
        f.size *= 2;
    f.extras = workers - f.size;
    if (rank >= 2 * f.extras)
        f.member = rank - f.extras;
    else
        f.member = rank % 2 == 1 ? rank / 2 : -1;
    return f;
}

int cc_pow2_group_rank(const struct cc_pow2_group *f, int member)
{
    return member < f->extras ? 2 * member + 1 : member + f->extras;
}

int cc_pow2_group_lowest(const struct cc_pow2_group *f, int member)
{
    return member < f->extras ? 2 * member : member + f->extras;
}

int cc_pow2_group_workers(const struct cc_pow2_group *f, int member, int stride, int count)
{
    int n = count;
    for (int j = member; j < f->extras && j < member + stride * count; j += stride)
        n++;
    return n;
}

int cc_pow2_group_add(const struct cc_pow2_group *f, int rank, bool last, struct cc_schedule *p,
                      struct cc_error *e)
{
    const bool extra = f->member < 0;
    const int partner = extra ? rank + 1 : rank - 1;
    const struct cc_round sends = {.to = partner,
                                   .from = -1,
                                   .send_count = p->chunks,
                                   .encodes_as = last ? 0 : rank,
                                   .send_workers = 1};
    const struct cc_round receives = {
        .to = -1, .from = partner, .recv_count = p->chunks, .recv_workers = 1};
    if (f->member >= f->extras) /* a base rank sits this round out */
        return CC_OK;
    return cc_schedule_add(p, extra != last ? &sends : &receives, e);
}
