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

/* The first digits of 64 bytes as masks, and the bytes without them, times 3. */
static inline struct signs signs_take(uint8_t *bytes)
{
    const __m512i digit = _mm512_set1_epi8(81);
    __m512i b = _mm512_loadu_si512(bytes);
    uint64_t some = _mm512_cmpge_epu8_mask(b, digit);
    uint64_t two = _mm512_cmpge_epu8_mask(b, _mm512_set1_epi8((char)162));
    b = _mm512_mask_sub_epi8(b, some, b, digit);
    b = _mm512_mask_sub_epi8(b, two, b, digit);
    _mm512_storeu_si512(bytes, _mm512_add_epi8(_mm512_add_epi8(b, b), b));
    return (struct signs){.plus = two, .minus = ~some};
}

static inline __m512 values(struct signs s, unsigned k, const __m512 value[3])
{
    __m512 v = _mm512_mask_mov_ps(value[1], (__mmask16)(s.plus >> (16 * k)), value[2]);
    return _mm512_mask_mov_ps(v, (__mmask16)(s.minus >> (16 * k)), value[0]);
}

static inline size_t set_vectors(uint8_t *restrict bytes, const float value[3], float *restrict y,
                                 size_t n, bool nontemporal)
{
    const __m512 each[3] = {_mm512_set1_ps(value[0]), _mm512_set1_ps(value[1]),
                            _mm512_set1_ps(value[2])};
    size_t i = 0;
    for (; i + 64 <= n; i += 64) {
        struct signs s = signs_take(bytes + i);
        for (unsigned k = 0; k < 4; k++) {
            float *to = y + i + (size_t)16 * k;
            if (nontemporal)
                _mm512_stream_ps(to, values(s, k, each));
            else
                _mm512_storeu_ps(to, values(s, k, each));
        }
    }
    return i;
}

static inline size_t add_vectors(uint8_t *restrict bytes, const float value[3], float *restrict y,
                                 size_t n, ptrdiff_t ahead)
{
    const __m512 each[3] = {_mm512_set1_ps(value[0]), _mm512_set1_ps(value[1]),
                            _mm512_set1_ps(value[2])};
    size_t i = 0;
    for (; i + 64 <= n; i += 64) {
        struct signs s = signs_take(bytes + i);
        for (unsigned k = 0; k < 4; k++) {
            float *at = y + i + (size_t)16 * k;
            prefetch(at, ahead);
            _mm512_storeu_ps(at, _mm512_add_ps(_mm512_loadu_ps(at), values(s, k, each)));
        }
    }
    return i;
}
