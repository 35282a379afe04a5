/* Scratch memory for the sums of streams, for pair_*.c only. */
#ifndef CC_NETSIM_MESSAGE_PAIR_SCRATCH_H
#define CC_NETSIM_MESSAGE_PAIR_SCRATCH_H

#include "netsim/message/pair_kernels.h"
#include "netsim/message/pair_stream.h"

/* A block of a sum; it stays in the second-level cache. Between calls `acc` is all -0 and `mark`
 * all 0 once `ready`. */
struct cc_scratch {
    float acc[CC_STREAM_BLOCK];
    uint8_t mark[CC_STREAM_BLOCK / CC_GROUP];
    struct cc_index_value pair[CC_STREAM_BLOCK + CC_PAIR_SLACK];
    bool ready;
};

#endif
