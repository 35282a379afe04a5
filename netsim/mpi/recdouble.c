/* recdouble: recursive doubling. In round t, two groups of 2^t members exchange their sums. The
 * members of a group have the same sum and encode it to the same bytes: they draw the random
 * numbers of the group's lowest rank, other ones in each round. */
#include "netsim/mpi/way.h"

static int plan(const struct cc_station *s, struct cc_plan *p, struct cc_error *e)
{
    const struct cc_fold f = cc_fold_of(s->job->workers, s->rank);
    *p = (struct cc_plan){.chunks = 1};
    uint64_t salt = 1; /* 0: what is handed to a partner first */
    int status = cc_fold_in(&f, s, p, e);
    for (int d = 1; d < f.power && f.member >= 0 && status == CC_OK; d *= 2) {
        struct cc_round *r = cc_plan_add(p, e);
        if (r == NULL)
            return CC_FAIL;
        const int peer = cc_fold_rank(&f, f.member ^ d);
        *r = (struct cc_round){.to = peer,
                               .from = peer,
                               .sends = 1,
                               .recvs = 1,
                               .who = cc_fold_lowest(&f, f.member / d * d),
                               .sent_of = cc_fold_workers(&f, f.member / d * d, 1, d),
                               .come_of = cc_fold_workers(&f, (f.member ^ d) / d * d, 1, d),
                               .salt = salt++,
                               .asked = true,
                               .upper = (f.member & d) != 0};
    }
    p->reduces = p->rounds;
    /* Two sums decoded and added are alike everywhere; but who comes last needs them encoded. */
    p->owns = f.member >= 0 && (f.rest > 0 || f.power == 1);
    p->salt = salt;
    return status == CC_OK ? cc_fold_out(&f, s, p, e) : status;
}

static int open(struct cc_station *s, const struct cc_job_message *m, size_t index, void **out,
                struct cc_error *e)
{
    return cc_way_open(s, m, index, plan, out, e);
}

const struct cc_exchanger cc_exchanger_recdouble = {"recdouble", open, cc_way_start, cc_way_test,
                                                    cc_way_close};
