/* The loops of base3.k.c over whole vectors, for AVX2. Each returns the number of values it did. No
 * include guard: it is a part of base3.k.c, which includes it after its own definitions. */
#include <immintrin.h>

/* x + r, or x where r is NULL, with prefetching. */
static inline __m256 load_sum(const float *x, const float *r, size_t ahead)
{
    prefetch(x, ahead);
    __m256 v = _mm256_loadu_ps(x);
    if (r == NULL)
        return v;
    prefetch(r, ahead);
    return _mm256_add_ps(v, _mm256_loadu_ps(r));
}

/* m with the sign of v where `sent`, else 0. */
static inline __m256 sent_value(__m256 sent, __m256 v, __m256 m)
{
    __m256 sign = _mm256_and_ps(v, _mm256_set1_ps(-0.0f));
    return _mm256_and_ps(sent, _mm256_or_ps(m, sign));
}

/* bytes += weight * trit, for 32 bytes. sent: m * trit, of which saturating packs leave the sign.
 */
static inline void trits_add(const __m256 sent[4], uint8_t weight, uint8_t *bytes)
{
    /* Packing works on halves of 16 bytes: back into order, four bytes at a time. */
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    const __m256i w = _mm256_set1_epi8((char)weight);
    __m256i low = _mm256_packs_epi32(_mm256_castps_si256(sent[0]), _mm256_castps_si256(sent[1]));
    __m256i high = _mm256_packs_epi32(_mm256_castps_si256(sent[2]), _mm256_castps_si256(sent[3]));
    __m256i trit = _mm256_permutevar8x32_epi32(_mm256_packs_epi16(low, high), order);
    __m256i b = _mm256_loadu_si256((const __m256i_u *)(const void *)bytes);
    b = _mm256_add_epi8(b, _mm256_sign_epi8(w, trit));
    _mm256_storeu_si256((__m256i_u *)(void *)bytes, b);
}

static inline size_t round_vectors(const float *restrict x, float *restrict r, float m, float half,
                                   uint8_t weight, uint8_t *restrict bytes, size_t n)
{
    const __m256 scale = _mm256_set1_ps(m), least = _mm256_set1_ps(half);
    const __m256 sign = _mm256_set1_ps(-0.0f);
    size_t i = 0;
    for (; i + 32 <= n; i += 32) {
        __m256 sent[4];
        for (size_t k = 0; k < 4; k++) {
            size_t at = i + 8 * k;
            __m256 v = load_sum(x + at, r != NULL ? r + at : NULL, AHEAD);
            __m256 large = _mm256_cmp_ps(_mm256_andnot_ps(sign, v), least, _CMP_GE_OQ);
            sent[k] = sent_value(large, v, scale);
            if (r != NULL)
                _mm256_storeu_ps(r + at, _mm256_sub_ps(v, sent[k]));
        }
        trits_add(sent, weight, bytes + i);
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
                                  struct cc_key key, uint32_t index, uint8_t weight,
                                  uint8_t *restrict bytes, size_t n)
{
    const __m256 scale = _mm256_set1_ps(m), unit = _mm256_set1_ps(m * 0x1p-24f);
    const __m256 sign = _mm256_set1_ps(-0.0f);
    const __m256i second = _mm256_set1_epi32((int)key.b);
    __m256i lane = _mm256_add_epi32(_mm256_set1_epi32((int)(index + key.a)),
                                    _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    size_t i = 0;
    for (; i + 32 <= n; i += 32) {
        __m256 sent[4];
        for (size_t k = 0; k < 4; k++) {
            size_t at = i + 8 * k;
            __m256 v = load_sum(x + at, r != NULL ? r + at : NULL, r == NULL ? AHEAD_DRAW : AHEAD);
            __m256i random = _mm256_srli_epi32(random_lanes(lane, second), 8);
            lane = _mm256_add_epi32(lane, _mm256_set1_epi32(8));
            sent[k] = sent_value(below(random, unit, _mm256_andnot_ps(sign, v)), v, scale);
            if (r != NULL)
                _mm256_storeu_ps(r + at, _mm256_sub_ps(v, sent[k]));
        }
        trits_add(sent, weight, bytes + i);
    }
    return i;
}

static inline __m256i both_halves(const uint8_t *table)
{
    return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i_u *)(const void *)table));
}

static inline size_t split_vectors(const uint8_t *restrict bytes,
                                   uint8_t *const digits[CC_DIGIT_ARRAYS], size_t n, unsigned *most)
{
    const __m256i one = _mm256_set1_epi8(81), two = _mm256_set1_epi8((char)162);
    const __m256i three = _mm256_set1_epi8(27), six = _mm256_set1_epi8(54);
    /* A rest below 27 is looked up in 16 + 11 elements. A set upper bit gives 0: adding 112 with
     * saturation sets it from 16 on, subtracting 16 below 16. */
    const __m256i low = both_halves(last_four), high = both_halves(last_four + 16);
    const __m256i high_mark = _mm256_set1_epi8(112), low_mark = _mm256_set1_epi8(16);
    __m256i all = _mm256_setzero_si256();
    size_t i = 0;
    for (; i + 32 <= n; i += 32) {
        __m256i b = _mm256_loadu_si256((const __m256i_u *)(const void *)(bytes + i));
        all = _mm256_max_epu8(all, b);
        __m256i is_one = _mm256_cmpeq_epi8(_mm256_max_epu8(b, one), b);
        __m256i is_two = _mm256_cmpeq_epi8(_mm256_max_epu8(b, two), b);
        b = _mm256_sub_epi8(b, _mm256_and_si256(is_one, one));
        b = _mm256_sub_epi8(b, _mm256_and_si256(is_two, one));
        __m256i first = _mm256_sub_epi8(_mm256_setzero_si256(), _mm256_add_epi8(is_one, is_two));
        is_one = _mm256_cmpgt_epi8(b, _mm256_sub_epi8(three, _mm256_set1_epi8(1)));
        is_two = _mm256_cmpgt_epi8(b, _mm256_sub_epi8(six, _mm256_set1_epi8(1)));
        b = _mm256_sub_epi8(b, _mm256_and_si256(is_one, three));
        b = _mm256_sub_epi8(b, _mm256_and_si256(is_two, three));
        __m256i others = _mm256_or_si256(_mm256_shuffle_epi8(low, _mm256_adds_epu8(b, high_mark)),
                                         _mm256_shuffle_epi8(high, _mm256_sub_epi8(b, low_mark)));
        others = _mm256_sub_epi8(others, _mm256_add_epi8(is_one, is_two));
        _mm256_storeu_si256((__m256i_u *)(void *)(digits[0] + i), first);
        _mm256_storeu_si256((__m256i_u *)(void *)(digits[1] + i), others);
        _mm256_storeu_si256((__m256i_u *)(void *)(digits[2] + i), _mm256_srli_epi16(others, 4));
    }
    uint8_t each[32];
    _mm256_storeu_si256((__m256i_u *)(void *)each, all);
    for (size_t k = 0; k < sizeof each; k++)
        *most = each[k] > *most ? each[k] : *most;
    return i;
}

/* The values of 8 digits in bits `shift` and above. Lanes are looked up by three bits, of which the
 * third is not the digit's. */
static inline __m256 values(const uint8_t *digit, unsigned shift, __m256 value)
{
    __m128i eight = _mm_loadl_epi64((const __m128i_u *)(const void *)digit);
    __m256i d = _mm256_srli_epi32(_mm256_cvtepu8_epi32(eight), (int)shift);
    return _mm256_permutevar8x32_ps(value, d);
}

static inline __m256 value_table(const float value[3])
{
    return _mm256_setr_ps(value[0], value[1], value[2], 0, value[0], value[1], value[2], 0);
}

static inline size_t set_vectors(const uint8_t *restrict digits, unsigned shift,
                                 const float value[3], float *restrict y, size_t n,
                                 bool nontemporal)
{
    const __m256 each = value_table(value);
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        for (size_t k = 0; k < 16; k += 8) {
            if (nontemporal)
                _mm256_stream_ps(y + i + k, values(digits + i + k, shift, each));
            else
                _mm256_storeu_ps(y + i + k, values(digits + i + k, shift, each));
        }
    }
    return i;
}

static inline size_t add_vectors(const uint8_t *restrict digits, unsigned shift,
                                 const float value[3], float *restrict y, size_t n)
{
    const __m256 each = value_table(value);
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        __m256 v = values(digits + i, shift, each);
        prefetch(y + i, AHEAD);
        _mm256_storeu_ps(y + i, _mm256_add_ps(_mm256_loadu_ps(y + i), v));
    }
    return i;
}
