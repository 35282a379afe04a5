/* Loops that move bytes and do nothing else: what a codec's speed is held against. */
#ifndef CC_BENCH_MEMORY_H
#define CC_BENCH_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/isa.h"

#define CC_STREAMS 4

/* The bytes that one pass moves. Streams and payload begin on CC_ALIGN and are multiples of it. */
struct cc_moves {
    unsigned char *stream[CC_STREAMS]; /* those read, then those updated in place, those written */
    unsigned reads, updates, writes;
    size_t stream_bytes; /* of each */
    unsigned char *payload;
    size_t payload_bytes; /* spread over the pass */
    bool payload_in;      /* read, else written */
    /* Not NULL: only these lines of 64 bytes of the first stream are updated, and then the payload
     * read. */
    const uint32_t *line;
    size_t line_count;
    /* Not NULL: zeros are written to the lines whose bit is not set (`first_bit` is that of the
     * first line), and a single value to the others. Some machines write zeros faster. */
    const uint8_t *filled;
    size_t first_bit;
};

/* How to go about it. */
struct cc_copy_loop {
    size_t block; /* bytes of each stream in turn */
    size_t ahead; /* fetch what lies so many bytes (with a list: so many lines) further; 0: leave it
                     to the hardware */
    bool nontemporal; /* write past the cache */
    bool touch; /* at each block ask for one line of every stream's next page, so that its address
                   is translated in time */
};

struct k_memory {
    /* What it returns depends on all that was read. */
    unsigned (*move)(const struct cc_moves *m, const struct cc_copy_loop *config);
};
CC_KERNELS(k_memory)

/* That of the machine's best instruction set, whatever COMMCOMP_ISA says. */
const struct k_memory *cc_memory_best(void);

/* Whether a tensor of so many values is too large for the cache: twice what the cache holds, so
 * that no part that happens to stay there matters. Then memory limits a codec's speed, and is
 * measured as well. */
bool cc_memory_limits(size_t values);

/* Empties the caches of everything else, by reading twice as much as they hold. Each call on such a
 * tensor, and each loop that it is held against, begins like that: else it would matter what part
 * of the tensor the one before happened to leave there. */
struct cc_cache_flush {
    unsigned char *other;
    size_t bytes;
};
int cc_cache_flush_open(struct cc_cache_flush *c, struct cc_error *e);
void cc_cache_flush_close(struct cc_cache_flush *c);
void cc_cache_flush_run(const struct cc_cache_flush *c);

#endif
