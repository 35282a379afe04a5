/* Coding of the exponents of floats, a byte each (docs/payloads.md, exponent). n and c are at most
 * CC_EXPONENT_BLOCK. The arrays `rank`, `next`, `escape` and `exponent` have CC_EXPONENT_SLACK
 * bytes more than values, which may be read and written. */
#ifndef CC_SCHEMES_KERNELS_EXPONENT_H
#define CC_SCHEMES_KERNELS_EXPONENT_H

#include <stddef.h>
#include <stdint.h>

#include "core/isa.h"

/* Values of a block. Larger ones spread headers over more values, of which these have 0.015 bits;
 * with smaller ones the exponents and their ranks stay in the first-level cache. */
#define CC_EXPONENT_BLOCK 8192
#define CC_EXPONENT_SLACK 128
/* Values with a common base. */
#define CC_EXPONENT_GROUP 128

/* Ranks of exponent - base: 0 to 12 in the order of their frequency, then the escape. */
#define CC_EXPONENT_RANKS  13
#define CC_EXPONENT_ESCAPE 13

/* Differences from the base that the window holds: -CC_EXPONENT_BELOW to 4. */
#define CC_EXPONENT_BELOW 10

/* The result of the first pass over a block's exponents. */
struct cc_exponents_seen {
    unsigned most;        /* the largest exponent */
    size_t zeros;         /* exponents of 0 */
    size_t next, escaped; /* values that go to the second stage; exponents that escape */
};

/* Bytes of c codes of 2 and of 4 bits, in groups of 64. */
static inline size_t cc_exponent_bytes2(size_t c)
{
    return c / 64 * 16 + (c % 64 < 16 ? c % 64 : 16);
}

static inline size_t cc_exponent_bytes4(size_t c)
{
    return c / 64 * 32 + (c % 64 < 32 ? c % 64 : 32);
}

static inline size_t cc_exponent_groups(size_t n)
{
    return (n + CC_EXPONENT_GROUP - 1) / CC_EXPONENT_GROUP;
}

/* Code i of a last group of less than 64, of `bits` bits; the bytes are zeroed before. */
static inline void cc_exponent_put(uint8_t *codes, size_t i, unsigned bits, unsigned code)
{
    const size_t bytes = 8 * bits;
    codes[i % bytes] = (uint8_t)(codes[i % bytes] | code << bits * (i / bytes));
}

static inline unsigned cc_exponent_get(const uint8_t *codes, size_t i, unsigned bits)
{
    const size_t bytes = 8 * bits;
    return (unsigned)codes[i % bytes] >> bits * (i / bytes) & ((1u << bits) - 1);
}

struct k_exponent {
    /* The first stage: writes a base for each group, a code of 2 bits for each exponent, the ranks
     * that go to the next stage to `rank`, and the exponents that escape to `escape`. */
    struct cc_exponents_seen (*first)(const uint8_t *exponent, size_t n, uint8_t *base,
                                      uint8_t *codes, uint8_t *rank, uint8_t *escape);
    /* Stages 2 to 4: codes of c ranks; those of the next stage are packed in place. Returns their
     * number. */
    size_t (*stage)(unsigned stage, uint8_t *rank, size_t c, uint8_t *codes);
    /* The reverse of a stage: the c ranks of the codes, those of the next stage from `next`.
     * Returns how many of these were taken. */
    size_t (*unstage)(unsigned stage, const uint8_t *codes, size_t c, const uint8_t *next,
                      uint8_t *rank);
    /* The reverse of the first stage. Sets *escaped to the number of escapes taken. */
    size_t (*unfirst)(const uint8_t *base, const uint8_t *codes, size_t n, const uint8_t *next,
                      const uint8_t *escape, size_t *escaped, uint8_t *exponent);
    /* The window: a base for each group and a code of 4 bits for each exponent. */
    struct cc_exponents_seen (*window)(const uint8_t *exponent, size_t n, uint8_t *base,
                                       uint8_t *codes, uint8_t *escape);
    /* Returns the number of escapes taken. */
    size_t (*unwindow)(const uint8_t *base, const uint8_t *codes, size_t n, const uint8_t *escape,
                       uint8_t *exponent);
};
CC_KERNELS(k_exponent)

#endif
