/* Exponents of floats, coded by a cascade or in a window (docs/payloads.md, exponent).
 *
 * A stage of the cascade gives a code of two bits to each of its ranks: 0 to 2 are final, 3 passes
 * the rank on to the next stage, whose ranks lie one after the other. So encoding packs ranks and
 * decoding spreads them, from the last stage to the first. Codes of 64 values are planar: byte j of
 * 16 has those of values j, j + 16, j + 32 and j + 48, so that shifts and masks take them apart.
 *
 * With AVX-512 64 ranks are a vector, which one instruction packs or spreads. Elsewhere 8 ranks are
 * a word of 64 bits: BMI2 packs and spreads its bytes, NEON by tables of the places of 4, and plain
 * C byte by byte. Values beyond the last whole group are coded one by one. */
#include "schemes/kernels/exponent.h"

#include <stdbool.h>
#include <string.h>

#include "core/bytes.h"
#include "core/memory.h"
#include "schemes/kernels/masks.h"
#include "schemes/kernels/vector.h"

/* By exponent - base + 8, at most 15: the rank. By the rank: exponent - base. */
#define BELOW 8
static const uint8_t rank_of[16] = {12, 10, 9, 8, 6, 5, 4, 2, 1, 0, 3, 7, 11, 13, 13, 13};
static const uint8_t step_of[16] = {1, 0, 255, 2, 254, 253, 252, 3, 251, 250, 249, 4, 248, 0, 0, 0};

#define ONES   UINT64_C(0x0101010101010101)
#define THREES (3 * ONES)
#define TOPS   (128 * ONES)

/* The rounded mean of the exponents that are not 0; 0 if all are. */
static inline uint8_t base_of(uint32_t sum, uint32_t count)
{
    if (count == CC_EXPONENT_GROUP)
        return (uint8_t)((sum + CC_EXPONENT_GROUP / 2) / CC_EXPONENT_GROUP);
    return (uint8_t)(count == 0 ? 0 : (2 * sum + count) / (2 * count));
}

/* The base of up to a group, and what is seen in it. */
static uint8_t group_base(const uint8_t *e, size_t n, struct cc_exponents_seen *seen)
{
    uint32_t sum = 0, count = 0, most = 0;
    for (size_t i = 0; i < n; i++) {
        sum += e[i];
        count += e[i] != 0;
        most = e[i] > most ? e[i] : most;
    }
    seen->zeros += n - count;
    seen->most = most > seen->most ? most : seen->most;
    return base_of(sum, count);
}

/* --- value by value, for less than 64 at the end --- */

static size_t stage_tail(unsigned before, const uint8_t *rank, size_t c, uint8_t *codes,
                         uint8_t *next)
{
    size_t passed = 0;
    memset(codes, 0, cc_exponent_bytes2(c));
    for (size_t i = 0; i < c; i++) {
        const uint8_t r = rank[i];
        const unsigned code = r - before < 3 ? r - before : 3;
        cc_exponent_put(codes, i, 2, code);
        next[passed] = r;
        passed += code == 3;
    }
    return passed;
}

static size_t unstage_tail(unsigned before, const uint8_t *codes, size_t c, const uint8_t *next,
                           uint8_t *rank)
{
    size_t taken = 0;
    for (size_t i = 0; i < c; i++) {
        const unsigned code = cc_exponent_get(codes, i, 2);
        rank[i] = code == 3 ? next[taken] : (uint8_t)(before + code);
        taken += code == 3;
    }
    return taken;
}

/* --- 64 values --- */

#if defined(__AVX512VBMI2__)
#include "schemes/kernels/exponent_avx512.h"
#else
#include "schemes/kernels/exponent_plain.h"
#endif

/* --- blocks --- */

/* Tails have less than 64 values. */
static size_t first_tail(const uint8_t *e, size_t n, uint8_t base, uint8_t *codes, uint8_t *next,
                         uint8_t **escape)
{
    uint8_t rank[64];
    for (size_t i = 0; i < n; i++) {
        const uint8_t at = (uint8_t)(e[i] - base + BELOW);
        rank[i] = rank_of[at < 15 ? at : 15];
        if (rank[i] == CC_EXPONENT_ESCAPE)
            *(*escape)++ = e[i];
    }
    return stage_tail(0, rank, n, codes, next);
}

/* The bases of whole groups, then of what is left. */
static struct cc_exponents_seen bases(const uint8_t *e, size_t n, uint8_t *base)
{
    struct cc_exponents_seen seen = {0};
    size_t i = 0;
#if defined(__AVX512VBMI2__)
    __m512i most = _mm512_setzero_si512();
    for (; i + CC_EXPONENT_GROUP <= n; i += CC_EXPONENT_GROUP)
        *base++ = whole_base(e + i, &most, &seen.zeros);
    uint8_t byte[64];
    _mm512_storeu_si512(byte, most);
    for (size_t k = 0; k < 64; k++)
        seen.most = byte[k] > seen.most ? byte[k] : seen.most;
#else
    for (; i + CC_EXPONENT_GROUP <= n; i += CC_EXPONENT_GROUP)
        *base++ = group_base(e + i, CC_EXPONENT_GROUP, &seen);
#endif
    if (i < n)
        *base = group_base(e + i, n - i, &seen);
    return seen;
}

static struct cc_exponents_seen first(const uint8_t *restrict e, size_t n, uint8_t *restrict base,
                                      uint8_t *restrict codes, uint8_t *restrict rank,
                                      uint8_t *restrict escape)
{
    struct cc_exponents_seen seen = bases(e, n, base);
    uint8_t *out = escape;
    size_t i = 0;
    for (; i + 64 <= n; i += 64)
        seen.next +=
            first64(e + i, base[i / CC_EXPONENT_GROUP], codes + i / 4, rank + seen.next, &out);
    if (i < n)
        seen.next += first_tail(e + i, n - i, base[i / CC_EXPONENT_GROUP], codes + i / 4,
                                rank + seen.next, &out);
    seen.escaped = (size_t)(out - escape);
    return seen;
}

/* A vector is read before the packed ranks, which are no more, are written over it. */
static size_t stage(unsigned number, uint8_t *rank, size_t c, uint8_t *codes)
{
    const uint8_t before = (uint8_t)(3 * (number - 1));
    size_t passed = 0, i = 0;
    for (; i + 64 <= c; i += 64) {
#if defined(__AVX512VBMI2__)
        passed += stage64(_mm512_loadu_si512(rank + i), before, codes + i / 4, rank + passed);
#else
        passed += stage64(rank + i, before, codes + i / 4, rank + passed);
#endif
    }
    return i < c ? passed + stage_tail(before, rank + i, c - i, codes + i / 4, rank + passed)
                 : passed;
}

static size_t unstage(unsigned number, const uint8_t *restrict codes, size_t c,
                      const uint8_t *restrict next, uint8_t *restrict rank)
{
    const uint8_t before = (uint8_t)(3 * (number - 1));
    size_t taken = 0, i = 0;
    for (; i + 64 <= c; i += 64) {
#if defined(__AVX512VBMI2__)
        __m512i v;
        taken += unstage64(codes + i / 4, before, next + taken, &v);
        _mm512_storeu_si512(rank + i, v);
#else
        uint64_t words[8];
        taken += unstage64(codes + i / 4, before, next + taken, words);
        memcpy(rank + i, words, sizeof words);
#endif
    }
    return i < c ? taken + unstage_tail(before, codes + i / 4, c - i, next + taken, rank + i)
                 : taken;
}

static size_t unfirst(const uint8_t *restrict base, const uint8_t *restrict codes, size_t n,
                      const uint8_t *restrict next, const uint8_t *restrict escape,
                      size_t *restrict escaped, uint8_t *restrict e)
{
    const uint8_t *from = escape;
    size_t taken = 0, i = 0;
    for (; i + 64 <= n; i += 64)
        taken += unfirst64(codes + i / 4, base[i / CC_EXPONENT_GROUP], next + taken, &from, e + i);
    if (i < n) {
        uint8_t rank[64];
        taken += unstage_tail(0, codes + i / 4, n - i, next + taken, rank);
        for (size_t k = 0; k < n - i; k++)
            e[i + k] = rank[k] == CC_EXPONENT_ESCAPE
                           ? *from++
                           : (uint8_t)(base[i / CC_EXPONENT_GROUP] + step_of[rank[k] & 15]);
    }
    *escaped = (size_t)(from - escape);
    return taken;
}

static struct cc_exponents_seen window(const uint8_t *restrict e, size_t n, uint8_t *restrict base,
                                       uint8_t *restrict codes, uint8_t *restrict escape)
{
    struct cc_exponents_seen seen = bases(e, n, base);
    uint8_t *out = escape;
    size_t i = 0;
    for (; i + 64 <= n; i += 64)
        window64(e + i, base[i / CC_EXPONENT_GROUP], codes + i / 2, &out);
    memset(codes + i / 2, 0, cc_exponent_bytes4(n) - i / 2);
    for (size_t k = i; k < n; k++) {
        const uint8_t at = (uint8_t)(e[k] - base[k / CC_EXPONENT_GROUP] + CC_EXPONENT_BELOW);
        cc_exponent_put(codes + i / 2, k - i, 4, at < 15 ? at : 15);
        if (at >= 15)
            *out++ = e[k];
    }
    seen.escaped = (size_t)(out - escape);
    return seen;
}

static size_t unwindow(const uint8_t *restrict base, const uint8_t *restrict codes, size_t n,
                       const uint8_t *restrict escape, uint8_t *restrict e)
{
    const uint8_t *from = escape;
    size_t i = 0;
    for (; i + 64 <= n; i += 64)
        unwindow64(codes + i / 2, base[i / CC_EXPONENT_GROUP], &from, e + i);
    for (size_t k = i; k < n; k++) {
        const unsigned code = cc_exponent_get(codes + i / 2, k - i, 4);
        e[k] = code == 15 ? *from++
                          : (uint8_t)(base[k / CC_EXPONENT_GROUP] + code - CC_EXPONENT_BELOW);
    }
    return (size_t)(from - escape);
}

const struct k_exponent CC_K(k_exponent) = {
    .first = first,
    .stage = stage,
    .unstage = unstage,
    .unfirst = unfirst,
    .window = window,
    .unwindow = unwindow,
};
