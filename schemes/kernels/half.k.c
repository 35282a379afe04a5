/* 16-bit floats. For fp16 there are machine instructions with AVX2, AVX-512 and NEON, after
 * limiting the values to +-65504; the scalar functions (core/element.h) compute the same bits with
 * integers. bf16 rounds to the upper half of the bits in the same way,
 * trunc16 takes the upper half as it is; the compiler vectorizes both, except for encoding bf16
 * with AVX-512. Each encoder returns the largest bits of |x|, which tell whether all values are
 * finite. */
#include "schemes/kernels/half.h"

#include "core/bytes.h"
#include "core/tile.h"
#include "schemes/kernels/vector.h"

/* As the machine's conversion: a NaN becomes quiet. */
static float from_fp16(uint16_t half)
{
    const float v = cc_from_fp16(half);
    return cc_finite(v) || (half & 0x3ff) == 0 ? v : cc_bits_f32(cc_f32_bits(v) | 1u << 22);
}

#ifdef CC_VECTORS
static inline void fp16_put_16(uint8_t *out, const cc_vf32 v[CC_VECTORS_16])
{
#if defined(__AVX512F__)
    const __m512 most = _mm512_set1_ps(65504.0f), least = _mm512_set1_ps(-65504.0f);
    const __m512 limited = _mm512_max_ps(_mm512_min_ps(v[0], most), least);
    _mm256_storeu_si256((__m256i *)out, _mm512_cvtps_ph(limited, _MM_FROUND_TO_NEAREST_INT));
#elif defined(__AVX2__)
    const __m256 most = _mm256_set1_ps(65504.0f), least = _mm256_set1_ps(-65504.0f);
    for (size_t k = 0; k < CC_VECTORS_16; k++) {
        const __m256 limited = _mm256_max_ps(_mm256_min_ps(v[k], most), least);
        _mm_storeu_si128((__m128i *)out + k, _mm256_cvtps_ph(limited, _MM_FROUND_TO_NEAREST_INT));
    }
#else
    const float32x4_t most = vdupq_n_f32(65504.0f), least = vdupq_n_f32(-65504.0f);
    for (size_t k = 0; k < CC_VECTORS_16; k += 2) {
        float16x4_t low = vcvt_f16_f32(vmaxnmq_f32(vminnmq_f32(v[k], most), least));
        float32x4_t limited = vmaxnmq_f32(vminnmq_f32(v[k + 1], most), least);
        vst1q_u8(out + 8 * k, vreinterpretq_u8_f16(vcvt_high_f16_f32(low, limited)));
    }
#endif
}

static inline void fp16_get_16(const uint8_t *in, cc_vf32 v[CC_VECTORS_16])
{
#if defined(__AVX512F__)
    v[0] = _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)in));
#elif defined(__AVX2__)
    for (size_t k = 0; k < CC_VECTORS_16; k++)
        v[k] = _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)in + k));
#else
    for (size_t k = 0; k < CC_VECTORS_16; k += 2) {
        float16x8_t all = vreinterpretq_f16_u8(vld1q_u8(in + 8 * k));
        v[k] = vcvt_f32_f16(vget_low_f16(all));
        v[k + 1] = vcvt_high_f32_f16(all);
    }
#endif
}
#endif

CC_EACH_ELEMENT uint32_t fp16_encode(const void *restrict x, enum cc_element type,
                                     uint8_t *restrict out, size_t n)
{
    uint32_t m = 0;
    size_t i = 0;
#ifdef CC_VECTORS
    cc_vu32 most = {0};
    for (; i + 16 <= n; i += 16) {
        cc_vf32 v[CC_VECTORS_16];
        for (size_t k = 0; k < CC_VECTORS_16; k++) {
            v[k] = cc_vf32_from(x, i + CC_VECTOR * k, type);
            most = cc_vu32_larger(most, (cc_vu32)v[k] & 0x7fffffffu);
        }
        fp16_put_16(out + 2 * i, v);
    }
    m = cc_vu32_largest(most);
#endif
    for (; i < n; i++) {
        uint32_t bits = cc_f32_bits(cc_element_at(x, i, type));
        cc_put_u16(out + 2 * i, cc_nearest_fp16(bits));
        bits &= 0x7fffffffu;
        m = bits > m ? bits : m;
    }
    return m;
}

CC_STREAM_COPIES(fp16_encode)

static void fp16_load(const uint8_t *restrict in, float *restrict y, size_t n)
{
    size_t i = 0;
#ifdef CC_VECTORS
    for (; i + 16 <= n; i += 16) {
        cc_vf32 v[CC_VECTORS_16];
        fp16_get_16(in + 2 * i, v);
        cc_store_16(y + i, v, false);
    }
#endif
    for (; i < n; i++)
        y[i] = from_fp16(cc_get_u16(in + 2 * i));
}

static inline void fp16_add_page(const uint8_t *restrict in, float scale, float *restrict y,
                                 size_t n)
{
    size_t i = 0;
#ifdef CC_VECTORS
    for (; i + 16 <= n; i += 16) {
        cc_vf32 v[CC_VECTORS_16];
        fp16_get_16(in + 2 * i, v);
        cc_add_16(y + i, scale, v);
    }
#endif
    for (; i < n; i++) {
        float product = scale * from_fp16(cc_get_u16(in + 2 * i));
        y[i] += product;
    }
}

static void fp16_add(const uint8_t *restrict in, float scale, float *restrict y, size_t n)
{
    for (size_t i = 0, m; i < n; i += m) {
        m = n - i < CC_PAGE_VALUES ? n - i : CC_PAGE_VALUES;
        cc_next_page(y + i);
        fp16_add_page(in + 2 * i, scale, y + i, m);
    }
}

#if defined(__AVX512F__)
/* Compilers narrow the lanes of one vector after the other, which takes nearly twice as long. */
#define BF16_LANES 32

/* A value's upper half, plus 1 where the lower one is above the middle, or at it and the upper one
 * odd. */
static inline __m512i bf16_rounded(__m512i bits)
{
    const __mmask16 odd = _mm512_test_epi32_mask(bits, _mm512_set1_epi32(0x10000));
    const __m512i half = _mm512_set1_epi32(0x7fff);
    return _mm512_add_epi32(bits, _mm512_mask_mov_epi32(half, odd, _mm512_set1_epi32(0x8000)));
}

/* Returns the largest bits of |x| of two values each. */
CC_EACH_ELEMENT __m512i bf16_lanes_encode(const void *x, size_t i, enum cc_element type,
                                          uint8_t *out)
{
    static const uint16_t upper[BF16_LANES] = {1,  3,  5,  7,  9,  11, 13, 15, 17, 19, 21,
                                               23, 25, 27, 29, 31, 33, 35, 37, 39, 41, 43,
                                               45, 47, 49, 51, 53, 55, 57, 59, 61, 63};
    const __m512i a = (__m512i)cc_vf32_from(x, i, type), b = (__m512i)cc_vf32_from(x, i + 16, type);
    const __m512i all =
        _mm512_permutex2var_epi16(bf16_rounded(a), _mm512_loadu_si512(upper), bf16_rounded(b));
    const __m512i sign = _mm512_set1_epi16((short)0x8000);
    const __m512i mag = _mm512_min_epu16(_mm512_andnot_si512(sign, all), _mm512_set1_epi16(0x7f7f));
    _mm512_storeu_si512(out, _mm512_ternarylogic_epi32(mag, all, sign, 0xf8));
    const __m512i magnitude = _mm512_set1_epi32(0x7fffffff);
    return _mm512_max_epu32(_mm512_and_si512(a, magnitude), _mm512_and_si512(b, magnitude));
}
#endif

CC_EACH_ELEMENT uint32_t bf16_encode(const void *restrict x, enum cc_element type,
                                     uint8_t *restrict out, size_t n)
{
    uint32_t m = 0;
    size_t i = 0;
#if defined(BF16_LANES)
    __m512i most = _mm512_setzero_si512();
    for (; i + BF16_LANES <= n; i += BF16_LANES)
        most = _mm512_max_epu32(most, bf16_lanes_encode(x, i, type, out + 2 * i));
    m = _mm512_reduce_max_epu32(most);
#endif
    for (; i < n; i++) {
        uint32_t bits = cc_f32_bits(cc_element_at(x, i, type)), mag = bits & 0x7fffffffu;
        cc_put_u16(out + 2 * i, cc_nearest_bf16(bits));
        m = mag > m ? mag : m;
    }
    return m;
}

CC_STREAM_COPIES(bf16_encode)

CC_EACH_ELEMENT uint32_t trunc16_encode(const void *restrict x, enum cc_element type,
                                        uint8_t *restrict out, size_t n)
{
    uint32_t m = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t bits = cc_f32_bits(cc_element_at(x, i, type)), mag = bits & 0x7fffffffu;
        cc_put_u16(out + 2 * i, (uint16_t)(bits >> 16));
        m = mag > m ? mag : m;
    }
    return m;
}

CC_STREAM_COPIES(trunc16_encode)

static void bf16_load(const uint8_t *restrict in, float *restrict y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = cc_bits_f32((uint32_t)cc_get_u16(in + 2 * i) << 16);
}

static inline void bf16_add_page(const uint8_t *restrict in, float scale, float *restrict y,
                                 size_t n)
{
    for (size_t i = 0; i < n; i++) {
        float product = scale * cc_bits_f32((uint32_t)cc_get_u16(in + 2 * i) << 16);
        y[i] += product;
    }
}

static void bf16_add(const uint8_t *restrict in, float scale, float *restrict y, size_t n)
{
    for (size_t i = 0, m; i < n; i += m) {
        m = n - i < CC_PAGE_VALUES ? n - i : CC_PAGE_VALUES;
        cc_next_page(y + i);
        bf16_add_page(in + 2 * i, scale, y + i, m);
    }
}

const struct k_half CC_K(k_half) = {
    .fp16 = {CC_STREAM_COPY(fp16_encode), .load = fp16_load, .add = fp16_add},
    .bf16 = {CC_STREAM_COPY(bf16_encode), .load = bf16_load, .add = bf16_add},
    .trunc16 = {CC_STREAM_COPY(trunc16_encode), .load = bf16_load, .add = bf16_add},
};
