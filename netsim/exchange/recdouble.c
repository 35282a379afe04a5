/* recdouble, and for pairs that are merged ssar-recdouble: allreduce by recursive doubling (Thakur,
 * Rabenseifner, Gropp, Optimization of Collective Communication Operations in MPICH, IJHPCA 2005,
 * section 4.5).
 *
 * The values are one chunk. In round t = 0, 1, ... two groups of 2^t members exchange their sums,
 * member by member: log2 P rounds and latencies, but every rank sends the whole message in each. If
 * P is not a power of two, extra ranks hand their values to proxies before and get the sum after
 * (pow2_group.h).
 *
 * Payloads that are encoded again: all members of a group have the same sum, and must encode it to
 * the same bytes, or models would drift apart. So they draw the random numbers of the group's
 * lowest rank, with another salt in each round (0 is for what extra ranks send). Both sides of an
 * exchange add the two decoded payloads in the same order, lower group first. After the last round
 * every member has the same sum and need not encode it, unless there are extra ranks: then all
 * members encode it once more, to the same bytes, all decode that payload, and proxies send it
 * on. */
#include "netsim/exchange/exchange_code.h"
#include "netsim/exchange/pow2_group.h"

int cc_schedule_recdouble(int workers, struct cc_schedule_hosts hosts, int rank,
                          struct cc_schedule *p, struct cc_error *e)
{
    const struct cc_pow2_group f = cc_pow2_group_make(workers, rank);
    uint64_t salt = 1;
    (void)hosts;
    *p = (struct cc_schedule){.chunks = 1};
    CC_TRY(cc_pow2_group_add(&f, rank, false, p, e));
    for (int d = 1; d < f.size && f.member >= 0; d *= 2) {
        const int mine = f.member / d * d, other = (f.member ^ d) / d * d;
        const int peer = cc_pow2_group_rank(&f, f.member ^ d);
        const struct cc_round r = {.to = peer,
                                   .from = peer,
                                   .send_count = 1,
                                   .recv_count = 1,
                                   .encodes_as = cc_pow2_group_lowest(&f, mine),
                                   .send_workers = cc_pow2_group_workers(&f, mine, 1, d),
                                   .recv_workers = cc_pow2_group_workers(&f, other, 1, d),
                                   .salt = salt++,
                                   .needs_clear = true,
                                   .own_second = (f.member & d) != 0};
        CC_TRY(cc_schedule_add(p, &r, e));
    }
    p->reduce_rounds = p->rounds;
    p->owns_chunk = f.member >= 0 && (f.extras > 0 || f.size == 1);
    p->owner_salt = salt;
    return cc_pow2_group_add(&f, rank, true, p, e);
}

const struct cc_exchange_code cc_exchange_code_recdouble = {.schedule = cc_schedule_recdouble};
const struct cc_exchange_code cc_exchange_code_ssar_recdouble = {.schedule = cc_schedule_recdouble};
