/* rabenseifner: recursive halving, after which member j has the sum of chunk j, then doubling. */
#include "netsim/mpi/exchange/reduction.h"

static int add_round(const struct cc_pow2_group *f, const struct cc_rank_state *s, size_t d,
                     bool halves, struct cc_schedule *p, struct cc_error *e)
{
    struct cc_round *r = cc_schedule_add(p, e);
    if (r == NULL)
        return CC_FAIL;
    const size_t me = (size_t)f->member, mine = me / d * d, other = (me ^ d) / d * d;
    const int peer = cc_pow2_group_rank(f, (int)(me ^ d));
    /* Before it halves once more, a member has the sum of those that are equal to it modulo 2d. */
    const int apart = 2 * (int)d, count = f->power / apart;
    *r = (struct cc_round){.to = peer,
                           .from = peer,
                           .send = halves ? other : mine,
                           .sends = d,
                           .recv = halves ? mine : other,
                           .recvs = d,
                           .who = s->rank,
                           .sent_of = cc_pow2_group_workers(f, (int)me % apart, apart, count),
                           .come_of = cc_pow2_group_workers(f, (int)(me ^ d) % apart, apart, count),
                           .needs_clear = true};
    return CC_OK;
}

static int plan(const struct cc_rank_state *s, struct cc_schedule *p, struct cc_error *e)
{
    const struct cc_pow2_group f = cc_pow2_group_make(s->job->workers, s->rank);
    const size_t power = (size_t)f.power;
    *p = (struct cc_schedule){.chunks = power, .who = s->rank};
    int status = cc_pow2_group_fold_in(&f, s, p, e);
    for (size_t d = power / 2; d >= 1 && f.member >= 0 && status == CC_OK; d /= 2)
        status = add_round(&f, s, d, true, p, e);
    p->reduces = p->rounds;
    p->owns = f.member >= 0;
    p->own = p->owns ? (size_t)f.member : 0;
    for (size_t d = 1; d < power && f.member >= 0 && status == CC_OK; d *= 2)
        status = add_round(&f, s, d, false, p, e);
    return status == CC_OK ? cc_pow2_group_fold_out(&f, s, p, e) : status;
}

static int open(struct cc_rank_state *s, const struct cc_job_message *m, size_t index, void **out,
                struct cc_error *e)
{
    return cc_reduction_open(s, m, index, plan, out, e);
}

const struct cc_exchange_ops cc_exchange_ops_rabenseifner = {open, cc_reduction_start,
                                                             cc_reduction_test, cc_reduction_close};
