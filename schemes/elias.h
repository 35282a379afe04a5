/* Elias omega codes, and bit streams whose most significant bit comes first. Values go up to
 * CC_OMEGA_MAX, so that a code fits in one 64-bit buffer with a byte already begun. */
#ifndef CC_SCHEMES_ELIAS_H
#define CC_SCHEMES_ELIAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/bytes.h"

#define CC_OMEGA_MAX   ((UINT64_C(1) << 44) - 1)
#define CC_OMEGA_SMALL 256

struct cc_omega {
    uint64_t bits; /* the code, its last bit the least significant */
    unsigned len;  /* at most 56 */
};

/* The codes of 1 .. CC_OMEGA_SMALL - 1; entry 0 is unused. */
struct cc_omega_entry {
    uint16_t bits, len;
};
extern const struct cc_omega_entry cc_omega_small[CC_OMEGA_SMALL];

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

/* For the next CC_PAIR_BITS bits: what a distance, a sign and a magnitude that begin there are, if
 * they fit. Bits 0-7: their length, 0 if they do not fit; bits 8-15: the distance; bits 16-31: the
 * signed level. */
#define CC_PAIR_BITS 11
const uint32_t *cc_elias_pairs(void);

#endif
