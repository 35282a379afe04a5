/* rabenseifner, and for pairs that are merged ssar-rabenseifner: allreduce by recursive halving and
 * doubling (Rabenseifner, Optimization of Collective Reduction Operations, ICCS 2004; Thakur et
 * al., IJHPCA 2005, section 4.5).
 *
 * The values are cut into 2^k chunks, one for each member of the group (pow2_group.h). Recursive
 * halving is the reduce-scatter: in rounds of distance d = 2^(k-1), ..., 2, 1 a member sends the
 * half of its chunks that its peer, d members away, keeps, and adds what it receives to the half
 * that it keeps itself. Then member j has the whole sum of chunk j. Recursive doubling is the
 * allgather: with d = 1, 2, ..., 2^(k-1), peers exchange all chunks that they have. Each member
 * sends about twice the message in 2 log2 P rounds: the ring's bandwidth with the doubling's
 * latency. Extra ranks hand all their values to a proxy before, and get the sum after. */
#include "netsim/exchange/exchange_code.h"
#include "netsim/exchange/pow2_group.h"

static int add_round(const struct cc_pow2_group *f, int rank, size_t d, bool halves,
                     struct cc_schedule *p, struct cc_error *e)
{
    const size_t me = (size_t)f->member, mine = me / d * d, other = (me ^ d) / d * d;
    const int peer = cc_pow2_group_rank(f, (int)(me ^ d));
    /* Before halving by d, a member has the sum of the members equal to it modulo 2d. */
    const int stride = 2 * (int)d, count = f->size / stride;
    const struct cc_round r = {
        .to = peer,
        .from = peer,
        .send_first = halves ? other : mine,
        .send_count = d,
        .recv_first = halves ? mine : other,
        .recv_count = d,
        .encodes_as = rank,
        .send_workers = cc_pow2_group_workers(f, (int)me % stride, stride, count),
        .recv_workers = cc_pow2_group_workers(f, (int)(me ^ d) % stride, stride, count),
        .needs_clear = true};
    return cc_schedule_add(p, &r, e);
}

int cc_schedule_rabenseifner(int workers, struct cc_schedule_hosts hosts, int rank,
                             struct cc_schedule *p, struct cc_error *e)
{
    const struct cc_pow2_group f = cc_pow2_group_make(workers, rank);
    const size_t size = (size_t)f.size;
    (void)hosts;
    *p = (struct cc_schedule){.chunks = size, .owner_encodes_as = rank};
    CC_TRY(cc_pow2_group_add(&f, rank, false, p, e));
    for (size_t d = size / 2; d >= 1 && f.member >= 0; d /= 2)
        CC_TRY(add_round(&f, rank, d, true, p, e));
    p->reduce_rounds = p->rounds;
    p->owns_chunk = f.member >= 0;
    p->own_chunk = p->owns_chunk ? (size_t)f.member : 0;
    for (size_t d = 1; d < size && f.member >= 0; d *= 2)
        CC_TRY(add_round(&f, rank, d, false, p, e));
    return cc_pow2_group_add(&f, rank, true, p, e);
}

const struct cc_exchange_code cc_exchange_code_rabenseifner = {.schedule =
                                                                   cc_schedule_rabenseifner};
const struct cc_exchange_code cc_exchange_code_ssar_rabenseifner = {.schedule =
                                                                        cc_schedule_rabenseifner};
