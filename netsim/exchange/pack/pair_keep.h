/* Re-sparsification of sums (Li and Hoefler, Near-Optimal Sparse Allreduce for Distributed Deep
 * Learning, PPoPP 2022: Ok-Topk): of the exact sum of all workers' pairs only those values are kept
 * whose magnitude reaches a threshold that all ranks share. Each worker gives the others back to
 * its codecs (cc_pack_give_back): what it sent in vain is sent again with later gradients.
 *
 * The threshold of a step follows from the sum that the step before has kept, which is the same on
 * all ranks. The first step keeps everything. All memory is the caller's. */
#ifndef CC_NETSIM_EXCHANGE_PACK_PAIR_KEEP_H
#define CC_NETSIM_EXCHANGE_PACK_PAIR_KEEP_H

#include "netsim/exchange/pack/pair_stream.h"

struct cc_keep {
    size_t wanted;      /* how many values of a sum are to be kept, at least 1 */
    uint32_t threshold; /* the bits of the least magnitude that this step keeps; 0: everything */
    int64_t surplus;    /* values kept beyond the wanted ones, over all steps */
    bool too_few;       /* the step before kept too few to tell a threshold */
    float *value;       /* the values kept in this step; room for all of the message */
    size_t kept;
    struct cc_index_value *vain; /* room for all pairs of this worker */
    size_t vains;                /* those of the part that was taken in last */
};

/* Steps in which a surplus is made up for. */
enum { CC_REPAY = 8 };

/* The values that a message of n values keeps by a density: at least 1. */
size_t cc_keep_wanted(double density, size_t n);

/* Takes what is below the step's threshold out of a sum in memory. */
void cc_keep_prune(const struct cc_keep *k, struct cc_stream *sum);
/* Takes in `part`, the step's sum of the values `range`: adds it to the kept values, and lists in
 * `vain` this worker's pairs in `own` that it lacks. `scratch`: cc_stream_scratch bytes. */
void cc_keep_take(struct cc_keep *k, struct cc_stream_part *part, struct cc_stream_range range,
                  const struct cc_stream *own, void *scratch);
/* Ends a step, all of whose sum has been taken in: sets the next one's threshold. */
void cc_keep_end_step(struct cc_keep *k);

#endif
