/* A group of 2^k ranks within P ranks, for schedules that need a power of two.
 *
 * With P = 2^k + r ranks, the first 2r form r pairs. The even rank of a pair is an extra rank: it
 * hands its values to the odd one, its proxy, before the first round, stays out of all rounds, and
 * gets the sum from its proxy after the last one. Proxies and the P - 2r ranks behind the pairs
 * (base ranks) are the members of the group, numbered from 0. The names are UCC's
 * (coll_patterns/recursive_knomial.h), the method is Rabenseifner's (Optimization of Collective
 * Reduction Operations, ICCS 2004, section 2.3) and MPICH's. */
#ifndef CC_NETSIM_EXCHANGE_POW2_GROUP_H
#define CC_NETSIM_EXCHANGE_POW2_GROUP_H

#include "core/schedule.h"

struct cc_pow2_group {
    int size;   /* 2^k: members */
    int extras; /* r: extra ranks, and proxies; members 0 .. r-1 are the proxies */
    int member; /* this rank's number in the group; -1: it is an extra rank */
};
struct cc_pow2_group cc_pow2_group_make(int workers, int rank);

int cc_pow2_group_rank(const struct cc_pow2_group *f, int member);
/* The lowest rank whose gradient is in the values of members `member` and above: a proxy's extra
 * rank is below it. */
int cc_pow2_group_lowest(const struct cc_pow2_group *f, int member);
/* The number of workers' gradients in the values of `count` members: `member`, member + stride,
 * ... */
int cc_pow2_group_workers(const struct cc_pow2_group *f, int member, int stride, int count);

/* Adds the round before the first (extra ranks send all chunks to their proxies), or the round
 * after the last (proxies send them the sum), to their schedules. */
int cc_pow2_group_add(const struct cc_pow2_group *f, int rank, bool last, struct cc_schedule *p,
                      struct cc_error *e);

#endif
