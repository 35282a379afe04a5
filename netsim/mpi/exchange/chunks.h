/* The whole sums of a message's chunks, as they are sent to all: what decodes them, and, without
 * data, how long they are. Alike for all ranks then, so that those in one process share it: ten
 * million decoders would take long to make. */
#ifndef CC_NETSIM_MPI_EXCHANGE_CHUNKS_H
#define CC_NETSIM_MPI_EXCHANGE_CHUNKS_H

#include "netsim/mpi/exchange/reduction.h"

struct cc_chunk {
    struct cc_pack *decoder;
    size_t bound; /* 0: it has no values, and nobody sends any */
};

struct cc_chunks {
    struct cc_chunk *chunk;
    size_t count;
    /* Without data: */
    const struct cc_job_message *of;
    int holders;
    struct cc_chunks *next;
    /* Of two steps, as some ranks are ahead of others: even and odd ones. */
    struct {
        bool known;
        uint64_t step;
        size_t *bytes;
    } sent[2];
};

/* Cuts the message as the plan says. Close it also after an error. */
int cc_chunks_open(const struct cc_rank_state *s, const struct cc_job_message *m,
                   const struct cc_schedule *plan, struct cc_chunks **out, struct cc_error *e);
void cc_chunks_close(struct cc_chunks *c);

/* Without data: the bytes of each chunk in this step, heads included. */
const size_t *cc_chunks_bytes(struct cc_chunks *c, uint64_t step);

/* The values of `count` chunks from `first` on. */
struct cc_range cc_chunks_range(struct cc_range message, size_t chunks, size_t first, size_t count);

#endif
