/* Vectors of the instruction set's width, so that a loop which compilers do not vectorize well is
 * written once for AVX-512, AVX2 and NEON. The operators of C work on them lane by lane (GCC's and
 * clang's vector extension); a comparison gives -1 or 0 in each lane. CC_VECTORS is defined where
 * the instruction set has such vectors. */
#ifndef CC_SCHEMES_KERNELS_VECTOR_H
#define CC_SCHEMES_KERNELS_VECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/element.h"
#include "core/random.h"

/* The number of lanes. */
#if defined(__AVX512F__)
#include <immintrin.h>
#define CC_VECTORS
#define CC_VECTOR 16
#elif defined(__AVX2__)
#include <immintrin.h>
#define CC_VECTORS
#define CC_VECTOR 8
#elif defined(__ARM_NEON)
#include "core/neon.h"
#include "schemes/kernels/neon.h"
#define CC_VECTORS
#define CC_VECTOR 4
#else
#define CC_VECTOR 4
#endif

typedef float cc_vf32 __attribute__((vector_size(4 * CC_VECTOR)));
typedef int32_t cc_vi32 __attribute__((vector_size(4 * CC_VECTOR)));
typedef uint32_t cc_vu32 __attribute__((vector_size(4 * CC_VECTOR)));

/* From and to any address. */
static inline cc_vf32 cc_vf32_load(const void *p)
{
    cc_vf32 v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline void cc_vf32_store(void *p, cc_vf32 v)
{
    memcpy(p, &v, sizeof v);
}

static inline cc_vu32 cc_vu32_load(const void *p)
{
    cc_vu32 v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline void cc_vu32_store(void *p, cc_vu32 v)
{
    memcpy(p, &v, sizeof v);
}

/* The same number in all lanes. */
static inline cc_vf32 cc_vf32_all(float v)
{
    return v - (cc_vf32){0};
}

/* The indices first, first + 1, .. combined with a key, as cc_vu32_random takes them. */
static inline cc_vu32 cc_vu32_index(struct cc_key k, uint32_t first)
{
    static const uint32_t lane[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    cc_vu32 v;
    memcpy(&v, lane, sizeof v);
    return v + (first + k.a);
}

/* cc_random of each index. b: the key's. */
static inline cc_vu32 cc_vu32_random(cc_vu32 index, uint32_t b)
{
    cc_vu32 x = index;
    x ^= x >> 16;
    x *= 0x21f0aaadu;
    x ^= x >> 15;
    x ^= b;
    x *= 0xd35a2d97u;
    return x ^ x >> 15;
}

#ifdef CC_VECTORS
/* The values of x from index i on, as float32; a NaN may become quiet. For a constant type. */
static inline __attribute__((always_inline)) cc_vf32 cc_vf32_from(const void *x, size_t i,
                                                                  enum cc_element type)
{
    const uint16_t *half = (const uint16_t *)x + i;
    if (type == CC_ELEMENT_FP32)
        return cc_vf32_load((const float *)x + i);
#if defined(__AVX512F__)
    const __m256i bits = _mm256_loadu_si256((const __m256i_u *)(const void *)half);
    if (type == CC_ELEMENT_FP16)
        return _mm512_cvtph_ps(bits);
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
#elif defined(__AVX2__)
    const __m128i bits = _mm_loadu_si128((const __m128i_u *)(const void *)half);
    if (type == CC_ELEMENT_FP16)
        return _mm256_cvtph_ps(bits);
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
#else
    const uint16x4_t bits = vld1_u16(half);
    if (type == CC_ELEMENT_FP16)
        return vcvt_f32_f16(vreinterpret_f16_u16(bits));
    return vreinterpretq_f32_u32(vshll_n_u16(bits, 16));
#endif
}

/* a b + c, rounded once. */
static inline cc_vf32 cc_vf32_fma(cc_vf32 a, cc_vf32 b, cc_vf32 c)
{
#if defined(__AVX512F__)
    return _mm512_fmadd_ps(a, b, c);
#elif defined(__AVX2__)
    return _mm256_fmadd_ps(a, b, c);
#else
    return vfmaq_f32(c, a, b);
#endif
}

static inline cc_vu32 cc_vu32_larger(cc_vu32 a, cc_vu32 b)
{
#if defined(__AVX512F__)
    return (cc_vu32)_mm512_max_epu32((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
    return (cc_vu32)_mm256_max_epu32((__m256i)a, (__m256i)b);
#else
    return vmaxq_u32(a, b);
#endif
}

/* The largest of all lanes. */
static inline uint32_t cc_vu32_largest(cc_vu32 v)
{
    uint32_t lane[CC_VECTOR], most = 0;
    memcpy(lane, &v, sizeof lane);
    for (size_t l = 0; l < CC_VECTOR; l++)
        most = lane[l] > most ? lane[l] : most;
    return most;
}

/* A mask of lanes: bits with AVX-512, otherwise -1 or 0 in each lane. */
#if defined(__AVX512F__)
typedef __mmask16 cc_vmask;
#else
typedef cc_vi32 cc_vmask;
#endif

/* Vectors of 16 values. */
#define CC_VECTORS_16 (16 / CC_VECTOR)

/* A bit for each lane of the masks of 16 values. */
static inline uint16_t cc_bits_of_16(const cc_vmask m[CC_VECTORS_16])
{
#if defined(__AVX512F__)
    return m[0];
#elif defined(__AVX2__)
    return (uint16_t)(_mm256_movemask_ps((__m256)m[0]) | _mm256_movemask_ps((__m256)m[1]) << 8);
#else
    return cc_neon_bits16(
        cc_neon_low_bytes((uint32x4_t)m[0], (uint32x4_t)m[1], (uint32x4_t)m[2], (uint32x4_t)m[3]));
#endif
}

/* Stores 16 values; nontemporal: around the cache, to a y at a multiple of a vector's size. */
static inline void cc_store_16(float *y, const cc_vf32 v[CC_VECTORS_16], bool nontemporal)
{
    for (size_t k = 0; k < CC_VECTORS_16; k++) {
        float *to = y + CC_VECTOR * k;
        if (!nontemporal)
            cc_vf32_store(to, v[k]);
#if defined(__AVX512F__)
        else
            _mm512_stream_ps(to, v[k]);
#elif defined(__AVX2__)
        else
            _mm256_stream_ps(to, v[k]);
#else
        else if (k % 2 == 0)
            cc_neon_stream(to, (uint8x16_t)v[k], (uint8x16_t)v[k + 1]);
#endif
    }
}

/* y += scale * v for 16 values. */
static inline void cc_add_16(float *y, float scale, const cc_vf32 v[CC_VECTORS_16])
{
    cc_vf32 sum[CC_VECTORS_16];
    for (size_t k = 0; k < CC_VECTORS_16; k++)
        sum[k] = cc_vf32_load(y + CC_VECTOR * k) + scale * v[k];
    cc_store_16(y, sum, false);
}
#endif

#endif
