/* recdouble: recursive doubling. In round t, two groups of 2^t members exchange their sums. The
 * members of a group have the same sum and encode it to the same bytes: they draw the random
 * numbers of the group's lowest rank, other ones in each round. */
#include "netsim/mpi/exchange/reduction.h"

static int plan(const struct cc_rank_state *s, struct cc_schedule *p, struct cc_error *e)
{
    const struct cc_pow2_group f = cc_pow2_group_make(s->job->workers, s->rank);
    *p = (struct cc_schedule){.chunks = 1};
    uint64_t salt = 1; /* 0: what is handed to a partner first */
    int status = cc_pow2_group_fold_in(&f, s, p, e);
    for (int d = 1; d < f.power && f.member >= 0 && status == CC_OK; d *= 2) {
        struct cc_round *r = cc_schedule_add(p, e);
        if (r == NULL)
            return CC_FAIL;
        const int peer = cc_pow2_group_rank(&f, f.member ^ d);
        *r = (struct cc_round){.to = peer,
                               .from = peer,
                               .sends = 1,
                               .recvs = 1,
                               .who = cc_pow2_group_lowest(&f, f.member / d * d),
                               .sent_of = cc_pow2_group_workers(&f, f.member / d * d, 1, d),
                               .come_of = cc_pow2_group_workers(&f, (f.member ^ d) / d * d, 1, d),
                               .salt = salt++,
                               .needs_clear = true,
                               .upper = (f.member & d) != 0};
    }
    p->reduces = p->rounds;
    /* Two sums decoded and added are alike everywhere; but who comes last needs them encoded. */
    p->owns = f.member >= 0 && (f.rest > 0 || f.power == 1);
    p->salt = salt;
    return status == CC_OK ? cc_pow2_group_fold_out(&f, s, p, e) : status;
}

static int open(struct cc_rank_state *s, const struct cc_job_message *m, size_t index, void **out,
                struct cc_error *e)
{
    return cc_reduction_open(s, m, index, plan, out, e);
}

const struct cc_exchange_ops cc_exchange_ops_recdouble = {open, cc_reduction_start,
                                                          cc_reduction_test, cc_reduction_close};
