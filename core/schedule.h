/* Schedules: which chunks of a message one rank sends to whom and receives from whom, round by
 * round. The exchanges without servers differ in their schedules only; what is done with the chunks
 * (adding floats, decoding and encoding again) is the reduction's business. */
#ifndef CC_CORE_SCHEDULE_H
#define CC_CORE_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/exchange.h"

/* One round of one rank. The fields from `encodes_as` on are for reductions that encode again; the
 * counts of workers only for rounds that reduce. */
struct cc_round {
    int to, from;                                          /* ranks; -1: none */
    size_t send_first, send_count, recv_first, recv_count; /* chunks */
    int64_t encodes_as;             /* the rank whose random numbers encode what is sent */
    uint64_t salt;                  /* added to the seed of that */
    int send_workers, recv_workers; /* workers whose gradients are in what is sent, and received */
    bool needs_clear; /* as in struct cc_transfer: the peer is another one than in the last round */
    bool begins;      /* with at_once: waits for all rounds before it, as later ones then do */
    bool inner;       /* inside a host */
    bool own_second;  /* where the same chunks are sent and received: this rank's part is the second
                         of the two in the order in which both ranks add them */
};

/* All rounds of one rank. The message's values are cut into chunks. In the first `reduce_rounds`
 * rounds received chunks are added to the rank's own; in the others they replace them. */
struct cc_schedule {
    size_t chunks;
    struct cc_round *round; /* to be freed */
    size_t rounds, reduce_rounds, capacity;
    /* The most rounds that do not wait for each other; 0: each waits for the one before it. A group
     * of such rounds begins with one that `begins`. */
    size_t at_once;
    bool sums_all; /* with at_once: the first rounds that reduce go on to add to other chunks than
                      the first does, so that all of the own values are needed from there on */
    /* After the rounds that reduce, this rank has the whole sum of one chunk; every rank decodes
     * the payload that this rank encodes it to. */
    bool owns_chunk;
    size_t own_chunk;
    int64_t owner_encodes_as;
    uint64_t owner_salt;
};

/* The end of the group of rounds that round k belongs to: rounds that reduce are in other groups
 * than those that do not. */
size_t cc_schedule_group_end(const struct cc_schedule *p, size_t k);

/* Appends a round. */
int cc_schedule_add(struct cc_schedule *p, const struct cc_round *r, struct cc_error *e);

/* The hosts of ranks, and how hierarchical reduces inside them and between them. */
struct cc_schedule_hosts {
    int per_host; /* ranks of each, host by host */
    enum cc_stage_exchange inner, outer;
};

/* Makes the schedule of `rank`, one of `workers` ranks on those hosts. *p is all zeros before; its
 * rounds are to be freed also on failure. */
typedef int cc_schedule_builder(int workers, struct cc_schedule_hosts hosts, int rank,
                                struct cc_schedule *p, struct cc_error *e);

/* Leaves only the rounds of the operation. */
void cc_schedule_keep(struct cc_schedule *p, enum cc_operation op);

/* Where only rank 0 needs the whole sums: sends each from its owner to rank 0 alone. *p: as built
 * for the rank. tree: where all ranks make one sum, those add that rank 0's sum depends on;
 * otherwise such a schedule stays as it is. */
int cc_schedule_to_first(cc_schedule_builder *build, int workers, struct cc_schedule_hosts hosts,
                         int rank, bool tree, struct cc_schedule *p, struct cc_error *e);

/* The exchanges' schedules: of split, those of twoshot, ssar-split and dsar-split. */
cc_schedule_builder cc_schedule_ring, cc_schedule_tree, cc_schedule_hierarchical, cc_schedule_split,
    cc_schedule_recdouble, cc_schedule_rabenseifner;

#endif
