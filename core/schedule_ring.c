/* ring: allreduce on a ring, as a reduce-scatter and an allgather (Patarasuk and Yuan, Bandwidth
 * optimal all-reduce algorithms for clusters of workstations, JPDC 2009; Baidu's and Horovod's
 * allreduce).
 *
 * The values are cut into P chunks. In each of 2(P - 1) rounds every rank sends one chunk to its
 * right neighbor and receives one from its left neighbor. Chunk c starts at rank c and travels once
 * around: each rank adds its own values, and rank c - 1, the last one, has the whole sum after P -
 * 1 rounds. Then it travels around once more, so that every rank gets it. Each rank sends 2(P -
 * 1)/P of the message, which is the least possible, at the price of 2(P - 1) latencies. */
#include "core/schedule.h"

int cc_schedule_ring(int workers, struct cc_schedule_hosts hosts, int rank, struct cc_schedule *p,
                     struct cc_error *e)
{
    const size_t n = (size_t)workers, me = (size_t)rank;
    (void)hosts;
    *p = (struct cc_schedule){.chunks = n,
                              .reduce_rounds = n - 1,
                              .owns_chunk = true,
                              .own_chunk = (me + 1) % n,
                              .owner_encodes_as = rank};
    for (size_t k = 0; k < 2 * (n - 1); k++) {
        const struct cc_round r = {.to = (int)((me + 1) % n),
                                   .from = (int)((me + n - 1) % n),
                                   .send_first = (me + 2 * n - k) % n,
                                   .send_count = 1,
                                   .recv_first = (me + 2 * n - k - 1) % n,
                                   .recv_count = 1,
                                   .encodes_as = rank,
                                   .send_workers = (int)k + 1,
                                   .recv_workers = (int)k + 1};
        CC_TRY(cc_schedule_add(p, &r, e));
    }
    return CC_OK;
}
