/* Exchanges written down message by message, from the algorithms' definitions. The vector is cut
 * into chunks; every worker begins with its own contribution to each. A schedule is run in two
 * ways: on the contributions, to check that it is an allreduce at all, and on ports.h, to find its
 * time. */
#ifndef CC_TESTS_LIB_SCHEDULE_H
#define CC_TESTS_LIB_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/lib/ports.h"

enum { SCHEDULE_MOST_HOSTS = 32 };

/* One message: chunks [first, first + count), modulo the number of chunks, as `from` has them at
 * the beginning of the round. */
struct transfer {
    int round, from, to, first, count;
    bool adds; /* the receiver adds it to its own chunk instead of replacing that */
};

struct schedule {
    int hosts, chunks, rounds;
    bool gathers; /* host i begins with chunk i alone, and all receive all chunks as they are */
    struct transfer *transfer;
    size_t transfers;
};

/* The costs of a schedule's operations. */
struct schedule_costs {
    double alpha, byte_s, framing; /* framing: bytes of a message beyond its contents */
    /* bytes of a chunk that holds the sum of the workers in the set `who` */
    double (*bytes)(const void *arg, int chunk, uint32_t who);
    const void *arg;
    double reduce_byte_s; /* for adding received bytes */
    double merge_byte_s;  /* for adding all that is added: received bytes, and once own ones */
    /* Codec times, for all chunks together. A chunk that was changed since it was encoded is
     * encoded before it is sent; a received chunk is decoded onto a sum, or kept as it came. A host
     * that adds to a chunk that it has sent first decodes its own encoding; at the end every host
     * decodes the chunks that it holds encoded. */
    double encode_s, add_s, decode_s;
    double sum_more_s; /* by which encoding the sum of several workers takes longer */
    const struct ports_groups *groups; /* links of a second class, or NULL */
};

struct schedule_result {
    double time;
    double most_sent; /* bytes of the busiest host, framing included */
    size_t most_messages;
};

void schedule_ring(int p, struct schedule *out);
void schedule_recdouble(int p, struct schedule *out);
void schedule_rabenseifner(int p, struct schedule *out);
void schedule_bruck(int p, struct schedule *out);
/* p workers, then `servers` servers; server s sums chunk s. */
void schedule_servers(int p, int servers, struct schedule *out);
/* The same with server i on the host of worker i. servers <= p. */
void schedule_colocated(int p, int servers, struct schedule *out);
/* Each worker sends the others' chunks to them directly, all at once, and then its own chunk to all
 * others. */
void schedule_split(int p, struct schedule *out);
/* The same inside each host of a slice of the chunks, and then between workers of equal local
 * number of single chunks; whole ones go the way back. Worker l of host h has chunk l p / per_host
 * + h. */
void schedule_hierarchical(int p, int per_host, struct schedule *out);
/* SparCML's: P - 1 rounds in which each worker sends one of the others' chunks, then
 * schedule_bruck. */
void schedule_split_printed(int p, struct schedule *out);
void schedule_free(struct schedule *s);

/* Fails the test unless every one of the first `workers` hosts ends with all contributions, each
 * exactly once. */
void schedule_run(const struct schedule *s, int workers, const struct schedule_costs *c,
                  struct schedule_result *out);

#endif
