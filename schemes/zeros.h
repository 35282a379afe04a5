/* Output that is mostly zeros, for decoders of sparse payloads: handed out block by block, in
 * order, to be filled in. Each block is cleared just before, while it is in the cache. */
#ifndef CC_SCHEMES_ZEROS_H
#define CC_SCHEMES_ZEROS_H

#include "core/tile.h"

/* Values in a block. Measured on Zen 5: with 1,024 values or more decoding takes twice as long, as
 * the C library then clears a block with an instruction (rep stos) that waits for all nontemporal
 * stores; with 256 it takes a seventh longer. */
#define CC_ZEROS_BLOCK CC_TILE

struct cc_zeros {
    struct cc_sink sink;
    size_t filled; /* bytes of the block that was handed out last */
};

/* Begins at `at`. traffic: bytes that the loop over the whole output moves, for cc_sink_open. */
void cc_zeros_open(struct cc_zeros *z, float *at, size_t traffic);

/* Returns the next n <= CC_ZEROS_BLOCK values, all zero, to be filled in before the next call. */
float *cc_zeros_next(struct cc_zeros *z, size_t n);

/* Completes the output; call after the last block. */
void cc_zeros_close(struct cc_zeros *z);

#endif
