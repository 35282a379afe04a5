/* Elias omega codes, and bit streams whose most significant bit comes first. Values go up to
 * CC_OMEGA_MAX, so that a code fits in one 64-bit buffer with a byte already begun. */
#ifndef CC_SCHEMES_ELIAS_H
#define CC_SCHEMES_ELIAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/bytes.h"

#define CC_OMEGA_MAX ((UINT64_C(1) << 44) - 1)

struct cc_omega {
    uint64_t bits; /* the code, its last bit the least significant */
    unsigned len;  /* at most 56 */
};

/* 1 <= v <= CC_OMEGA_MAX. */
static inline struct cc_omega cc_omega(uint64_t v)
{
    struct cc_omega c = {.bits = 0, .len = 1};
    while (v > 1) {
        unsigned width = 64 - (unsigned)__builtin_clzll(v);
        c.bits |= v << c.len;
        c.len += width;
        v = width - 1;
    }
    return c;
}

/* Every put stores 8 bytes at p, so the output needs that much room beyond the last code. */
struct cc_bit_writer {
    uint8_t *p;
    uint64_t buffer; /* its upper `used` bits are yet to be counted as written */
    unsigned used;   /* below 8 between calls */
};

/* The lower len bits of `bits`, the others being 0; 1 <= len <= 56. */
static inline void cc_bits_put(struct cc_bit_writer *w, uint64_t bits, unsigned len)
{
    w->used += len;
    w->buffer |= bits << (64 - w->used);
    cc_put_u64(w->p, __builtin_bswap64(w->buffer));
    w->p += w->used / 8;
    w->buffer <<= w->used & ~7u;
    w->used &= 7;
}

/* Ends on a byte; returns the address after it. */
static inline uint8_t *cc_bits_end(const struct cc_bit_writer *w)
{
    return w->p + (w->used > 0);
}

struct cc_bit_reader {
    const uint8_t *p, *end;
    uint64_t buffer; /* the next bits, from the most significant one on; zeros beyond the end */
    unsigned have;   /* how many of them are counted as read from p */
};

/* At least 56 bits afterwards, unless the input ends before. */
static inline void cc_bits_fill(struct cc_bit_reader *r)
{
    if (r->end - r->p >= 8) {
        r->buffer |= __builtin_bswap64(cc_get_u64(r->p)) >> r->have;
        r->p += (63 - r->have) / 8;
        r->have |= 56;
        return;
    }
    while (r->have <= 56 && r->p < r->end) {
        r->buffer |= (uint64_t)*r->p++ << (56 - r->have);
        r->have += 8;
    }
}

/* len <= 63. */
static inline void cc_bits_skip(struct cc_bit_reader *r, unsigned len)
{
    r->buffer <<= len;
    r->have -= len;
}

/* Reads one code. False when the input ends within it or its value is above CC_OMEGA_MAX. */
bool cc_omega_get(struct cc_bit_reader *r, uint64_t *v);

/* Tables for what is frequent; a pair is a distance, a sign and a magnitude. 13 bits, 32 KiB:
 * against 11 bits, the decoder of qsgd is as fast with bits=4 and 1.5 times as fast with bits=8; 15
 * bits make it 1.9 times faster still there, and a third slower with bits=4 (on a Zen 5). */
#define CC_PAIR_BITS      13 /* of the input that show a short pair at once */
#define CC_PAIR_DISTANCES 8  /* pair_code has distances and magnitudes below these */
#define CC_PAIR_LEVELS    128
#define CC_START_BITS     7 /* of a code that show its length, for values up to 16 bits */

struct cc_elias_tables {
    /* The code of the pair, above the 5 bits of its length, at cc_pair_index. */
    uint32_t pair_code[CC_PAIR_DISTANCES * 2 * CC_PAIR_LEVELS];
    /* What the next bits begin with. Bits 0-5: the length of the pair, 0 if they do not show all of
     * it; bits 8-15: the distance; bits 16-31: the level. */
    uint32_t pair[1 << CC_PAIR_BITS];
    /* How a code with these first bits goes on. Bits 0-5: its length; bits 8-13: where in it the
     * value begins; bits 16-21: 64 - the value's width; bits 24-31: what to add (1 for the code of
     * 1, which shows no value). */
    uint32_t start[1 << CC_START_BITS];
};
const struct cc_elias_tables *cc_elias_tables(void);

static inline size_t cc_pair_index(size_t distance, int level)
{
    return distance * (2 * CC_PAIR_LEVELS) + (size_t)(level + CC_PAIR_LEVELS);
}

#endif
