/* twoshot, and for pairs that are merged ssar-split and dsar-split: allreduce by a direct
 * reduce-scatter and a direct allgather (SparCML, section 4, SSAR_Split_allgather and
 * DSAR_Split_allgather; of quantized values the two-shot allreduce of QuickReduce and torchft).
 *
 * The values are cut into P chunks. Every rank sends chunk c of its values to rank c, which adds
 * all of them in the order of the ranks, and then sends the sum to all others. All messages of a
 * stage can be under way at once: only the second stage waits for the first. In each round the
 * ranks are paired by a shift, so that no two send to the same rank if all are equally fast.
 *
 * twoshot: payloads that must be decoded are encoded twice, however many ranks there are: a rank
 * encodes what it sends of its own values, and the owner the sum of a chunk. The owner adds its own
 * values of the chunk as they are, and then those of the ranks before it, the nearest first. */
#include "core/schedule.h"

int cc_schedule_split(int workers, struct cc_schedule_hosts hosts, int rank, struct cc_schedule *p,
                      struct cc_error *e)
{
    const size_t n = (size_t)workers, me = (size_t)rank;
    (void)hosts;
    *p = (struct cc_schedule){.chunks = n,
                              .reduce_rounds = n - 1,
                              .at_once = n - 1,
                              .owns_chunk = true,
                              .own_chunk = me,
                              .owner_encodes_as = rank};
    for (int stage = 0; stage < 2; stage++)
        for (size_t d = 1; d < n; d++) {
            const bool reduces = stage == 0;
            const size_t to = (me + d) % n, from = (me + n - d) % n;
            const struct cc_round r = {.to = (int)to,
                                       .from = (int)from,
                                       .send_first = reduces ? to : me,
                                       .send_count = 1,
                                       .recv_first = reduces ? me : from,
                                       .recv_count = 1,
                                       .encodes_as = rank,
                                       .send_workers = reduces ? 1 : (int)n,
                                       .recv_workers = reduces ? 1 : (int)n,
                                       .begins = d == 1};
            CC_TRY(cc_schedule_add(p, &r, e));
        }
    return CC_OK;
}
