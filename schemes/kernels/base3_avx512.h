/* The loops of base3.k.c for AVX-512, over all values. No include guard: it is a part of base3.k.c,
 * which includes it after its own definitions. */
#include <immintrin.h>

#include "schemes/kernels/lanes.h"

/* The lanes of vector k, of four, that belong to the next n values. */
static inline __mmask16 lanes_of(size_t n, unsigned k)
{
    size_t left = n > 16 * k ? n - 16 * k : 0;
    return (__mmask16)_bzhi_u32(0xffff, left < 16 ? (unsigned)left : 16);
}

/* x + r, or x where r is NULL, with prefetching; of the lanes in k, where not all are there. */
static inline __m512 load_sum(const float *x, const float *r, bool all, __mmask16 k, size_t ahead)
{
    prefetch(x, ahead);
    __m512 v = all ? _mm512_loadu_ps(x) : _mm512_maskz_loadu_ps(k, x);
    if (r == NULL)
        return v;
    prefetch(r, ahead);
    return _mm512_add_ps(v, all ? _mm512_loadu_ps(r) : _mm512_maskz_loadu_ps(k, r));
}

/* m with the sign of v where k, else 0. */
static inline __m512i sent_value(__mmask16 k, __m512 v, __m512 m)
{
    const __m512i sign = _mm512_set1_epi32((int)0x80000000u);
    return _mm512_maskz_ternarylogic_epi32(k, _mm512_castps_si512(v), sign, _mm512_castps_si512(m),
                                           0xea);
}

/* The part of v that is sent, m with the sign of v where k, else 0. The residual keeps the rest,
 * unless it is NULL. `some`: the lanes that exist, if not all do. */
static inline __m512i send16(__mmask16 k, __m512 v, __m512 m, float *r, bool all, __mmask16 some)
{
    const __m512i sent = sent_value(k, v, m);
    v = _mm512_sub_ps(v, _mm512_castsi512_ps(sent));
    if (r != NULL && all)
        _mm512_storeu_ps(r, v);
    else if (r != NULL)
        _mm512_mask_storeu_ps(r, some, v);
    return sent;
}

/* bytes += weight * trit, for up to 64 bytes. sent: m * trit, of which saturating packs leave the
 * sign. */
static inline void trits_add(const __m512i sent[4], uint8_t weight, uint8_t *bytes, bool all,
                             size_t n)
{
    /* Packing works on quarters of 16 bytes: back into order, four bytes at a time. */
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m512i w = _mm512_set1_epi16(weight);
    const __mmask64 k = all ? ~UINT64_C(0) : _bzhi_u64(~UINT64_C(0), (unsigned)n);
    /* +-2^15 w / 2^15, rounded to the nearest. */
    __m512i low = _mm512_mulhrs_epi16(_mm512_packs_epi32(sent[0], sent[1]), w);
    __m512i high = _mm512_mulhrs_epi16(_mm512_packs_epi32(sent[2], sent[3]), w);
    __m512i trit = _mm512_permutexvar_epi32(order, _mm512_packs_epi16(low, high));
    __m512i b = all ? _mm512_loadu_si512(bytes) : _mm512_maskz_loadu_epi8(k, bytes);
    b = _mm512_add_epi8(b, trit);
    if (all)
        _mm512_storeu_si512(bytes, b);
    else
        _mm512_mask_storeu_epi8(bytes, k, b);
}

static inline void round_step(const float *x, float *r, float m, float half, uint8_t weight,
                              uint8_t *bytes, bool all, size_t n)
{
    const __m512 scale = _mm512_set1_ps(m), least = _mm512_set1_ps(half);
    __m512i sent[4];
    for (unsigned k = 0; k < 4; k++) {
        float *left = r != NULL ? r + 16 * k : NULL;
        __m512 v = load_sum(x + 16 * k, left, all, lanes_of(n, k), AHEAD);
        sent[k] = send16(_mm512_cmp_ps_mask(_mm512_abs_ps(v), least, _CMP_GE_OQ), v, scale, left,
                         all, lanes_of(n, k));
    }
    trits_add(sent, weight, bytes, all, n);
}

static inline size_t round_vectors(const float *restrict x, float *restrict r, float m, float half,
                                   uint8_t weight, uint8_t *restrict bytes, size_t n)
{
    size_t i = 0;
    for (; i + 64 <= n; i += 64)
        round_step(x + i, r != NULL ? r + i : NULL, m, half, weight, bytes + i, true, 64);
    if (i < n)
        round_step(x + i, r != NULL ? r + i : NULL, m, half, weight, bytes + i, false, n - i);
    return n;
}

static inline void draw_step(const float *x, float *r, float m, __m512i second, __m512i *lane,
                             uint8_t weight, uint8_t *bytes, bool all, size_t n)
{
    const __m512 scale = _mm512_set1_ps(m), unit = _mm512_set1_ps(m * 0x1p-32f);
    const __m512i high = _mm512_set1_epi32((int)0xffffff00u);
    __m512i sent[4];
    for (unsigned k = 0; k < 4; k++) {
        float *left = r != NULL ? r + 16 * k : NULL;
        __m512 v = load_sum(x + 16 * k, left, all, lanes_of(n, k), r == NULL ? AHEAD_DRAW : AHEAD);
        /* The upper 24 bits of cc_random. */
        __m512i random = cc_lanes_mixed(*lane, second);
        random = _mm512_ternarylogic_epi32(random, _mm512_srli_epi32(random, 15), high, 0x28);
        *lane = _mm512_add_epi32(*lane, _mm512_set1_epi32(16));
        /* The product rounded towards zero is below |v| if and only if the exact one is. */
        __m512 least = _mm512_mul_round_ps(_mm512_cvtepu32_ps(random), unit,
                                           _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
        sent[k] = send16(_mm512_cmp_ps_mask(_mm512_abs_ps(v), least, _CMP_GT_OQ), v, scale, left,
                         all, lanes_of(n, k));
    }
    trits_add(sent, weight, bytes, all, n);
}

static inline size_t draw_vectors(const float *restrict x, float *restrict r, float m,
                                  struct cc_key key, uint32_t index, uint8_t weight,
                                  uint8_t *restrict bytes, size_t n)
{
    const __m512i second = _mm512_set1_epi32((int)key.b);
    __m512i lane = cc_lanes_index(key, index);
    size_t i = 0;
    for (; i + 64 <= n; i += 64)
        draw_step(x + i, r != NULL ? r + i : NULL, m, second, &lane, weight, bytes + i, true, 64);
    if (i < n)
        draw_step(x + i, r != NULL ? r + i : NULL, m, second, &lane, weight, bytes + i, false,
                  n - i);
    return n;
}

static inline size_t split_vectors(const uint8_t *restrict bytes,
                                   uint8_t *const digits[CC_DIGIT_ARRAYS], size_t n, unsigned *most)
{
    const __m512i first = _mm512_set1_epi8(81), one = _mm512_set1_epi8(1);
    const __m512i low = _mm512_loadu_si512(last_four), high = _mm512_loadu_si512(last_four + 64);
    __m512i all = _mm512_setzero_si512();
    for (size_t i = 0; i < n; i += 64) {
        __m512i b =
            n - i >= 64
                ? _mm512_loadu_si512(bytes + i)
                : _mm512_maskz_loadu_epi8(_bzhi_u64(~UINT64_C(0), (unsigned)(n - i)), bytes + i);
        all = _mm512_max_epu8(all, b);
        __mmask64 some = _mm512_cmpge_epu8_mask(b, first);
        __mmask64 two = _mm512_cmpge_epu8_mask(b, _mm512_set1_epi8((char)162));
        __m512i digit = _mm512_maskz_mov_epi8(some, one);
        digit = _mm512_mask_add_epi8(digit, two, digit, one);
        b = _mm512_mask_sub_epi8(b, some, b, first);
        b = _mm512_mask_sub_epi8(b, two, b, first);
        b = _mm512_permutex2var_epi8(low, b, high);
        _mm512_storeu_si512(digits[0] + i, digit);
        _mm512_storeu_si512(digits[1] + i, b);
        _mm512_storeu_si512(digits[2] + i, _mm512_srli_epi16(b, 4));
    }
    uint8_t each[64];
    _mm512_storeu_si512(each, all);
    for (size_t i = 0; i < 64; i++)
        *most = each[i] > *most ? each[i] : *most;
    return n;
}

/* The values by the lower four bits of a byte, of which two bits are the digit. */
static inline __m512 value_table(const float value[3], unsigned shift)
{
    float all[16];
    for (unsigned k = 0; k < 16; k++)
        all[k] = value[(k >> shift & 3) % 3];
    return _mm512_loadu_ps(all);
}

/* The values of 16 digits: a permutation of the table. */
static inline __m512 values(__m128i digits, __m512 table)
{
    return _mm512_permutexvar_ps(_mm512_cvtepu8_epi32(digits), table);
}

static inline __m128i load_digits(const uint8_t *digits)
{
    return _mm_loadu_si128((const __m128i_u *)(const void *)digits);
}

static inline size_t set_vectors(const uint8_t *restrict digits, unsigned shift,
                                 const float value[3], float *restrict y, size_t n,
                                 bool nontemporal)
{
    const __m512 table = value_table(value, shift);
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        if (nontemporal)
            _mm512_stream_ps(y + i, values(load_digits(digits + i), table));
        else
            _mm512_storeu_ps(y + i, values(load_digits(digits + i), table));
    }
    const __mmask16 k = lanes_of(n - i, 0);
    if (i < n)
        _mm512_mask_storeu_ps(y + i, k, values(_mm_maskz_loadu_epi8(k, digits + i), table));
    return n;
}

static inline size_t add_vectors(const uint8_t *restrict digits, unsigned shift,
                                 const float value[3], float *restrict y, size_t n)
{
    const __m512 table = value_table(value, shift);
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        __m512 v = values(load_digits(digits + i), table);
        prefetch(y + i, AHEAD_ADD);
        _mm512_storeu_ps(y + i, _mm512_add_ps(_mm512_loadu_ps(y + i), v));
    }
    const __mmask16 k = lanes_of(n - i, 0);
    if (i < n) {
        __m512 v = values(_mm_maskz_loadu_epi8(k, digits + i), table);
        _mm512_mask_storeu_ps(y + i, k, _mm512_add_ps(_mm512_maskz_loadu_ps(k, y + i), v));
    }
    return n;
}
