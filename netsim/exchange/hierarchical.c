/* hierarchical: allreduce inside each host, between the hosts among ranks of equal local number,
 * and inside again (ZeRO++'s qgZ, Wang et al. 2023, section 3.3; COCCL's three-shot).
 *
 * n hosts of G ranks each; rank h G + l is rank l of host h. The values are cut into G n chunks, of
 * which l n + h belongs to rank l of host h: a slice of n chunks for each local number.
 *
 * Inside: every rank sends slice l' of its values to rank l' of its host, which adds all G.
 * Between: rank l of host h sends chunk l n + h' of that sum to rank l of host h', which adds all
 * n. Then the owner sends its chunk to the n - 1 ranks of its local number, and each of these the n
 * chunks of its slice to the G - 1 others of its host, as they are.
 *
 * A stage waits for the one before it, and its messages are all under way at once. Of what a host
 * sends to others, (n - 1)/n of the values leave it each way: a ring's, by G ranks at a time.
 * Payloads that must be decoded are encoded three times, however many ranks there are: inside,
 * between, and as whole sums. With one rank a host it is twoshot. */
#include "netsim/exchange/exchange_code.h"

struct place {
    size_t hosts, ranks; /* ranks of a host */
    size_t host, local;  /* this rank's */
};

static int rank_at(const struct place *p, size_t host, size_t local)
{
    return (int)(host * p->ranks + local);
}

/* A stage inside the host. */
static int add_inner(const struct place *p, bool reduces, struct cc_schedule *s, struct cc_error *e)
{
    for (size_t d = 1; d < p->ranks; d++) {
        const size_t to = (p->local + d) % p->ranks, from = (p->local + p->ranks - d) % p->ranks;
        const int workers = reduces ? 1 : (int)(p->hosts * p->ranks);
        const struct cc_round r = {.to = rank_at(p, p->host, to),
                                   .from = rank_at(p, p->host, from),
                                   .send_first = (reduces ? to : p->local) * p->hosts,
                                   .send_count = p->hosts,
                                   .recv_first = (reduces ? p->local : from) * p->hosts,
                                   .recv_count = p->hosts,
                                   .encodes_as = rank_at(p, p->host, p->local),
                                   .send_workers = workers,
                                   .recv_workers = workers,
                                   .begins = d == 1,
                                   .inner = true};
        CC_TRY(cc_schedule_add(s, &r, e));
    }
    return CC_OK;
}

/* A stage between the ranks of one local number. */
static int add_outer(const struct place *p, bool reduces, struct cc_schedule *s, struct cc_error *e)
{
    const size_t slice = p->local * p->hosts;
    for (size_t d = 1; d < p->hosts; d++) {
        const size_t to = (p->host + d) % p->hosts, from = (p->host + p->hosts - d) % p->hosts;
        const int workers = (int)(reduces ? p->ranks : p->hosts * p->ranks);
        const struct cc_round r = {.to = rank_at(p, to, p->local),
                                   .from = rank_at(p, from, p->local),
                                   .send_first = slice + (reduces ? to : p->host),
                                   .send_count = 1,
                                   .recv_first = slice + (reduces ? p->host : from),
                                   .recv_count = 1,
                                   .encodes_as = rank_at(p, p->host, p->local),
                                   .send_workers = workers,
                                   .recv_workers = workers,
                                   .begins = d == 1};
        CC_TRY(cc_schedule_add(s, &r, e));
    }
    return CC_OK;
}

static int build(int workers, int per_host, int rank, struct cc_schedule *s, struct cc_error *e)
{
    const struct place p = {.hosts = (size_t)(workers / per_host),
                            .ranks = (size_t)per_host,
                            .host = (size_t)(rank / per_host),
                            .local = (size_t)(rank % per_host)};
    const size_t most = p.hosts > p.ranks ? p.hosts : p.ranks;
    *s = (struct cc_schedule){.chunks = (size_t)workers,
                              .at_once = most > 1 ? most - 1 : 1,
                              .owns_chunk = true,
                              .own_chunk = p.local * p.hosts + p.host,
                              .owner_encodes_as = rank};
    CC_TRY(add_inner(&p, true, s, e));
    CC_TRY(add_outer(&p, true, s, e));
    s->reduce_rounds = s->rounds;
    CC_TRY(add_outer(&p, false, s, e));
    return add_inner(&p, false, s, e);
}

const struct cc_exchange_code cc_exchange_code_hierarchical = {.schedule = build};
