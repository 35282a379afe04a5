/* The loops of base3.k.c over whole vectors, for AVX-512. Each returns the number of values it did.
 * No include guard: it is a part of base3.k.c, which includes it after its own definitions. */
#include <immintrin.h>

#include "schemes/kernels/lanes.h"

/* 64 trits as bits: those that are 1, and those that are -1. */
struct signs {
    uint64_t plus, minus;
};

static inline void signs_put(struct signs *s, unsigned k, __mmask16 plus, __mmask16 minus)
{
    s->plus |= (uint64_t)plus << (16 * k);
    s->minus |= (uint64_t)minus << (16 * k);
}

/* bytes = 3 * bytes + digit, for 64 bytes. */
static inline void signs_append(struct signs s, uint8_t *bytes)
{
    const __m512i one = _mm512_set1_epi8((char)CC_DIGIT_ZERO);
    __m512i b = _mm512_loadu_si512(bytes);
    b = _mm512_add_epi8(_mm512_add_epi8(b, b), _mm512_add_epi8(b, one));
    b = _mm512_mask_add_epi8(b, s.plus, b, one);
    b = _mm512_mask_sub_epi8(b, s.minus, b, one);
    _mm512_storeu_si512(bytes, b);
}

/* v - m * trit */
static inline __m512 left_over(__m512 v, __m512 m, __mmask16 plus, __mmask16 minus)
{
    return _mm512_mask_add_ps(_mm512_mask_sub_ps(v, plus, v, m), minus, v, m);
}

/* x + r, or x where r is NULL; prefetches the values `ahead`. */
static inline __m512 load_sum(const float *x, const float *r, ptrdiff_t ahead)
{
    prefetch(x, ahead);
    __m512 v = _mm512_loadu_ps(x);
    if (r != NULL) {
        prefetch(r, ahead);
        v = _mm512_add_ps(v, _mm512_loadu_ps(r));
    }
    return v;
}

static inline size_t round_vectors(const float *restrict x, float *restrict r, float m, float half,
                                   uint8_t *restrict bytes, size_t n, ptrdiff_t ahead)
{
    const __m512 scale = _mm512_set1_ps(m), least = _mm512_set1_ps(half);
    const __m512 most = _mm512_set1_ps(-half);
    size_t i = 0;
    for (; i + 64 <= n; i += 64) {
        struct signs s = {0};
        for (unsigned k = 0; k < 4; k++) {
            size_t at = i + (size_t)16 * k;
            __m512 v = load_sum(x + at, r != NULL ? r + at : NULL, ahead);
            __mmask16 plus = _mm512_cmp_ps_mask(v, least, _CMP_GE_OQ);
            __mmask16 minus = _mm512_cmp_ps_mask(v, most, _CMP_LE_OQ);
            signs_put(&s, k, plus, minus);
            if (r != NULL)
                _mm512_storeu_ps(r + at, left_over(v, scale, plus, minus));
        }
        signs_append(s, bytes + i);
    }
    return i;
}

static inline size_t draw_vectors(const float *restrict x, float *restrict r, float m,
                                  struct cc_key key, uint32_t index, uint8_t *restrict bytes,
                                  size_t n, ptrdiff_t ahead)
{
    const __m512 scale = _mm512_set1_ps(m), unit = _mm512_set1_ps(m * 0x1p-24f);
    const __m512i second = _mm512_set1_epi32((int)key.b);
    __m512i lane =
        _mm512_add_epi32(_mm512_set1_epi32((int)(index + key.a)),
                         _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
    size_t i = 0;
    for (; i + 64 <= n; i += 64) {
        struct signs s = {0};
        for (unsigned k = 0; k < 4; k++) {
            size_t at = i + (size_t)16 * k;
            __m512 v = load_sum(x + at, r != NULL ? r + at : NULL, ahead);
            __m512i random = _mm512_srli_epi32(cc_lanes_random(lane, second), 8);
            lane = _mm512_add_epi32(lane, _mm512_set1_epi32(16));
            /* The product rounded towards zero is below |v| if and only if the exact one is. */
            __m512 least = _mm512_mul_round_ps(_mm512_cvtepi32_ps(random), unit,
                                               _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
            __m512 most = _mm512_xor_ps(least, _mm512_set1_ps(-0.0f));
            __mmask16 plus = _mm512_cmp_ps_mask(v, least, _CMP_GT_OQ);
            __mmask16 minus = _mm512_cmp_ps_mask(v, most, _CMP_LT_OQ);
            signs_put(&s, k, plus, minus);
            if (r != NULL)
                _mm512_storeu_ps(r + at, left_over(v, scale, plus, minus));
        }
        signs_append(s, bytes + i);
    }
    return i;
}

/* The first digits of 64 bytes, and the bytes without them, times 3. */
static inline __m512i digits_take(uint8_t *bytes)
{
    const __m512i first = _mm512_set1_epi8(81), one = _mm512_set1_epi8(1);
    __m512i b = _mm512_loadu_si512(bytes);
    __mmask64 some = _mm512_cmpge_epu8_mask(b, first);
    __mmask64 two = _mm512_cmpge_epu8_mask(b, _mm512_set1_epi8((char)162));
    __m512i digit = _mm512_maskz_mov_epi8(some, one);
    digit = _mm512_mask_add_epi8(digit, two, digit, one);
    b = _mm512_mask_sub_epi8(b, some, b, first);
    b = _mm512_mask_sub_epi8(b, two, b, first);
    _mm512_storeu_si512(bytes, _mm512_add_epi8(_mm512_add_epi8(b, b), b));
    return digit;
}

/* The values of 16 digits: a permutation of the table. */
static inline __m512 values(__m128i digits, __m512 table)
{
    return _mm512_permutexvar_ps(_mm512_cvtepu8_epi32(digits), table);
}

static inline void values_of(__m512i digits, __m512 table, __m512 v[4])
{
    v[0] = values(_mm512_castsi512_si128(digits), table);
    v[1] = values(_mm512_extracti32x4_epi32(digits, 1), table);
    v[2] = values(_mm512_extracti32x4_epi32(digits, 2), table);
    v[3] = values(_mm512_extracti32x4_epi32(digits, 3), table);
}

static inline __m512 value_table(const float value[3])
{
    return _mm512_maskz_loadu_ps(7, value);
}

static inline size_t set_vectors(uint8_t *restrict bytes, const float value[3], float *restrict y,
                                 size_t n, bool nontemporal)
{
    const __m512 table = value_table(value);
    size_t i = 0;
    for (; i + 64 <= n; i += 64) {
        __m512 v[4];
        values_of(digits_take(bytes + i), table, v);
        for (size_t k = 0; k < 4; k++) {
            if (nontemporal)
                _mm512_stream_ps(y + i + 16 * k, v[k]);
            else
                _mm512_storeu_ps(y + i + 16 * k, v[k]);
        }
    }
    return i;
}

static inline size_t add_vectors(uint8_t *restrict bytes, const float value[3], float *restrict y,
                                 size_t n, ptrdiff_t ahead)
{
    const __m512 table = value_table(value);
    size_t i = 0;
    for (; i + 64 <= n; i += 64) {
        __m512 v[4];
        values_of(digits_take(bytes + i), table, v);
        for (size_t k = 0; k < 4; k++) {
            float *at = y + i + 16 * k;
            prefetch(at, ahead);
            _mm512_storeu_ps(at, _mm512_add_ps(_mm512_loadu_ps(at), v[k]));
        }
    }
    return i;
}
