/* Streams: bytes from rank to rank in blocks, of which a few are under way at a time. Everything
 * that exchanges send as it is goes through here.
 *
 * Blocks are so small that MPI sends them at once instead of asking the receiver first: such a
 * question would wait behind the blocks of other transfers. */
#ifndef CC_NETSIM_MPI_EXCHANGE_BLOCK_STREAM_H
#define CC_NETSIM_MPI_EXCHANGE_BLOCK_STREAM_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "netsim/mpi/exchange/rank_state.h"

enum {
    CC_BLOCK_BYTES = 48 * 1024, /* a multiple of 4: blocks of floats are whole floats. Or as large
                                   as the job says */
    CC_BLOCKS = 4,              /* under way at a time, in each direction of one message */
    CC_SIZE_BYTES = 8           /* of the number before a transfer whose receiver does not know its
                                   length: u64, the bytes that follow */
};

/* Bytes that go to, or come from, one rank. */
struct cc_transfer {
    int peer;
    uint8_t *at;  /* NULL without data */
    size_t bytes; /* of a sized one that comes: the room, until its first block is there; without
                     data, what will come */
    bool sized;   /* it begins with its size: who gets it takes no further block, and no further
                     transfer, before the first block is there */
    bool needs_clear; /* it leaves only once its receiver says that nothing else is on the way to
                   it: so of ranks that come from one peer and go to another, nobody who is early
                   slows down what others are still waiting for. Alike on both sides */
    bool cleared;     /* that has been said, or heard */
    size_t ready;     /* so many, from the beginning, may be sent or overwritten by now */
    size_t posted, done;
    struct cc_transfer *next;
};

/* Transfers in one direction, one after the other: between two ranks they must be in the same order
 * on both. */
struct cc_block_stream {
    MPI_Comm comm;
    int tag;
    size_t block_bytes;
    bool rendezvous;     /* transfers that want to be asked for are */
    bool awaiting_clear; /* the receiver's word is under way */
    bool sends;
    struct cc_rank_state *rank_state;
    size_t index; /* of the message */
    struct cc_transfer *posting, *last;
    struct {
        struct cc_transfer *of;
        size_t bytes;
    } block[CC_BLOCKS];
    size_t first, blocks;        /* under way */
    struct cc_requests requests; /* of the blocks, and of the receiver's word */
};

int cc_block_stream_open(struct cc_block_stream *s, struct cc_rank_state *rank_state, size_t index,
                         bool sends, struct cc_error *e);
/* Puts a transfer at the end, with nothing posted yet; it must stay where it is until it is
 * complete. */
void cc_block_stream_add(struct cc_block_stream *s, struct cc_transfer *t);
/* Goes on as far as it can; *moved is set if that was anywhere. */
int cc_block_stream_go(struct cc_block_stream *s, bool *moved, struct cc_error *e);
bool cc_transfer_complete(const struct cc_transfer *t);
/* All that was added is complete. */
bool cc_block_stream_idle(const struct cc_block_stream *s);
/* Forgets what is under way, after an error. All zeros are nothing to close. */
void cc_block_stream_close(struct cc_block_stream *s);

#endif
