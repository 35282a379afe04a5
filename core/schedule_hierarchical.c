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
 * Either stage may also go round a ring, and whole sums then come back round it.
 *
 * A stage waits for the one before it, and its messages are all under way at once. Of what a host
 * sends to others, (n - 1)/n of the values leave it each way: a ring's, by G ranks at a time.
 * Payloads that must be decoded are encoded three times, however many ranks there are: inside,
 * between, and as whole sums. With one rank a host it is twoshot. */
#include "core/schedule.h"

struct place {
    size_t hosts, ranks; /* ranks of a host */
    size_t host, local;  /* this rank's */
};

static int rank_at(const struct place *p, size_t host, size_t local)
{
    return (int)(host * p->ranks + local);
}

/* One of the stages: `members` ranks, of which this is `own`, and whose rank is rank_of(p, member);
 * each owns the chunks [first + m each, + each). */
struct stage {
    size_t members, own, first, each;
    enum cc_stage_exchange by;
    bool inner;
    int held, whole; /* workers in a member's own values before the stage, and in a whole sum */
};

static int member_rank(const struct place *p, const struct stage *t, size_t member)
{
    return t->inner ? rank_at(p, p->host, member) : rank_at(p, member, p->local);
}

/* All to all: d members on at a time. Round a ring: to the next member, in round d the part that it
 * has got in the round before; the sum of a part ends at its owner. */
static int add_stage(const struct place *p, const struct stage *t, bool reduces,
                     struct cc_schedule *s, struct cc_error *e)
{
    const size_t n = t->members, own = t->own;
    for (size_t d = 1; d < n; d++) {
        const bool ring = t->by == CC_STAGE_RING;
        const size_t to = (own + (ring ? 1 : d)) % n, from = (own + n - (ring ? 1 : d)) % n;
        /* d or, of whole sums, d - 1 members back. */
        const size_t back = d - (reduces ? 0 : 1), before = (own + n - back) % n;
        const size_t sends = ring ? before : reduces ? to : own;
        const size_t takes = ring ? (before + n - 1) % n : reduces ? own : from;
        const int summed = t->held * (ring ? (int)d : 1);
        const struct cc_round r = {.to = member_rank(p, t, to),
                                   .from = member_rank(p, t, from),
                                   .send_first = t->first + sends * t->each,
                                   .send_count = t->each,
                                   .recv_first = t->first + takes * t->each,
                                   .recv_count = t->each,
                                   .encodes_as = rank_at(p, p->host, p->local),
                                   .send_workers = reduces ? summed : t->whole,
                                   .recv_workers = reduces ? summed : t->whole,
                                   .begins = ring || d == 1,
                                   .inner = t->inner};
        CC_TRY(cc_schedule_add(s, &r, e));
    }
    return CC_OK;
}

int cc_schedule_hierarchical(int workers, struct cc_schedule_hosts hosts, int rank,
                             struct cc_schedule *s, struct cc_error *e)
{
    const struct place p = {.hosts = (size_t)(workers / hosts.per_host),
                            .ranks = (size_t)hosts.per_host,
                            .host = (size_t)(rank / hosts.per_host),
                            .local = (size_t)(rank % hosts.per_host)};
    const struct stage inside = {.members = p.ranks,
                                 .own = p.local,
                                 .each = p.hosts,
                                 .by = hosts.inner,
                                 .inner = true,
                                 .held = 1,
                                 .whole = workers};
    const struct stage between = {.members = p.hosts,
                                  .own = p.host,
                                  .first = p.local * p.hosts,
                                  .each = 1,
                                  .by = hosts.outer,
                                  .held = hosts.per_host,
                                  .whole = workers};
    const size_t most = p.hosts > p.ranks ? p.hosts : p.ranks;
    *s =
        (struct cc_schedule){.chunks = (size_t)workers,
                             .at_once = most > 1 ? most - 1 : 1,
                             .sums_all = (p.ranks > 1 ? hosts.inner : hosts.outer) == CC_STAGE_RING,
                             .owns_chunk = true,
                             .own_chunk = p.local * p.hosts + p.host,
                             .owner_encodes_as = rank};
    CC_TRY(add_stage(&p, &inside, true, s, e));
    CC_TRY(add_stage(&p, &between, true, s, e));
    s->reduce_rounds = s->rounds;
    CC_TRY(add_stage(&p, &between, false, s, e));
    return add_stage(&p, &inside, false, s, e);
}
