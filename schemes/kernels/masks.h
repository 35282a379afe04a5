/* Conversion between masks (of 8 or 16 bits) and the lanes of vectors, for the kernels of sparse
 * schemes. */
#ifndef CC_SCHEMES_KERNELS_MASKS_H
#define CC_SCHEMES_KERNELS_MASKS_H

#include <stddef.h>
#include <stdint.h>

#include "schemes/kernels/vector.h"

#if defined(__AVX512F__)

/* The mask of the first n of 16 lanes. */
static inline __mmask16 first16(size_t n)
{
    return (__mmask16)_bzhi_u32(0xffff, n < 16 ? (uint32_t)n : 16);
}

/* A zero of its own for each compress or expand: these instructions wait for the old contents of
 * their destination even where they zero it. They are also slow with memory operands, so they work
 * on registers. Measured on Zen 5: in cache twice as fast without the wait; out of cache a third
 * faster without memory operands. */
static inline __m512i fresh16(void)
{
    __m512i zero = _mm512_setzero_si512();
    __asm__("" : "+v"(zero));
    return zero;
}

/* The lanes of v that are in k, packed to the front, then zeros. */
static inline __m512i compress16(__mmask16 k, __m512i v)
{
    return _mm512_mask_compress_epi32(fresh16(), k, v);
}

static inline cc_vu32 packed_lanes(uint64_t k, cc_vu32 v)
{
    return (cc_vu32)compress16((__mmask16)k, (__m512i)v);
}

/* Stores the lanes of v that are in k one after the other, and rubbish after them, a vector in all
 * at most; returns how many they are. Mostly they are few: a store of 32 bytes crosses the border
 * of a line half as often as one of 64, which nearly always does. Measured on Zen 4, in cache: up
 * to a fifth of the lanes, a loop that also adds a residual is 8% to 20% faster so. */
static inline size_t store_packed(uint64_t k, cc_vu32 v, void *out)
{
    const size_t count = (size_t)__builtin_popcount((__mmask16)k);
    const __m512i packed = (__m512i)packed_lanes(k, v);
    if (__builtin_expect(count > 8, 0))
        _mm512_storeu_si512(out, packed);
    else
        _mm256_storeu_si256((__m256i_u *)out, _mm512_castsi512_si256(packed));
    return count;
}

/* The first lanes of v, each in the next lane of k; 0 in the others. */
static inline __m512i expand16(__mmask16 k, __m512i v)
{
    __asm__("" : "+v"(v));
    return _mm512_mask_expand_epi32(fresh16(), k, v);
}

#elif defined(__AVX2__)

/* A byte of ones for each bit set in k. */
static inline uint64_t spread(uint64_t k)
{
    return _pdep_u64(k, UINT64_C(0x0101010101010101)) * 0xff;
}

#define IOTA8 UINT64_C(0x0706050403020100)

static inline __m256i widen8(uint64_t bytes)
{
    return _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)bytes));
}

/* The lanes of v that are in k, packed to the front, then rubbish. */
static inline cc_vu32 packed_lanes(uint64_t k, cc_vu32 v)
{
    const __m256i order = widen8(_pext_u64(IOTA8, spread(k)));
    return (cc_vu32)_mm256_permutevar8x32_epi32((__m256i)v, order);
}

static inline size_t store_packed(uint64_t k, cc_vu32 v, void *out)
{
    const cc_vu32 packed = packed_lanes(k & 0xff, v);
    memcpy(out, &packed, sizeof packed);
    return (size_t)__builtin_popcountll(k & 0xff);
}

/* A lane of ones for each bit set in k. */
static inline __m256 lanes(uint64_t k)
{
    const __m256i bit = _mm256_set_epi32(128, 64, 32, 16, 8, 4, 2, 1);
    __m256i v = _mm256_and_si256(_mm256_set1_epi32((int)k), bit);
    return _mm256_castsi256_ps(_mm256_cmpeq_epi32(v, bit));
}

#elif defined(__ARM_NEON)

static inline cc_vu32 packed_lanes(uint64_t k, cc_vu32 v)
{
    return cc_neon_compress(k, v);
}

#endif

#endif
