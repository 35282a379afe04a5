/* Elias omega codes (recursive Elias coding), and bit streams whose most significant bit comes
 * first, for qsgd:code=elias.
 *
 * The code of v > 1 is that of (number of binary digits of v) - 1, without its final 0, then v in
 * binary; the code of 1 is empty, and a 0 ends the code: 1 = 0, 2 = 100, 3 = 110, 4 = 101000. A
 * value of w binary digits takes about w + log w + ... bits, so small values are short.
 *
 * Values go up to CC_OMEGA_MAX, so that a code fits into a 64-bit buffer of which up to 7 bits are
 * in use. Writer and reader move whole bytes. In qsgd's streams a triple of distance, sign and
 * magnitude is mostly shorter than 13 bits: a table tells all triples that the next 13 bits hold as
 * a whole; another tells the first of them, where it goes further; a third tells the length and
 * place of a longer code's value from its first 7 bits.
 *
 * Sources: Elias, Universal codeword sets and representations of the integers, IEEE Transactions on
 * Information Theory, 1975; Alistarh et al., QSGD, 2017, section 3.1. */
#ifndef CC_SCHEMES_KERNELS_ELIAS_CODE_H
#define CC_SCHEMES_KERNELS_ELIAS_CODE_H

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

/* Every put stores 8 bytes at p, so the output needs 8 bytes of room beyond the last code. */
struct cc_bit_writer {
    uint8_t *p;
    uint64_t buffer; /* its upper `used` bits lie in the byte at p */
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

/* Pads the last byte with zeros; returns the address after it. */
static inline uint8_t *cc_bits_end(const struct cc_bit_writer *w)
{
    return w->p + (w->used > 0);
}

struct cc_bit_reader {
    const uint8_t *p, *end;
    uint64_t buffer; /* the next bits, from the most significant one on; zeros beyond the end */
    unsigned have;   /* number of valid bits in buffer */
};

/* Makes at least 56 bits available, unless the input ends before. */
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

/* Reads one code. False if the input ends within it or its value is above CC_OMEGA_MAX. */
bool cc_omega_get(struct cc_bit_reader *r, uint64_t *v);

/* Tables for the frequent codes; a pair is a distance and a signed magnitude (level). 13 bits make
 * a table of 32 KiB. Measured on Zen 5, qsgd's decoder is as fast as with 11 bits for bits=4
 * and 1.5 times as fast for bits=8; 15 bits are 1.9 times as fast again for bits=8, but take a
 * third longer for bits=4. */
#define CC_PAIR_BITS      13 /* bits of input that index the table of pairs */
#define CC_PAIR_DISTANCES 8  /* pair_code has distances and magnitudes below these */
#define CC_PAIR_LEVELS    128
#define CC_START_BITS     7 /* first bits of a code that tell its length, for values up to 16 bits */

/* A run is the pairs that are read at once: as many as the next bits hold and have CC_RUN levels
 * together, those that are 0 included; or a single pair with any distance. */
#define CC_RUN_BITS 13 /* bits of input that index the table of runs */
#define CC_RUN      8

struct cc_elias_tables {
    /* At cc_pair_index: the code of the pair, shifted up by 5 bits that hold its length. */
    uint32_t pair_code[CC_PAIR_DISTANCES * 2 * CC_PAIR_LEVELS];
    /* The pair that the next bits begin with. Bits 0-5: its length, 0 if it is longer than
     * CC_PAIR_BITS; bits 8-15: the distance; bits 16-31: the level. */
    uint32_t pair[1 << CC_PAIR_BITS];
    /* The run that the next bits hold as a whole. Bits 0-5: its length in bits, 0 if they hold
     * none; bits 6-10: the number of its levels; bits 11-13: that of its pairs. */
    uint16_t run[1 << CC_RUN_BITS];
    int8_t run_levels[1 << CC_RUN_BITS][CC_RUN]; /* the last ones of the run, or zeros behind it */
    /* The code with these first bits. Bits 0-5: its length; bits 8-13: the offset of the value in
     * it; bits 16-21: 64 - the value's width; bits 24-31: a number to add (1 for the code of 1,
     * which has no value bits). */
    uint32_t start[1 << CC_START_BITS];
};

/* The tables, filled by the first call; any thread may call it. */
const struct cc_elias_tables *cc_elias_tables(void);

static inline size_t cc_pair_index(size_t distance, int level)
{
    return distance * (2 * CC_PAIR_LEVELS) + (size_t)(level + CC_PAIR_LEVELS);
}

#endif
