/* Output that is mostly zeros: handed out block by block, in order, to be filled in. */
#ifndef CC_SCHEMES_ZEROS_H
#define CC_SCHEMES_ZEROS_H

#include "core/tile.h"

/* Values in a block. Measured on Zen 5: with 1,024 values and more decoding takes twice as long, as
 * the C library clears such blocks by an instruction (rep stos) that waits for all stores past the
 * cache; with 256 it takes a seventh longer. */
#define CC_ZEROS_BLOCK CC_TILE

struct cc_zeros {
    struct cc_sink sink;
    size_t filled; /* bytes of the block that was handed out last */
};

/* Begins at `at`; traffic: of the loop over the whole output, for cc_sink_open. */
void cc_zeros_open(struct cc_zeros *z, float *at, size_t traffic);

/* The next n <= CC_ZEROS_BLOCK values, all zero, to be filled in before the next call. */
float *cc_zeros_next(struct cc_zeros *z, size_t n);

/* After the last block. */
void cc_zeros_close(struct cc_zeros *z);

#endif
