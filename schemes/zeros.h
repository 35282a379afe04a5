/* Output that is mostly zeros, for decoders of sparse payloads: handed out block by block, in
 * order, to be filled in.
 *
 *   struct cc_zeros zeros;
 *   cc_zeros_open(&zeros, y, bytes of the whole output, share of the values that are set);
 *   for (each block of n values) {
 *       struct cc_zeros_block block = cc_zeros_next(&zeros, n);
 *       while (there is a value for this block && cc_zeros_room(&block) > 0)
 *           cc_zeros_set(&block, its place, value);
 *       cc_zeros_put(&zeros, &block);
 *   }
 *   cc_zeros_close(&zeros);
 *
 * If the output is larger than the cache, two tiles of zeros take turns: while one is filled in,
 * the other is copied out with non-temporal stores, a whole block after it was filled, since a load
 * would wait for smaller stores to the same line. Afterwards only the places that were filled in
 * become zero again, unless they are many: clearing the tile takes as many stores as copying it. */
#ifndef CC_SCHEMES_ZEROS_H
#define CC_SCHEMES_ZEROS_H

#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/copy.h"
#include "core/memory.h"

/* Values in a block, at most. */
#define CC_ZEROS_BLOCK 1024

/* A block that is not copied out yet. */
struct cc_zeros_tile {
    float *to;
    size_t n;      /* values; 0: none */
    size_t filled; /* how many places */
    uint16_t place[CC_ZEROS_BLOCK];
    alignas(CC_ALIGN) float y[CC_ZEROS_BLOCK];
};

struct cc_zeros {
    float *to;                /* where the next block goes */
    bool few;                 /* the places that are filled in are listed */
    const struct k_copy *out; /* NULL: blocks are filled in at their place in the output */
    struct cc_zeros_tile tile[2];
    unsigned turn; /* the tile of the block that was handed out last */
};

/* A block of zeros to be filled in. */
struct cc_zeros_block {
    float *y;
    uint16_t *place; /* the list of places */
    size_t filled;   /* how many */
    bool listed;
};

/* Begins at `at`. traffic: the bytes that the loop over the whole output moves; density: the share
 * of its values that is expected to be set. */
void cc_zeros_open(struct cc_zeros *z, float *at, size_t traffic, double density);

/* Returns the next n <= CC_ZEROS_BLOCK values. */
struct cc_zeros_block cc_zeros_next(struct cc_zeros *z, size_t n);

/* The number of values that may still be set in a block. */
static inline size_t cc_zeros_room(const struct cc_zeros_block *b)
{
    return CC_ZEROS_BLOCK - b->filled;
}

/* Sets value `at` < n of the block. */
static inline void cc_zeros_set(struct cc_zeros_block *b, size_t at, float value)
{
    b->y[at] = value;
    if (b->listed)
        b->place[b->filled] = (uint16_t)at;
    b->filled++;
}

/* Takes a block that was filled in. */
static inline void cc_zeros_put(struct cc_zeros *z, const struct cc_zeros_block *b)
{
    z->tile[z->turn].filled = b->filled;
}

/* Completes the output; call after the last block. */
void cc_zeros_close(struct cc_zeros *z);

#endif
