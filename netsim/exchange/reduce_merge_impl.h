/* The parts of reduce_merge, for reduce_merge*.c only: a rank's gradient, and a way to exchange it,
 * which is by one schedule. */
#ifndef CC_NETSIM_EXCHANGE_REDUCE_MERGE_IMPL_H
#define CC_NETSIM_EXCHANGE_REDUCE_MERGE_IMPL_H

#include "netsim/exchange/pack/pair_keep.h"
#include "netsim/exchange/pack/pair_stream.h"
#include "netsim/exchange/block_stream.h"
#include "netsim/exchange/chunks.h"
#include "netsim/exchange/exchange_code.h"

/* The whole sum of a chunk in this step. */
struct cc_merge_chunk {
    struct cc_stream_range range;
    size_t bound;       /* bytes of its stream; 0: it has no values, and nothing is sent for it */
    size_t dense_bytes; /* length of a stream of all values; 0: it is never sent as such */
    const uint8_t *at;  /* its stream, behind its length */
    size_t len;
    bool here, applied;
    struct cc_stream_view view;
    struct cc_pack *decoder; /* decodes all its values; NULL: they are never quantized */
    bool quantized;          /* in this step */
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

/* A rank's gradient of one message: its codecs, its payload, and that as pairs. */
struct cc_merge_gradient {
    struct cc_rank_state *rank_state;
    struct cc_range range;
    struct cc_pack *pack;
    uint8_t *payload; /* until it is pairs */
    size_t most;      /* pairs */
    struct cc_stream own;
    bool prunes; /* sums are re-sparsified: */
    struct cc_keep keep;
};

struct cc_merge {
    struct cc_rank_state *rank_state;
    struct cc_merge_gradient *gradient;
    enum cc_exchange exchange;            /* CC_DSAR_SPLIT: every value of a sum is sent */
    const struct cc_job_choices *choices; /* NULL, or those by which the second stage of a split is
                                             ssar-split's or dsar-split's */
    struct cc_schedule schedule;
    struct cc_range range;
    uint32_t tag;
    struct cc_stream sum[2]; /* sums of even and odd groups; pair and value are the same memory */
    const struct cc_stream *held;
    struct cc_merge_round *round_state;
    struct cc_merge_chunk *chunk;
    struct cc_merge_group *group;
    size_t groups;
    struct cc_stream_part *part;
    uint8_t *scratch; /* scratch memory of streams; NULL without data */
    bool encodes_own; /* the chunk that this rank owns: others need its sum, or decode it */
    uint8_t *whole;   /* the message with that sum; NULL without data, as all buffers */
    struct cc_pack *quantizer;
    float *values; /* the values of that chunk, for the quantizer */
    uint64_t sent; /* pairs of all gradients in `held` */
    size_t added;  /* groups */
    size_t begun;  /* rounds whose message has left */
    bool news;     /* whole sums are here that are not applied */
    struct cc_block_streams streams;
    bool has_sum; /* this rank ends with the whole sum of schedule.own_chunk */
};

/* The values of `count` chunks from `first` on. */
struct cc_stream_range cc_merge_values(const struct cc_merge *x, size_t first, size_t count);

static inline size_t cc_range_length(struct cc_stream_range r)
{
    return r.to - r.from;
}

/* The message of whole sums that a round passes on, from their lengths in this step. */
size_t cc_merge_chunks_bytes(const struct cc_merge *x, size_t first, size_t count);

/* Whether an exchange that has received its sums, of that many pairs of all gradients, sends them
 * as dsar-split does. */
bool cc_merge_dense(const struct cc_merge *x, uint64_t pairs);

/* --- without data (reduce_merge_sizes.c) --- */

/* The pairs in the sum of that many workers' values. */
size_t cc_merge_sum_pairs(const struct cc_merge *x, struct cc_stream_range r, int workers);
/* The message with the sum of that many workers' values; 0 without values. */
size_t cc_merge_message_bytes(const struct cc_merge *x, struct cc_stream_range r, int workers);
/* The pairs of all workers' gradients in this step. */
uint64_t cc_merge_known_pairs(const struct cc_merge_gradient *g);
/* The pairs of the whole sum that are kept; all of them in a job that keeps everything. */
size_t cc_merge_kept_pairs(const struct cc_merge *x);
/* Sets the lengths of the chunks' whole sums in this step. */
void cc_merge_set_lengths(struct cc_merge *x);
/* *out: the stream of a whole sum that the second scheme encodes. */
int cc_merge_quantized_bytes(const struct cc_merge *x, struct cc_stream_range r, size_t *out,
                             struct cc_error *e);

/* --- ways (reduce_merge_open.c) --- */

/* Opens a way of sending the gradient by the schedule of an exchange. `index`: the message's place
 * in the row. */
int cc_merge_open(struct cc_merge_gradient *g, enum cc_exchange exchange,
                  cc_schedule_builder *build, const struct cc_job_choices *choices, size_t index,
                  struct cc_merge **out, struct cc_error *e);
/* Also of an object that could not be opened wholly; NULL is nothing to close. */
void cc_merge_close(struct cc_merge *x);
/* Begins the exchange of the gradient, which has been encoded. */
void cc_merge_start(struct cc_merge *x);
/* *done: of everything, or of all but applying the sums, which are held. */
int cc_merge_test(struct cc_merge *x, bool *done, struct cc_error *e);
/* After an exchange: the pairs of all workers' gradients together, the same number on all ranks. */
uint64_t cc_merge_pairs(const struct cc_merge *x);

#endif
