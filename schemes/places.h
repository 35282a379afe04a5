/* Strictly ascending places below a limit, in few bits: those of the values that chunktopk and demo
 * send of a chunk.
 *
 * Either 12 bits each, or Rice codes of the distances. The distance d from the place before, less
 * one, is d >> b in unary (ones, then a zero) and the b low bits of d; b depends on the number of
 * places and the limit alone, and is at most 0.5 bits a place from the best for places drawn at
 * random. Both are bit arrays, which end on a byte.
 *
 * Source: Rice, Some Practical Universal Noiseless Coding Techniques, JPL, 1979; 12 bits: Sarfi et
 * al., Communication Efficient LLM Pre-training with SparseLoCo, 2025, section 3. */
#ifndef CC_SCHEMES_PLACES_H
#define CC_SCHEMES_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/param.h"

enum cc_places { CC_PLACES_U12, CC_PLACES_RICE };
extern const char *const cc_places_names[]; /* ends with NULL */
#define CC_PARAM_PLACES(type)                                                                      \
    CC_PARAM_CHOICE(type, index, CC_PLACES_U12, cc_places_names,                                   \
                    "12 bits a place, or Rice codes of their distances, which vary in length")

/* The most bytes of `count` places below `limit` <= 4096, 1 <= count <= limit; exact for 12 bits.
 */
size_t cc_places_bound(enum cc_places code, size_t count, size_t limit);

/* The fewest bits of one of these places. */
unsigned cc_places_least(enum cc_places code, size_t count, size_t limit);

/* Returns the bytes written. */
size_t cc_places_put(enum cc_places code, const uint16_t *place, size_t count, size_t limit,
                     uint8_t *out);

/* Reads places from in[at, len) and returns where they end; 0: they end too soon, do not ascend, or
 * one is not below the limit, which a message says. */
size_t cc_places_read(enum cc_places code, const uint8_t *in, size_t at, size_t len, size_t count,
                      size_t limit, uint16_t *place, struct cc_error *e);

#endif
