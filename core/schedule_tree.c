/* tree: allreduce over two binary trees, each of half of the values (Sanders, Speck and Traeff,
 * Two-tree algorithms for full bandwidth broadcast, reduction and scan, Parallel Computing 2009;
 * NCCL's double binary trees, whose numbering this is).
 *
 * Sums go up to the root of a tree, and the whole sum comes down. A rank of the first tree has the
 * parent that its number's lowest set bit tells, so that odd ranks are leaves. The second tree is
 * the first one mirrored, or, of an odd number of hosts, moved by one: leaves of one tree are inner
 * nodes of the other, and every port sends and receives about twice the message, as in a ring, in
 * 2 log2 P message times.
 *
 * Hosts with several ranks are chains: the first tree leaves a host at its first rank, the second
 * at its last one, and both trees connect these.
 *
 * A rank sends what it has as a leaf, then adds what its children send. It passes whole sums on to
 * children before it waits for one that it only receives, and does the first tree before the second
 * one, and on to other hosts before its own, whose next rank may wait for the other tree's sum from
 * another host first: nobody waits in a circle. Messages are cut into chunks
 * (netsim/exchange/parts.c), which follow one another up and down the trees. */
#include "core/exchange_tree.h"
#include "core/schedule.h"

/* A round in which a tree's half of the values, `chunk`, is sent or received. */
static struct cc_round round_of(size_t chunk, int rank, int to, int from, int workers)
{
    return (struct cc_round){.to = to,
                             .from = from,
                             .send_first = chunk,
                             .send_count = to >= 0,
                             .recv_first = chunk,
                             .recv_count = from >= 0,
                             .encodes_as = rank,
                             .send_workers = workers,
                             .recv_workers = workers};
}

/* Adds what the children send, and sends the sum to the parent. */
static int add_up(struct cc_schedule *s, const struct cc_tree_place *t, size_t chunk, int rank,
                  struct cc_error *e)
{
    for (int i = 0; i < t->children; i++) {
        const struct cc_round r = round_of(chunk, rank, -1, t->child[i], t->child_workers[i]);
        CC_TRY(cc_schedule_add(s, &r, e));
    }
    const struct cc_round up = round_of(chunk, rank, t->parent, -1, t->workers);
    return t->parent < 0 ? CC_OK : cc_schedule_add(s, &up, e);
}

/* Passes the whole sum on to the children in the rank's host, or to those in others. */
static int pass_on(struct cc_schedule *s, const struct cc_tree_place *t, size_t chunk, int rank,
                   struct cc_schedule_hosts hosts, bool inside, int workers, struct cc_error *e)
{
    for (int i = 0; i < t->children; i++) {
        const struct cc_round on = round_of(chunk, rank, t->child[i], -1, workers);
        if ((t->child[i] / hosts.per_host == rank / hosts.per_host) == inside)
            CC_TRY(cc_schedule_add(s, &on, e));
    }
    return CC_OK;
}

static int add_down(struct cc_schedule *s, const struct cc_tree_place *t, size_t chunk, int rank,
                    struct cc_schedule_hosts hosts, int workers, struct cc_error *e)
{
    const struct cc_round whole = round_of(chunk, rank, -1, t->parent, workers);
    if (t->parent >= 0)
        CC_TRY(cc_schedule_add(s, &whole, e));
    CC_TRY(pass_on(s, t, chunk, rank, hosts, false, workers, e));
    return pass_on(s, t, chunk, rank, hosts, true, workers, e);
}

enum { LEAF, INNER, ROOT };

static int role_of(const struct cc_tree_place *t)
{
    return t->parent < 0 ? ROOT : t->children > 0 ? INNER : LEAF;
}

int cc_schedule_tree(int workers, struct cc_schedule_hosts hosts, int rank, struct cc_schedule *s,
                     struct cc_error *e)
{
    const size_t trees = workers > 1 ? 2 : 1;
    struct cc_tree_place place[2];
    *s = (struct cc_schedule){.chunks = trees, .owner_encodes_as = rank};
    for (size_t i = 0; i < trees; i++) {
        place[i] = cc_tree_place(workers, hosts.per_host, (int)i, rank);
        if (place[i].parent < 0) {
            s->owns_chunk = true;
            s->own_chunk = i;
        }
    }
    for (int turn = LEAF; turn <= ROOT; turn++)
        for (size_t i = 0; i < trees; i++)
            if (role_of(&place[i]) == turn)
                CC_TRY(add_up(s, &place[i], i, rank, e));
    s->reduce_rounds = s->rounds;
    for (int turn = ROOT; turn >= LEAF; turn--)
        for (size_t i = 0; i < trees; i++)
            if (role_of(&place[i]) == turn)
                CC_TRY(add_down(s, &place[i], i, rank, hosts, workers, e));
    return CC_OK;
}
