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
};

/* How to go about it. */
struct cc_loop {
    size_t block; /* bytes of each stream in turn */
    size_t ahead; /* fetch what lies so many bytes (with a list: so many lines) further; 0: leave it
                     to the hardware */
    bool past;    /* write past the cache */
};

struct k_memory {
    /* What it returns depends on all that was read. */
    unsigned (*move)(const struct cc_moves *m, const struct cc_loop *how);
};
CC_KERNELS(k_memory)

#endif
