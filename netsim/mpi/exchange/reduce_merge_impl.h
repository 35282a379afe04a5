/* The state of reduce_merge in one message, and how it is opened and closed: for reduce_merge*.c
 * only. */
#ifndef CC_NETSIM_MPI_EXCHANGE_REDUCE_MERGE_IMPL_H
#define CC_NETSIM_MPI_EXCHANGE_REDUCE_MERGE_IMPL_H

#include "netsim/message/pair_stream.h"
#include "netsim/mpi/exchange/block_stream.h"
#include "netsim/mpi/exchange/chunks.h"
#include "netsim/mpi/exchange/reduction.h"

/* The whole sum of a chunk in this step. */
struct cc_merge_chunk {
    struct cc_stream_range range;
    size_t bound;      /* bytes of its stream; 0: it has no values, and nothing is sent for it */
    const uint8_t *at; /* its stream, behind its length */
    size_t len;
    bool here, applied;
    struct cc_stream_view view;
    struct cc_pack *decoder; /* quantized: of all its values */
};

struct cc_merge_round {
    struct cc_stream_range sent, received;
    size_t pairs; /* the most that are received in a round that reduces */
    uint8_t *out, *in;
    size_t out_capacity, in_capacity;
    struct cc_transfer send, recv;
    struct cc_stream_view view;
    bool taken; /* what was received has been checked */
};

/* Rounds first .. end - 1, which are added at once. */
struct cc_merge_group {
    size_t first, end;
};

struct cc_merge {
    const struct cc_reduction_ops *ops;
    struct cc_rank_state *rank_state;
    const struct cc_job_message *message;
    struct cc_schedule schedule;
    struct cc_range range;
    uint32_t tag;
    struct cc_pack *pack; /* this rank's gradient */
    uint8_t *payload;
    size_t most; /* pairs of a gradient */
    struct cc_stream own;
    struct cc_stream sum[2]; /* of even and odd groups */
    void *sum_memory[2];
    const struct cc_stream *held;
    struct cc_merge_round *round_state;
    struct cc_merge_chunk *chunk;
    struct cc_merge_group *group;
    size_t groups;
    struct cc_stream_part *part;
    void *scratch;
    bool encodes_own; /* the chunk that this rank owns: others need its sum, or decode it */
    uint8_t *whole;   /* the message with that sum; NULL without data, as all buffers */
    struct cc_pack *quantizer;
    float *values; /* of that chunk, for the quantizer */
    uint64_t sent; /* pairs of all gradients in `held` */
    size_t added;  /* groups */
    size_t begun;  /* rounds whose message has left */
    struct cc_block_streams streams;
    bool has_sum; /* this rank ends with the whole sum of schedule.own_chunk */
    bool over;
};

/* The values of `count` chunks from `first` on. */
struct cc_stream_range cc_merge_values(const struct cc_merge *x, size_t first, size_t count);

/* Whether every value of a chunk is sent, whatever its sum is. */
static inline bool cc_merge_sends_dense(const struct cc_merge *x)
{
    return x->rank_state->job->exchange == CC_DSAR_SPLIT;
}

static inline size_t cc_range_length(struct cc_stream_range r)
{
    return r.to - r.from;
}

/* The message of whole sums that a round passes on, from their lengths in this step. */
size_t cc_merge_chunks_bytes(const struct cc_merge *x, size_t first, size_t count);

/* --- without data (reduce_merge_sizes.c) --- */

/* The message with the sum of so many workers' values; 0 if there are no values. */
size_t cc_merge_message_bytes(const struct cc_merge *x, struct cc_stream_range r, int workers);
/* Sets the lengths of the chunks' whole sums in this step. */
void cc_merge_set_lengths(struct cc_merge *x);
/* *out: the stream of a whole sum that the second scheme encodes. */
int cc_merge_quantized_bytes(const struct cc_merge *x, struct cc_stream_range r, size_t *out,
                             struct cc_error *e);

/* --- opening and closing --- */

/* Makes all that the steps need, once the first members, down to `range`, are set: buffers, packs,
 * groups. */
int cc_merge_open(struct cc_merge *x, size_t index, struct cc_error *e);
/* Also of an object that could not be opened wholly. */
void cc_merge_close(void *of);

#endif
