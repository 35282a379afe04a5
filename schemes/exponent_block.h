/* A block of the scheme exponent (docs/payloads.md, exponent): up to CC_EXPONENT_BLOCK values,
 * which are coded and decoded without the others. */
#ifndef CC_SCHEMES_EXPONENT_BLOCK_H
#define CC_SCHEMES_EXPONENT_BLOCK_H

#include <stdalign.h>

#include "core/memory.h"
#include "core/number.h"
#include "schemes/kernels/words.h"
#include "schemes/scheme.h"

/* How exponents are coded; in this order in the payload, where CC_EXPONENT_RAW is a block whose
 * words are as they are. */
enum cc_exponent_coder { CC_EXPONENT_RAW, CC_EXPONENT_CASCADE, CC_EXPONENT_WINDOW };

struct cc_exponent_form {
    enum cc_number type; /* all blocks whose values it has take it */
    enum cc_exponent_coder coder;
    bool any; /* infinity and NaN are encoded, too */
};

/* Scratch memory for a block. */
struct cc_exponent_room {
    alignas(CC_ALIGN) uint8_t exponent[CC_EXPONENT_BLOCK + CC_EXPONENT_SLACK];
    uint8_t high[CC_EXPONENT_BLOCK + CC_EXPONENT_SLACK];
    uint8_t rank[2][CC_EXPONENT_BLOCK + CC_EXPONENT_SLACK];
    uint8_t escape[CC_EXPONENT_BLOCK + CC_EXPONENT_SLACK];
    uint8_t mask[CC_EXPONENT_BLOCK / 8];
    alignas(CC_ALIGN) uint16_t words[CC_EXPONENT_BLOCK];
    alignas(CC_ALIGN) float values[CC_EXPONENT_BLOCK + CC_EXPONENT_SLACK];
    alignas(CC_ALIGN) float wide[CC_EXPONENT_BLOCK]; /* the values, if they are widened */
};

/* The most bytes of a block of n values: its first byte, and the values. */
static inline size_t cc_exponent_block_bound(size_t n)
{
    return 1 + n * sizeof(float);
}

/* Bits of n values with their exponents coded at their entropy, where +0 is a symbol of its own,
 * and the rest as it is. */
double cc_exponent_entropy(enum cc_number type, const float *x, size_t n);

/* Writes a block of n >= 1 values and returns its bytes; 0: a value is refused. large: the
 * tensor is larger than the cache, so the next block is prefetched meanwhile. */
size_t cc_exponent_put_block(const struct cc_exponent_form *f, const float *x, size_t n, bool large,
                             struct cc_exponent_room *room, uint8_t *out);

/* The same of n values of 16 bits, BF16 or FP16: the block of the values widened, which are not
 * where there is another way. */
size_t cc_exponent_put_half(const struct cc_exponent_form *f, struct cc_elements x, size_t n,
                            bool large, struct cc_exponent_room *room, uint8_t *out);

/* Decodes a block of n values that has payload[at, at + len), as decode of struct cc_scheme. large:
 * the next block is prefetched, and values are written around the cache where y begins on CC_ALIGN;
 * the caller then follows with k_copy()->fence. */
int cc_exponent_get_block(const uint8_t *payload, size_t at, size_t len, size_t n,
                          const float *scale, bool large, struct cc_exponent_room *room, float *y,
                          struct cc_error *e);

#endif
