#include "core/schedule.h"

#include <stdlib.h>
#include <string.h>

#include "core/memory.h"

int cc_schedule_add(struct cc_schedule *p, const struct cc_round *r, struct cc_error *e)
{
    CC_TRY(CC_GROW(p->round, &p->capacity, p->rounds + 1, e));
    p->round[p->rounds++] = *r;
    return CC_OK;
}

size_t cc_schedule_group_end(const struct cc_schedule *p, size_t k)
{
    size_t end = k + 1;
    if (k >= p->rounds)
        return p->rounds;
    while (p->at_once > 0 && end < p->rounds && end != p->reduce_rounds && !p->round[end].begins)
        end++;
    return end;
}

void cc_schedule_keep(struct cc_schedule *p, enum cc_operation op)
{
    if (op == CC_REDUCE_SCATTER)
        p->rounds = p->reduce_rounds;
    if (op != CC_ALL_GATHER)
        return;
    p->rounds -= p->reduce_rounds;
    memmove(p->round, p->round + p->reduce_rounds, p->rounds * sizeof *p->round);
    p->reduce_rounds = 0;
}

/* Keeps the rounds of a doubling over one chunk that become part of rank 0's sum: the lower of two
 * ranks adds the other's to its own, and the higher one is done. */
static void keep_tree(int rank, struct cc_schedule *p)
{
    size_t kept = 0, reduce_rounds = 0;
    bool done = false;
    for (size_t k = 0; k < p->rounds; k++) {
        struct cc_round r = p->round[k];
        const bool reduces = k < p->reduce_rounds;
        if (reduces ? done : rank != 0 && r.to != 0)
            continue;
        if (r.to > rank && r.from >= 0) {
            r.to = -1;
            r.send_count = 0;
        } else if (r.to >= 0 && reduces) {
            done = true;
            r.from = -1;
            r.recv_count = 0;
        }
        reduce_rounds += reduces;
        p->round[kept++] = r;
    }
    p->rounds = kept;
    p->reduce_rounds = reduce_rounds;
}

int cc_schedule_to_first(cc_schedule_builder *build, int workers, struct cc_schedule_hosts hosts,
                         int rank, bool tree, struct cc_schedule *p, struct cc_error *e)
{
    const struct cc_round own = {
        .to = 0, .from = -1, .send_first = p->own_chunk, .send_count = 1, .begins = true};
    int status = CC_OK;
    if (p->chunks == 1) {
        if (tree)
            keep_tree(rank, p);
        return CC_OK;
    }
    p->rounds = p->reduce_rounds;
    if (rank > 0 && p->owns_chunk)
        return cc_schedule_add(p, &own, e);
    for (int i = 1; i < workers && rank == 0 && status == CC_OK; i++) {
        struct cc_schedule other = {0};
        status = build(workers, hosts, i, &other, e);
        const struct cc_round theirs = {
            .to = -1, .from = i, .recv_first = other.own_chunk, .recv_count = 1, .begins = i == 1};
        if (status == CC_OK && other.owns_chunk)
            status = cc_schedule_add(p, &theirs, e);
        free(other.round);
    }
    return status;
}
