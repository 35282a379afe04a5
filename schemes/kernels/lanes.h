/* Vectors of sixteen values (AVX-512), for the kernels that compilers do not vectorize well. */
#ifndef CC_SCHEMES_KERNELS_LANES_H
#define CC_SCHEMES_KERNELS_LANES_H

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

/* The top bytes of the lanes of four vectors, in order. */
static inline __m512i cc_lanes_tops(const __m512i v[4])
{
    const __m512i low = _mm512_set4_epi32(0x3f3b3733, 0x2f2b2723, 0x1f1b1713, 0x0f0b0703);
    const __m512i high = _mm512_or_si512(low, _mm512_set1_epi32(0x40404040));
    const __m512i top = _mm512_mask_blend_epi32(0xf0f0, low, high);
    return _mm512_mask_blend_epi32(0xff00, _mm512_permutex2var_epi8(v[0], top, v[1]),
                                   _mm512_permutex2var_epi8(v[2], top, v[3]));
}
#endif

#endif
