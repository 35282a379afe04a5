/* Selection of large magnitudes, and what follows from it: bit arrays of what was kept, the kept
 * elements one after the other, and the way back. Magnitudes are compared as the bits of |x|, whose
 * order is that of the numbers. Meant for blocks of at most CC_SELECT_BLOCK values, so that the
 * functions that run one after the other find their data in the first-level cache.
 *
 * A bit array of n bits takes ceil(n/8) bytes at any address; not one byte more is touched. */
#ifndef CC_SCHEMES_KERNELS_SELECT_H
#define CC_SCHEMES_KERNELS_SELECT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/bytes.h"
#include "core/isa.h"

#define CC_SELECT_BLOCK 2048 /* a multiple of 64 */
#define CC_SELECT_SLACK 16   /* elements that pack and indices may write after the last one */

#define CC_PAST_CACHE_FROM (UINT32_C(1) << 21)

/* A block of what to select from. */
struct cc_rows {
    const float *g; /* the gradient; NULL: x is up to date */
    float *x;       /* x += g first; NULL: x is g */
    float *u;       /* u = factor u + g, then x += u; NULL: none */
    float factor;
};

struct k_select {
    /* Brings a block up to date, marks and packs it as below with threshold t > 0, and if `clear`,
     * sets x (not u) to 0 at what is marked. *most: the largest bits of |x| and |u| before that.
     * Returns how many are marked. */
    size_t (*take)(const struct cc_rows *rows, size_t n, uint32_t t, bool clear, uint8_t *bits,
                   float *packed, uint32_t *most);
    /* x += g; returns the largest bits of |x|, which show values that are not finite. */
    uint32_t (*add)(const float *g, float *x, size_t n);
    /* u = factor * u + g, x += u; returns the largest bits of |x| and |u|. */
    uint32_t (*add_momentum)(const float *g, float factor, float *u, float *x, size_t n);
    /* How many |x| have bits >= t. */
    size_t (*count)(const float *x, size_t n, uint32_t t);
    /* bits[i] = whether the bits of |x[i]| are >= t; returns how many. */
    size_t (*mark)(const float *x, size_t n, uint32_t t, uint8_t *bits);
    /* The least bits of |x| that are >= t; UINT32_MAX: none. */
    uint32_t (*least)(const float *x, size_t n, uint32_t t);
    /* The set bits of a block stand for candidates, in order. Keeps those whose magnitude has bits
     * >= t: clears the bits of the others, packs the kept ones as below, and puts the others back
     * into x unless that is NULL. Returns how many are kept. */
    size_t (*prune)(uint8_t *bits, size_t n, const float *candidates, uint32_t t, float *packed,
                    float *x);
    /* How many bits are set. */
    size_t (*popcount)(const uint8_t *bits, size_t n);
    /* The 4-byte elements of x whose bit is set; returns how many. out has room for
     * CC_SELECT_SLACK more. */
    size_t (*pack)(const void *x, const uint8_t *bits, size_t n, void *out);
    /* base + i for each set bit i, likewise. */
    size_t (*indices)(const uint8_t *bits, size_t n, uint32_t base, uint32_t *out);
    /* x[i] = 0 where the bit is set. */
    void (*clear)(const uint8_t *bits, size_t n, float *x);
    /* x[i] -= t with the sign of x[i] where |x[i]| >= t, for a finite t > 0. */
    void (*shrink)(float *x, size_t n, float t);
    /* y[i] = the next of the f32 in values where the bit is set, else 0; returns how many. There
     * are `left` >= that many values. past: write past the cache; see cc_past_cache. */
    size_t (*expand)(const uint8_t *bits, size_t n, const uint8_t *values, size_t left, bool past,
                     float *y);
    /* y[i] += scale * the next value where the bit is set, likewise. */
    size_t (*expand_add)(const uint8_t *bits, size_t n, const uint8_t *values, size_t left,
                         float scale, float *y);
    /* y = x, past the cache. */
    void (*store)(const float *x, size_t n, float *y);
};
CC_KERNELS(k_select)

/* Whether to write y[0, n) past the cache: it is too large to stay there, and begins on a cache
 * line. Blocks must then begin on a multiple of 16 values, and cc_past_cache_done() must follow
 * before anyone else may read y. */
static inline bool cc_past_cache(const float *y, size_t n)
{
    return n >= CC_PAST_CACHE_FROM && (uintptr_t)y % 64 == 0;
}

static inline void cc_past_cache_done(void)
{
    atomic_thread_fence(memory_order_seq_cst);
}

/* The 64 bits from bit i (a multiple of 64) of a bit array of n > i; those from n on are 0. */
static inline uint64_t cc_bits_word(const uint8_t *bits, size_t n, size_t i)
{
    if (n - i >= 64)
        return cc_get_u64(bits + i / 8);
    uint64_t w = 0;
    memcpy(&w, bits + i / 8, (n - i + 7) / 8);
    return w & ((UINT64_C(1) << (n - i)) - 1);
}

static inline void cc_bits_put_word(uint8_t *bits, size_t n, size_t i, uint64_t w)
{
    memcpy(bits + i / 8, &w, n - i >= 64 ? 8 : (n - i + 7) / 8);
}

#endif
