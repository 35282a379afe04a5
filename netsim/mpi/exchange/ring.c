/* ring: chunk c goes round once from rank c to be summed, and once more to be known. */
#include "netsim/mpi/exchange/reduction.h"

static int plan(const struct cc_rank_state *s, struct cc_schedule *p, struct cc_error *e)
{
    const size_t n = (size_t)s->job->workers, me = (size_t)s->rank;
    *p = (struct cc_schedule){
        .chunks = n, .reduces = n - 1, .owns = true, .own = (me + 1) % n, .who = s->rank};
    for (size_t k = 0; k < 2 * (n - 1); k++) {
        struct cc_round *r = cc_schedule_add(p, e);
        if (r == NULL)
            return CC_FAIL;
        *r = (struct cc_round){.to = (int)((me + 1) % n),
                               .from = (int)((me + n - 1) % n),
                               .send = (me + 2 * n - k) % n,
                               .sends = 1,
                               .recv = (me + 2 * n - k - 1) % n,
                               .recvs = 1,
                               .who = s->rank,
                               .sent_of = (int)k + 1,
                               .come_of = (int)k + 1};
    }
    return CC_OK;
}

static int open(struct cc_rank_state *s, const struct cc_job_message *m, size_t index, void **out,
                struct cc_error *e)
{
    return cc_reduction_open(s, m, index, plan, out, e);
}

const struct cc_exchange_ops cc_exchange_ops_ring = {open, cc_reduction_start, cc_reduction_test,
                                                     cc_reduction_close};
