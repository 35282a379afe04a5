/* Output that is mostly zeros: handed out block by block, in order, to be filled in. */
#ifndef CC_SCHEMES_ZEROS_H
#define CC_SCHEMES_ZEROS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/memory.h"

/* Values in a block. Measured on Zen 5: blocks of 1,024 values and more are slower by half, as
 * clearing them is then done by an instruction of its own (rep stos), which does not go together
 * with stores past the cache; 256 values are slower by a seventh. */
#define CC_ZEROS_BLOCK 512

struct cc_zeros {
    float *at;     /* where the next block goes */
    size_t filled; /* values of the block that was handed out last and is not written yet */
    bool past;     /* write past the cache: blocks are made in `block` */
    _Alignas(CC_ALIGN) float block[CC_ZEROS_BLOCK];
};

/* Begins at `at`; past: see cc_write_past, for the whole of the output. */
void cc_zeros_begin(struct cc_zeros *z, float *at, bool past);

/* The next n <= CC_ZEROS_BLOCK values, all zero, to be filled in before the next call. */
float *cc_zeros_next(struct cc_zeros *z, size_t n);

/* After the last block. */
void cc_zeros_end(struct cc_zeros *z);

#endif
