/* Block streams: transfers of bytes between ranks, cut into blocks. All reductions move their bytes
 * through them.
 *
 * A stream carries one message's transfers in one direction, one after the other. It cuts them into
 * blocks, of which at most CC_BLOCKS of each transfer are under way, so that received blocks can be
 * added, and passed on, while later ones are still being sent. Where a schedule has transfers that
 * do not wait for each other, to or from many ranks, as many as CC_SMALL_AT_ONCE small ones are
 * under way, so that together they wait for one latency. Blocks are small enough for MPI's eager
 * protocol. With its rendezvous protocol MPI would ask the receiver before each send, and that
 * request would wait behind the blocks of other transfers.
 *
 * Lengths. A receiver may not know how long a payload will be. Such a transfer is `sized`: it
 * begins with a u64, the number of bytes that follow. The receiver posts its first block for the
 * largest possible length, and further blocks only when it has read that number: of this transfer
 * and of later ones. Where transfers do not wait for each other, and in collectives of sharded
 * states, which go in turn, it posts later ones if this one fits into a block.
 *
 * Clear to send. Where ranks change peers from round to round, a rank that is early would send to
 * one that is still receiving from another, and slow down a transfer that others wait for. So a
 * transfer that `needs_clear` begins only when its receiver says so (an empty message with a tag of
 * its own), once all its earlier transfers are complete. Jobs can switch this off (`rendezvous`).
 */
#ifndef CC_NETSIM_EXCHANGE_BLOCK_STREAM_H
#define CC_NETSIM_EXCHANGE_BLOCK_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "netsim/exchange/rank_state.h"

enum {
    CC_BLOCK_BYTES = 48 * 1024, /* unless the job says otherwise. A multiple of 4, so that blocks of
                                   floats are whole floats */
    CC_BLOCKS = 4,              /* a transfer's blocks under way at a time */
    CC_SMALL_AT_ONCE = 32,      /* blocks of transfers that do not wait for each other */
    CC_SIZE_BYTES = 8           /* the number that a sized transfer begins with */
};

/* Bytes to one rank, or from one rank. */
struct cc_transfer {
    int peer;
    uint8_t *at;  /* NULL without data; of what is received also where the transport lends: it is
                     set when the bytes are there */
    size_t bytes; /* for a sized transfer that is received: its capacity, until the first block is
                     there; without data, its length */
    bool sized;   /* the receiver reads its length from the first block */
    bool needs_clear; /* it begins after the receiver's clear to send. The same on both sides */
    bool cleared;     /* the clear to send has been sent, or received, or is not needed */
    size_t ready;     /* bytes from the beginning that may be sent, or overwritten, by now */
    size_t posted, done;
    struct cc_transfer *next;
};

/* Between two ranks, transfers must be added in the same order on both sides. */
struct cc_block_stream {
    int tag; /* the blocks'; tag + 1: clear to send */
    size_t block_bytes;
    bool rendezvous;     /* transfers that need a clear to send wait for it */
    bool awaiting_clear; /* a clear to send is under way */
    bool sends;
    struct cc_rank_state *rank_state;
    size_t index;                       /* the message's */
    struct cc_transfer *posting, *last; /* the first that is not wholly posted; the last added */
    struct {
        struct cc_transfer *of;
        size_t bytes;
    } * block;                  /* a ring buffer of `most` */
    size_t most, first, blocks; /* under way: at most, the first, how many */
    bool ahead; /* a transfer that fits into a block does not keep later ones from being posted */
    struct cc_requests requests; /* for the blocks and the clear to send */
};

/* Appends a transfer; it must stay in place until it is complete. */
void cc_block_stream_add(struct cc_block_stream *s, struct cc_transfer *t);
bool cc_transfer_complete(const struct cc_transfer *t);
/* Whether all transfers that were added are complete. */
bool cc_block_stream_idle(const struct cc_block_stream *s);

/* The streams of one message in both directions. at_once: transfers in each direction that do not
 * wait for each other; 1 if each waits for the one before it. */
struct cc_block_streams {
    struct cc_block_stream out, in;
};
int cc_block_streams_open(struct cc_block_streams *s, struct cc_rank_state *rank_state,
                          size_t index, size_t at_once, struct cc_error *e);
/* Tells the streams' blocks apart from those of others by a channel instead of the message. */
void cc_block_streams_tag(struct cc_block_streams *s, size_t channel);
/* Makes all progress that is possible without waiting; sets *moved if there was any. */
int cc_block_streams_progress(struct cc_block_streams *s, bool *moved, struct cc_error *e);
/* Cancels what is under way, after an error. All zeros are nothing to close. */
void cc_block_streams_close(struct cc_block_streams *s);

#endif
