/* Loops that move bytes and do nothing else, as a limit for the speed of codecs; and the cache that
 * decides whether memory is the limit at all. */
#ifndef CC_BENCH_MEMORY_H
#define CC_BENCH_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/isa.h"

#define CC_STREAMS 4

/* The bytes that one pass moves. Streams and payload begin on CC_ALIGN, and their sizes are
 * multiples of it. */
struct cc_moves {
    /* First those that are read, then those updated in place, then those written. */
    unsigned char *stream[CC_STREAMS];
    unsigned reads, updates, writes;
    bool half;           /* the first stream, which is read, has half the length of the others */
    size_t stream_bytes; /* the length of each stream */
    unsigned char *payload;
    size_t payload_bytes; /* spread over the pass */
    bool payload_in;      /* true: read; false: written */
    /* Not NULL: only these lines (of 64 bytes) of the first stream are updated; then the payload is
     * read. */
    const uint32_t *line;
    size_t line_count;
    /* Not NULL: a line whose bit is not set is written as zeros, the others with a single value
     * that is not zero. `first_bit` belongs to the first line. Some machines write zeros faster. */
    const uint8_t *filled;
    size_t first_bit;
};

/* Lines that are prefetched from so far ahead go into the second-level cache: more can be on their
 * way there than to the first. Measured on Zen 4: 18 cycles a line, and 40. */
#define CC_LINES_FAR 64

/* The variant of the loop. */
struct cc_copy_loop {
    size_t block; /* bytes of each stream in turn */
    size_t ahead; /* distance of software prefetching in bytes (with a list: in lines); 0: none */
    bool nontemporal; /* write around the cache */
    bool touch;       /* at each block, prefetch one line of every stream's next page, so that its
                         address is translated in time */
};

struct k_memory {
    /* The result depends on every byte that was read, so that no read can be optimized away. */
    unsigned (*move)(const struct cc_moves *m, const struct cc_copy_loop *config);
};
CC_KERNELS(k_memory)

/* The kernel of the machine's best instruction set, regardless of COMMCOMP_ISA. */
const struct k_memory *cc_memory_best(void);

/* Whether memory limits the speed of a codec on a tensor of this many values: the tensor is at
 * least twice as large as the cache, so that no part that happens to stay there matters. */
bool cc_memory_limits(size_t values);

/* The most values of a tensor that is worked on in the second-level cache: eight such tensors fill
 * it. */
size_t cc_l2_values(void);

/* Evicts everything from the caches by reading twice as much as they hold. Each timed call on such
 * a tensor, and each loop it is compared with, begins with this: otherwise the time would depend on
 * the part of the tensor that the call before left in the cache. */
struct cc_cache_flush {
    unsigned char *buffer;
    size_t bytes;
};
int cc_cache_flush_open(struct cc_cache_flush *c, struct cc_error *e);
void cc_cache_flush_close(struct cc_cache_flush *c);
void cc_cache_flush_run(const struct cc_cache_flush *c);

#endif
