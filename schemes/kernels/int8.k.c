/* Kernels of int8: quantizing, with and without a residual, decoding, and adding. AVX-512 replaces
 * the division by a product where both surely round alike. */
#include "schemes/kernels/int8.h"

#include "core/bytes.h"
#include "core/tile.h"

#include "schemes/kernels/vector.h"

/* x / divisor rounded to the nearest integer, ties to even, limited to [-127, 127]. The quotient is
 * below 200 (above 127 only where scales are subnormal), so adding 1.5 * 2^23 rounds it and leaves
 * the integer in the low bits. */
static inline int32_t rounded(float x, float divisor)
{
    const float rounder = 0x1.8p23f;
    int32_t q = (int32_t)(cc_f32_bits(x / divisor + rounder) - cc_f32_bits(rounder));
    q = q < 127 ? q : 127;
    return q > -127 ? q : -127;
}

#if defined(__AVX512F__)
#define FAST 64 /* values at a time */

/* A division takes longer than all else together. A product with 1 / divisor differs from the
 * quotient by less than 2^-14 where that is below 200, so both are rounded to the same integer
 * unless the product lies that near to the middle between two; then round_fast returns false. */
static inline bool fast_applies(float divisor)
{
    return divisor > 0x1p-100f;
}

/* The integers of 64 values, not limited yet; false if they may be wrong. */
static inline bool round_fast(const __m512 v[4], __m512 inverse, __m512i q[4])
{
    const __m512 middle = _mm512_set1_ps(0.5f - 0x1p-14f);
    __mmask16 doubt = 0;
    for (size_t k = 0; k < 4; k++) {
        __m512 product = _mm512_mul_ps(v[k], inverse);
        __m512 rest = _mm512_reduce_ps(product, _MM_FROUND_TO_NEAREST_INT);
        doubt |= _mm512_cmp_ps_mask(_mm512_abs_ps(rest), middle, _CMP_GT_OQ);
        q[k] = _mm512_cvtps_epi32(product);
    }
    return doubt == 0;
}

/* Integers as 64 codes: narrowing in steps leaves the lanes of 128 bits where they were. */
static inline __m512i codes_of(const __m512i q[4])
{
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    __m512i bytes =
        _mm512_packs_epi16(_mm512_packs_epi32(q[0], q[1]), _mm512_packs_epi32(q[2], q[3]));
    return _mm512_max_epi8(_mm512_permutexvar_epi32(order, bytes), _mm512_set1_epi8(-127));
}
#endif

CC_EACH_ELEMENT void quantize(const void *restrict x, enum cc_element type, float divisor,
                              uint8_t *restrict out, size_t n)
{
    size_t i = 0;
#ifdef FAST
    const __m512 inverse = _mm512_set1_ps(1 / divisor);
    for (; fast_applies(divisor) && i + FAST <= n; i += FAST) {
        const __m512 v[4] = {cc_vf32_from(x, i, type), cc_vf32_from(x, i + 16, type),
                             cc_vf32_from(x, i + 32, type), cc_vf32_from(x, i + 48, type)};
        __m512i q[4];
        if (round_fast(v, inverse, q)) {
            _mm512_storeu_si512(out + i, codes_of(q));
        } else {
            for (size_t k = i; k < i + FAST; k++)
                out[k] = (uint8_t)rounded(cc_element_at(x, k, type), divisor);
        }
    }
#endif
    for (; i < n; i++)
        out[i] = (uint8_t)rounded(cc_element_at(x, i, type), divisor);
}

CC_EACH_ELEMENT void quantize_ef_page(const void *restrict x, enum cc_element type,
                                      float *restrict r, float divisor, float scale,
                                      uint8_t *restrict out, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        float v = cc_element_at(x, i, type) + r[i];
        int32_t q = rounded(v, divisor);
        float decoded = (float)q * scale;
        out[i] = (uint8_t)q;
        r[i] = v - decoded;
    }
}

CC_EACH_ELEMENT void quantize_ef(const void *restrict x, enum cc_element type, float *restrict r,
                                 float divisor, float scale, uint8_t *restrict out, size_t n)
{
    for (size_t i = 0, m; i < n; i += m) {
        m = n - i < CC_PAGE_VALUES ? n - i : CC_PAGE_VALUES;
        const struct cc_elements from = cc_elements_from((struct cc_elements){x, type}, i);
        cc_next_page(from.at);
        cc_next_page(r + i);
        cc_next_page(out + i);
        quantize_ef_page(from.at, type, r + i, divisor, scale, out + i, m);
    }
}

#define QUANTIZE(name)                                                                             \
    static void quantize_##name(const void *x, float divisor, uint8_t *out, size_t n)              \
    {                                                                                              \
        quantize(x, CC_ELEMENT_##name, divisor, out, n);                                           \
    }                                                                                              \
    static void quantize_ef_##name(const void *x, float *r, float divisor, float scale,            \
                                   uint8_t *out, size_t n)                                         \
    {                                                                                              \
        quantize_ef(x, CC_ELEMENT_##name, r, divisor, scale, out, n);                              \
    }
QUANTIZE(FP32)
QUANTIZE(BF16)
QUANTIZE(FP16)

#ifdef FAST
/* The numbers of 16 codes. */
static inline __m512 decoded(const uint8_t *in, __m512 scale)
{
    const __m512i q = _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i_u *)(const void *)in));
    return _mm512_mul_ps(_mm512_cvtepi32_ps(q), scale);
}

/* Whether one of 64 codes is -128. */
static inline bool has_unused(const uint8_t *in)
{
    return _mm512_cmpeq_epi8_mask(_mm512_loadu_si512(in), _mm512_set1_epi8(-128)) != 0;
}
#endif

static int load(const uint8_t *restrict in, float scale, float *restrict y, size_t n)
{
    uint8_t bad = 0;
    size_t i = 0;
#ifdef FAST
    for (; i + FAST <= n; i += FAST) {
        bad |= has_unused(in + i);
        for (size_t k = i; k < i + FAST; k += 16)
            _mm512_storeu_ps(y + k, decoded(in + k, _mm512_set1_ps(scale)));
    }
#endif
    for (; i < n; i++) {
        bad |= in[i] == 0x80;
        y[i] = (float)(int8_t)in[i] * scale;
    }
    return bad;
}

static inline int add_page(const uint8_t *restrict in, float scale, float factor, float *restrict y,
                           size_t n)
{
    uint8_t bad = 0;
    size_t i = 0;
#ifdef FAST
    for (; i + FAST <= n; i += FAST) {
        bad |= has_unused(in + i);
        for (size_t k = i; k < i + FAST; k += 16) {
            const __m512 v = decoded(in + k, _mm512_set1_ps(scale));
            const __m512 product = _mm512_mul_ps(_mm512_set1_ps(factor), v);
            _mm512_storeu_ps(y + k, _mm512_add_ps(_mm512_loadu_ps(y + k), product));
        }
    }
#endif
    for (; i < n; i++) {
        bad |= in[i] == 0x80;
        float value = (float)(int8_t)in[i] * scale;
        float product = factor * value;
        y[i] += product;
    }
    return bad;
}

static int add(const uint8_t *restrict in, float scale, float factor, float *restrict y, size_t n)
{
    int bad = 0;
    for (size_t i = 0, m; i < n; i += m) {
        m = n - i < CC_PAGE_VALUES ? n - i : CC_PAGE_VALUES;
        cc_next_page(y + i);
        bad |= add_page(in + i, scale, factor, y + i, m);
    }
    return bad;
}

const struct k_int8 CC_K(k_int8) = {
    .quantize = {quantize_FP32, quantize_BF16, quantize_FP16},
    .quantize_ef = {quantize_ef_FP32, quantize_ef_BF16, quantize_ef_FP16},
    .load = load,
    .add = add,
};
