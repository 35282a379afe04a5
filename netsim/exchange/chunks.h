/* The chunks of a message as whole sums: the packs that decode them, and, without data, how long
 * their payloads are. These are the same for all ranks, so ranks that share memory share them: one
 * pack per rank and chunk would be ten million packs for some thousand ranks. */
#ifndef CC_NETSIM_EXCHANGE_CHUNKS_H
#define CC_NETSIM_EXCHANGE_CHUNKS_H

#include "netsim/exchange/message_pack.h"
#include "core/schedule.h"

struct cc_chunk {
    struct cc_pack *decoder;
    size_t bound; /* the payload's; 0: the chunk has no values, and nothing is sent for it */
};

struct cc_chunks {
    struct cc_chunk *chunk;
    size_t count;
    int holders; /* ranks that share them */
    const struct cc_message *message;
    int collective;                 /* that the message is one of */
    struct cc_range of;             /* its values, or some of them */
    struct cc_chunks **list, *next; /* where they are listed; NULL: they are not shared */
    /* Without data: */
    struct {
        bool known;
        uint64_t step;
        size_t *bytes;
    } sent[2]; /* payload bytes in an even and an odd step: some ranks are one step ahead */
};

/* How this rank encodes the whole sum of its chunk: a scheme of the second stage has the costs of
 * pulls (struct cc_job_cost), and random numbers of its own. */
struct cc_pack_config cc_chunks_config(const struct cc_rank_state *s,
                                       const struct cc_schedule *schedule);

/* Cuts the values into the schedule's chunks. Close them also after an error. */
int cc_chunks_open(const struct cc_rank_state *s, const struct cc_message *m, struct cc_range all,
                   const struct cc_schedule *schedule, struct cc_chunks **out, struct cc_error *e);
/* NULL is nothing to close. */
void cc_chunks_close(struct cc_chunks *c);

/* Without data: the payload bytes of each chunk in this step, heads included. */
const size_t *cc_chunks_bytes(struct cc_chunks *c, uint64_t step);

/* The values of `count` chunks from `first` on, if the message is cut into that many chunks. */
struct cc_range cc_chunks_range(struct cc_range message, size_t chunks, size_t first, size_t count);
/* Drops the rounds that move no values: small messages have fewer chunks with values than ranks. */
void cc_chunks_drop_empty(struct cc_range message, struct cc_schedule *s);

#endif
