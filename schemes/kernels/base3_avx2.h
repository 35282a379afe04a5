/* The loops of base3.k.c over whole vectors, for AVX2. Each returns the number of values it did. No
 * include guard: it is a part of base3.k.c, which includes it after its own definitions. */
#include <immintrin.h>

/* Trits of 8 values from two comparisons: 1, 0 or -1. */
static inline __m256i trits(__m256 plus, __m256 minus)
{
    return _mm256_sub_epi32(_mm256_castps_si256(minus), _mm256_castps_si256(plus));
}

/* v - m * trit */
static inline __m256 left_over(__m256 v, __m256 m, __m256 plus, __m256 minus)
{
    __m256 negative = _mm256_xor_ps(m, _mm256_set1_ps(-0.0f));
    return _mm256_sub_ps(v, _mm256_or_ps(_mm256_and_ps(m, plus), _mm256_and_ps(negative, minus)));
}

/* bytes = 3 * bytes + digit, for 32 bytes whose trits are in t[0 .. 3]. */
static inline void trits_append(const __m256i t[4], uint8_t *bytes)
{
    __m256i low = _mm256_packs_epi32(t[0], t[1]), high = _mm256_packs_epi32(t[2], t[3]);
    /* Packing works on halves of 16 bytes: back into order, four bytes at a time. */
    __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    __m256i trit = _mm256_permutevar8x32_epi32(_mm256_packs_epi16(low, high), order);
    __m256i b = _mm256_loadu_si256((const __m256i_u *)(const void *)bytes);
    b = _mm256_add_epi8(_mm256_add_epi8(b, b), _mm256_add_epi8(b, trit));
    b = _mm256_add_epi8(b, _mm256_set1_epi8((char)CC_DIGIT_ZERO));
    _mm256_storeu_si256((__m256i_u *)(void *)bytes, b);
}

/* x + r, or x where r is NULL; prefetches the values `ahead`. */
static inline __m256 load_sum(const float *x, const float *r, ptrdiff_t ahead)
{
    prefetch(x, ahead);
    __m256 v = _mm256_loadu_ps(x);
    if (r != NULL) {
        prefetch(r, ahead);
        v = _mm256_add_ps(v, _mm256_loadu_ps(r));
    }
    return v;
}

static inline size_t round_vectors(const float *restrict x, float *restrict r, float m, float half,
                                   uint8_t *restrict bytes, size_t n, ptrdiff_t ahead)
{
    const __m256 scale = _mm256_set1_ps(m), least = _mm256_set1_ps(half);
    const __m256 most = _mm256_set1_ps(-half);
    size_t i = 0;
    for (; i + 32 <= n; i += 32) {
        __m256i t[4];
        for (size_t k = 0; k < 4; k++) {
            size_t at = i + 8 * k;
            __m256 v = load_sum(x + at, r != NULL ? r + at : NULL, ahead);
            __m256 plus = _mm256_cmp_ps(v, least, _CMP_GE_OQ);
            __m256 minus = _mm256_cmp_ps(v, most, _CMP_LE_OQ);
            t[k] = trits(plus, minus);
            if (r != NULL)
                _mm256_storeu_ps(r + at, left_over(v, scale, plus, minus));
        }
        trits_append(t, bytes + i);
    }
    return i;
}

/* cc_random, 8 at a time; index is already index + key.a */
static inline __m256i random_lanes(__m256i index, __m256i key)
{
    __m256i v = _mm256_xor_si256(index, _mm256_srli_epi32(index, 16));
    v = _mm256_mullo_epi32(v, _mm256_set1_epi32(0x21f0aaad));
    v = _mm256_xor_si256(_mm256_xor_si256(v, _mm256_srli_epi32(v, 15)), key);
    v = _mm256_mullo_epi32(v, _mm256_set1_epi32((int)0xd35a2d97u));
    return _mm256_xor_si256(v, _mm256_srli_epi32(v, 15));
}

/* Where k * unit < a without rounding: where the rounded product equals a, the rounding error
 * decides. */
static inline __m256 below(__m256i k, __m256 unit, __m256 a)
{
    __m256 number = _mm256_cvtepi32_ps(k), product = _mm256_mul_ps(number, unit);
    __m256 lost = _mm256_fmsub_ps(number, unit, product);
    __m256 equal = _mm256_and_ps(_mm256_cmp_ps(product, a, _CMP_EQ_OQ),
                                 _mm256_cmp_ps(lost, _mm256_setzero_ps(), _CMP_LT_OQ));
    return _mm256_or_ps(equal, _mm256_cmp_ps(product, a, _CMP_LT_OQ));
}

static inline size_t draw_vectors(const float *restrict x, float *restrict r, float m,
                                  struct cc_key key, uint32_t index, uint8_t *restrict bytes,
                                  size_t n, ptrdiff_t ahead)
{
    const __m256 scale = _mm256_set1_ps(m), unit = _mm256_set1_ps(m * 0x1p-24f);
    const __m256 sign = _mm256_set1_ps(-0.0f);
    const __m256i second = _mm256_set1_epi32((int)key.b);
    __m256i lane = _mm256_add_epi32(_mm256_set1_epi32((int)(index + key.a)),
                                    _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    size_t i = 0;
    for (; i + 32 <= n; i += 32) {
        __m256i t[4];
        for (size_t k = 0; k < 4; k++) {
            size_t at = i + 8 * k;
            __m256 v = load_sum(x + at, r != NULL ? r + at : NULL, ahead);
            __m256i random = _mm256_srli_epi32(random_lanes(lane, second), 8);
            lane = _mm256_add_epi32(lane, _mm256_set1_epi32(8));
            __m256 sent = below(random, unit, _mm256_andnot_ps(sign, v));
            __m256 negative = _mm256_castsi256_ps(_mm256_srai_epi32(_mm256_castps_si256(v), 31));
            __m256 plus = _mm256_andnot_ps(negative, sent), minus = _mm256_and_ps(negative, sent);
            t[k] = trits(plus, minus);
            if (r != NULL)
                _mm256_storeu_ps(r + at, left_over(v, scale, plus, minus));
        }
        trits_append(t, bytes + i);
    }
    return i;
}

/* The first digits of 32 bytes, and the bytes without them, times 3. */
static inline __m256i digits_take(uint8_t *bytes)
{
    const __m256i one = _mm256_set1_epi8(81), two = _mm256_set1_epi8((char)162);
    __m256i b = _mm256_loadu_si256((const __m256i_u *)(const void *)bytes);
    __m256i is_one = _mm256_cmpeq_epi8(_mm256_max_epu8(b, one), b);
    __m256i is_two = _mm256_cmpeq_epi8(_mm256_max_epu8(b, two), b);
    b = _mm256_sub_epi8(b, _mm256_and_si256(is_one, one));
    b = _mm256_sub_epi8(b, _mm256_and_si256(is_two, one));
    b = _mm256_add_epi8(_mm256_add_epi8(b, b), b);
    _mm256_storeu_si256((__m256i_u *)(void *)bytes, b);
    return _mm256_sub_epi8(_mm256_setzero_si256(), _mm256_add_epi8(is_one, is_two));
}

/* The values of digits 8 k .. 8 k + 7. */
static inline __m256 values(const uint8_t *digit, size_t k, __m256 value)
{
    __m128i eight = _mm_loadl_epi64((const __m128i_u *)(const void *)(digit + 8 * k));
    return _mm256_permutevar8x32_ps(value, _mm256_cvtepu8_epi32(eight));
}

static inline __m256 value_table(const float value[3])
{
    return _mm256_setr_ps(value[0], value[1], value[2], 0, 0, 0, 0, 0);
}

static inline size_t set_vectors(uint8_t *restrict bytes, const float value[3], float *restrict y,
                                 size_t n, bool nontemporal)
{
    const __m256 each = value_table(value);
    size_t i = 0;
    for (; i + 32 <= n; i += 32) {
        uint8_t digit[32];
        _mm256_storeu_si256((__m256i_u *)(void *)digit, digits_take(bytes + i));
        for (size_t k = 0; k < 4; k++) {
            if (nontemporal)
                _mm256_stream_ps(y + i + 8 * k, values(digit, k, each));
            else
                _mm256_storeu_ps(y + i + 8 * k, values(digit, k, each));
        }
    }
    return i;
}

static inline size_t add_vectors(uint8_t *restrict bytes, const float value[3], float *restrict y,
                                 size_t n, ptrdiff_t ahead)
{
    const __m256 each = value_table(value);
    size_t i = 0;
    for (; i + 32 <= n; i += 32) {
        uint8_t digit[32];
        _mm256_storeu_si256((__m256i_u *)(void *)digit, digits_take(bytes + i));
        for (size_t k = 0; k < 4; k++) {
            float *at = y + i + 8 * k;
            prefetch(at, ahead);
            _mm256_storeu_ps(at, _mm256_add_ps(_mm256_loadu_ps(at), values(digit, k, each)));
        }
    }
    return i;
}
