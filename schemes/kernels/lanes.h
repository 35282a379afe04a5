/* Vectors of sixteen values (AVX-512), for the kernels that compilers do not vectorize well. */
#ifndef CC_SCHEMES_KERNELS_LANES_H
#define CC_SCHEMES_KERNELS_LANES_H

#include <stdbool.h>

#include "core/random.h"

#if defined(__AVX512VBMI__)
#include <immintrin.h>

#define CC_LANES 16

/* The indices first .. first + 15 combined with a key, as cc_lanes_random takes them. */
static inline __m512i cc_lanes_index(struct cc_key k, uint32_t first)
{
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    return _mm512_add_epi32(_mm512_set1_epi32((int)(first + k.a)), lane);
}

/* cc_random except for its last xor. b: the key's b, in every lane. */
static inline __m512i cc_lanes_mixed(__m512i index, __m512i b)
{
    __m512i x = _mm512_xor_si512(index, _mm512_srli_epi32(index, 16));
    x = _mm512_mullo_epi32(x, _mm512_set1_epi32(0x21f0aaad));
    x = _mm512_ternarylogic_epi32(x, _mm512_srli_epi32(x, 15), b, 0x96); /* xor of the three */
    return _mm512_mullo_epi32(x, _mm512_set1_epi32((int)0xd35a2d97));
}

/* cc_random of 16 indices. */
static inline __m512i cc_lanes_random(__m512i index, __m512i b)
{
    __m512i x = cc_lanes_mixed(index, b);
    return _mm512_xor_si512(x, _mm512_srli_epi32(x, 15));
}

/* ~cc_random, for kernels that subtract the random number: adding the complement is the same. */
static inline __m512i cc_lanes_random_not(__m512i index, __m512i b)
{
    __m512i x = cc_lanes_mixed(index, b);
    return _mm512_ternarylogic_epi32(x, _mm512_srli_epi32(x, 15), x, 0xc3); /* not xor of two */
}

/* Consecutive indices share a part of their numbers. With x = index + key.a, the first step of
 * cc_random is x ^ x >> 16, and its product is the sum of two: that of the upper 28 bits, which are
 * the same for 16 indices, and that of the lowest 4 bits, which depend on the lane until the upper
 * half of x changes, every 65,536 indices. Two additions replace a shift, a xor and a product. */
struct cc_lanes_run {
    __m512i low;     /* by lane: the product of the lowest 4 bits */
    __mmask16 carry; /* lanes whose upper 28 bits of x are those of the first lane plus 1 */
};

/* The run that x belongs to, for vectors that begin a multiple of 16 from x. */
static inline struct cc_lanes_run cc_lanes_run(uint32_t x)
{
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i fifteen = _mm512_set1_epi32(15);
    const __m512i at = _mm512_add_epi32(lane, _mm512_set1_epi32((int)(x & 15)));
    const __m512i l =
        _mm512_ternarylogic_epi32(at, fifteen, _mm512_set1_epi32((int)(x >> 16)), 0x48);
    return (struct cc_lanes_run){.low = _mm512_mullo_epi32(l, _mm512_set1_epi32(0x21f0aaad)),
                                 .carry = _mm512_cmpgt_epi32_mask(at, fifteen)};
}

/* Whether the run ends within the 64 indices from x on, or with them. */
static inline bool cc_lanes_run_ends(uint32_t x)
{
    return (x & 0xffff) > 0xffff - 64;
}

/* The products of the upper bits, for CC_LANES_RUN indices from x on: one for each vector, then
 * that of the last one's carry; a multiple of 16. */
#define CC_LANES_RUN   512
#define CC_LANES_UPPER (CC_LANES_RUN / CC_LANES + 16)
static inline void cc_lanes_upper(uint32_t x, uint32_t upper[CC_LANES_UPPER])
{
    for (uint32_t k = 0; k < CC_LANES_UPPER; k++) {
        uint32_t y = x + CC_LANES * k;
        upper[k] = ((y ^ y >> 16) & ~15u) * 0x21f0aaadu;
    }
}

/* cc_lanes_mixed of a vector of the run; upper[0] is its product. */
static inline __m512i cc_lanes_run_mixed(const struct cc_lanes_run *r, const uint32_t upper[2],
                                         __m512i b)
{
    __m512i x = _mm512_add_epi32(r->low, _mm512_set1_epi32((int)upper[0]));
    x = _mm512_mask_add_epi32(x, r->carry, r->low, _mm512_set1_epi32((int)upper[1]));
    x = _mm512_ternarylogic_epi32(x, _mm512_srli_epi32(x, 15), b, 0x96);
    return _mm512_mullo_epi32(x, _mm512_set1_epi32((int)0xd35a2d97));
}

/* A byte of each lane of four vectors: `bytes` says which ones of the first two, and the same of
 * the other two, which go to the lanes in `second`. */
static inline __m512i cc_lanes_bytes(const __m512i v[4], __m512i bytes, __mmask16 second)
{
    return _mm512_mask_blend_epi32(second, _mm512_permutex2var_epi8(v[0], bytes, v[1]),
                                   _mm512_permutex2var_epi8(v[2], bytes, v[3]));
}

/* The top bytes of the lanes of four vectors, in order. */
static inline __m512i cc_lanes_tops(const __m512i v[4])
{
    const __m512i low = _mm512_set4_epi32(0x3f3b3733, 0x2f2b2723, 0x1f1b1713, 0x0f0b0703);
    const __m512i high = _mm512_or_si512(low, _mm512_set1_epi32(0x40404040));
    return cc_lanes_bytes(v, _mm512_mask_blend_epi32(0xf0f0, low, high), 0xff00);
}
#endif

#endif
