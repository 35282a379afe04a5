/* Words split into exponents and the rest. With AVX-512 a permutation of two vectors gives 64 of
 * the 192 bytes of the lower parts of 64 words; AVX2 shuffles 8 words at a time, and NEON loads and
 * stores bytes by their place in the word. */
#include "schemes/kernels/words.h"

#include <string.h>

#include "core/bytes.h"
#include "core/memory.h"
#include "schemes/kernels/masks.h"
#include "schemes/kernels/vector.h"

static inline uint32_t rotated(uint32_t w)
{
    return w << 1 | w >> 31;
}

#if defined(__AVX512VBMI2__)

/* The bytes of the lower parts of 64 words, by their places in two vectors of 16 words each: the
 * first table is for words 0 to 21, of vectors 0 and 1, the second for 21 to 42, of 1 and 2, the
 * third for the rest. And back: the places, in one or two of these vectors, of the bytes of 16
 * words, and of their upper byte. */
#define LOW(k)   4 * (k), 4 * (k) + 1, 4 * (k) + 2
#define LOW4(k)  LOW(k), LOW((k) + 1), LOW((k) + 2), LOW((k) + 3)
#define LOW20(k) LOW4(k), LOW4((k) + 4), LOW4((k) + 8), LOW4((k) + 12), LOW4((k) + 16)
#define TOP4(k)  4 * (k) + 3, 4 * (k) + 7, 4 * (k) + 11, 4 * (k) + 15
#define TOP16(k) TOP4(k), TOP4((k) + 4), TOP4((k) + 8), TOP4((k) + 12)
#define WORD(p)  p, (p) + 1, (p) + 2, 0
#define WORD4(p) WORD(p), WORD((p) + 3), WORD((p) + 6), WORD((p) + 9)
#define WORD16(p)                                                                                  \
    {                                                                                              \
        WORD4(p), WORD4((p) + 12), WORD4((p) + 24), WORD4((p) + 36)                                \
    }
#define LIFT4(k)                                                                                   \
    k, k, k, k, (k) + 1, (k) + 1, (k) + 1, (k) + 1, (k) + 2, (k) + 2, (k) + 2, (k) + 2, (k) + 3,   \
        (k) + 3, (k) + 3, (k) + 3
#define LIFT16(k)                                                                                  \
    {                                                                                              \
        LIFT4(k), LIFT4((k) + 4), LIFT4((k) + 8), LIFT4((k) + 12)                                  \
    }
static const uint8_t take[3][64] = {
    {LOW20(0), LOW(20), 84},
    {21, 22, LOW20(6), 104, 105},
    {42, LOW20(11), LOW(31)},
};
static const uint8_t tops[64] = {TOP16(0), TOP16(16)};
static const uint8_t word_of[4][64] = {WORD16(0), WORD16(48), WORD16(32), WORD16(16)};
static const uint8_t lift[4][64] = {LIFT16(0), LIFT16(16), LIFT16(32), LIFT16(48)};

static inline __m512i table64(const uint8_t table[64])
{
    return _mm512_loadu_si512(table);
}

#endif

#ifdef CC_VECTORS
/* Prefetches the bytes that lie 4 i beyond `ahead`, for 64 values, to the second-level cache. */
static inline void fetch(const void *ahead, size_t i)
{
    for (size_t k = 0; ahead != NULL && k < 64 * sizeof(float); k += CC_ALIGN)
        __builtin_prefetch((const void *)((uintptr_t)ahead + sizeof(float) * i + k), 0, 2);
}
#endif

static void split32(const float *restrict x, size_t n, const void *ahead, uint8_t *restrict low,
                    uint8_t *restrict high)
{
    size_t i = 0;
    (void)ahead;
#if defined(__AVX512VBMI2__)
    const __m512i t0 = table64(take[0]), t1 = table64(take[1]), t2 = table64(take[2]);
    const __m512i top = table64(tops);
    for (; i + 64 <= n; i += 64) {
        fetch(ahead, i);
        const __m512i a = _mm512_rol_epi32(_mm512_loadu_si512(x + i), 1);
        const __m512i b = _mm512_rol_epi32(_mm512_loadu_si512(x + i + 16), 1);
        const __m512i c = _mm512_rol_epi32(_mm512_loadu_si512(x + i + 32), 1);
        const __m512i d = _mm512_rol_epi32(_mm512_loadu_si512(x + i + 48), 1);
        _mm512_storeu_si512(low + 3 * i, _mm512_permutex2var_epi8(a, t0, b));
        _mm512_storeu_si512(low + 3 * i + 64, _mm512_permutex2var_epi8(b, t1, c));
        _mm512_storeu_si512(low + 3 * i + 128, _mm512_permutex2var_epi8(c, t2, d));
        const __m512i first = _mm512_permutex2var_epi8(a, top, b);
        const __m512i second = _mm512_permutex2var_epi8(c, top, d);
        _mm512_storeu_si512(high + i, _mm512_inserti64x4(first, _mm512_castsi512_si256(second), 1));
    }
#elif defined(__AVX2__)
    const __m256i order = _mm256_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 3, 7, 11, 15, 0,
                                           1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 3, 7, 11, 15);
    for (; i + 8 <= n; i += 8) {
        if (i % 64 == 0)
            fetch(ahead, i);
        const __m256i w = _mm256_loadu_si256((const __m256i *)(const void *)(x + i));
        const __m256i r = _mm256_or_si256(_mm256_slli_epi32(w, 1), _mm256_srli_epi32(w, 31));
        const __m256i parts = _mm256_shuffle_epi8(r, order);
        const __m128i a = _mm256_castsi256_si128(parts), b = _mm256_extracti128_si256(parts, 1);
        _mm_storeu_si128((__m128i *)(void *)(low + 3 * i), a);
        _mm_storeu_si128((__m128i *)(void *)(low + 3 * i + 12), b);
        cc_put_u32(high + i, (uint32_t)_mm_extract_epi32(a, 3));
        cc_put_u32(high + i + 4, (uint32_t)_mm_extract_epi32(b, 3));
    }
#elif defined(__ARM_NEON)
    for (; i + 16 <= n; i += 16) {
        if (i % 64 == 0)
            fetch(ahead, i);
        const uint8x16x4_t w = vld4q_u8((const uint8_t *)(x + i));
        uint8x16x3_t out;
        out.val[0] = vsriq_n_u8(vshlq_n_u8(w.val[0], 1), w.val[3], 7);
        out.val[1] = vsriq_n_u8(vshlq_n_u8(w.val[1], 1), w.val[0], 7);
        out.val[2] = vsriq_n_u8(vshlq_n_u8(w.val[2], 1), w.val[1], 7);
        vst3q_u8(low + 3 * i, out);
        vst1q_u8(high + i, vsriq_n_u8(vshlq_n_u8(w.val[3], 1), w.val[2], 7));
    }
#endif
    for (; i < n; i++) {
        const uint32_t r = rotated(cc_f32_bits(x[i]));
        cc_put_u16(low + 3 * i, (uint16_t)r);
        low[3 * i + 2] = (uint8_t)(r >> 16);
        high[i] = (uint8_t)(r >> 24);
    }
}

/* Sets or updates 16 values, or what a vector holds of them. */
#ifdef CC_VECTORS
static inline void give(float *y, cc_vu32 word, const float *scale, bool nontemporal)
{
    (void)nontemporal;
    if (scale != NULL)
        cc_vf32_store(y, cc_vf32_load(y) + *scale * (cc_vf32)word);
#if defined(__AVX512F__)
    else if (nontemporal)
        _mm512_stream_si512((__m512i *)(void *)y, (__m512i)word);
#elif defined(__AVX2__)
    else if (nontemporal)
        _mm256_stream_si256((__m256i *)(void *)y, (__m256i)word);
#endif
    else
        cc_vu32_store(y, word);
}
#endif

static inline void join(const uint8_t *restrict low, const uint8_t *restrict high, size_t n,
                        const void *ahead, const float *scale, bool nontemporal, float *restrict y)
{
    size_t i = 0;
    (void)nontemporal;
    (void)ahead;
#if defined(__AVX512VBMI2__)
    const __mmask64 upper = UINT64_C(0x8888888888888888);
    __m512i from[4], top[4];
    for (size_t v = 0; v < 4; v++) {
        from[v] = table64(word_of[v]);
        top[v] = table64(lift[v]);
    }
    for (; i + 64 <= n; i += 64) {
        fetch(ahead, i);
        const __m512i a = _mm512_loadu_si512(low + 3 * i), b = _mm512_loadu_si512(low + 3 * i + 64);
        const __m512i c = _mm512_loadu_si512(low + 3 * i + 128), e = _mm512_loadu_si512(high + i);
        const __m512i part[4] = {
            _mm512_permutexvar_epi8(from[0], a), _mm512_permutex2var_epi8(a, from[1], b),
            _mm512_permutex2var_epi8(b, from[2], c), _mm512_permutexvar_epi8(from[3], c)};
        for (size_t v = 0; v < 4; v++) {
            const __m512i w = _mm512_mask_permutexvar_epi8(part[v], upper, top[v], e);
            give(y + i + 16 * v, (cc_vu32)_mm512_ror_epi32(w, 1), scale, nontemporal);
        }
    }
#elif defined(__AVX2__)
    const __m256i order = _mm256_setr_epi8(0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11, -1, 0,
                                           1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11, -1);
    for (; i + 8 <= n; i += 8) {
        if (i % 64 == 0)
            fetch(ahead, i);
        const __m128i a = _mm_loadu_si128((const __m128i *)(const void *)(low + 3 * i));
        const __m128i b = _mm_loadu_si128((const __m128i *)(const void *)(low + 3 * i + 12));
        const __m256i r = _mm256_or_si256(
            _mm256_shuffle_epi8(_mm256_inserti128_si256(_mm256_castsi128_si256(a), b, 1), order),
            _mm256_slli_epi32(widen8(cc_get_u64(high + i)), 24));
        give(y + i, (cc_vu32)_mm256_or_si256(_mm256_srli_epi32(r, 1), _mm256_slli_epi32(r, 31)),
             scale, nontemporal);
    }
#elif defined(__ARM_NEON)
    for (; i + 16 <= n; i += 16) {
        if (i % 64 == 0)
            fetch(ahead, i);
        const uint8x16x3_t r = vld3q_u8(low + 3 * i);
        const uint8x16_t e = vld1q_u8(high + i);
        uint8x16x4_t w;
        uint8_t bytes[64];
        w.val[0] = vsliq_n_u8(vshrq_n_u8(r.val[0], 1), r.val[1], 7);
        w.val[1] = vsliq_n_u8(vshrq_n_u8(r.val[1], 1), r.val[2], 7);
        w.val[2] = vsliq_n_u8(vshrq_n_u8(r.val[2], 1), e, 7);
        w.val[3] = vsliq_n_u8(vshrq_n_u8(e, 1), r.val[0], 7);
        if (scale == NULL) {
            vst4q_u8((uint8_t *)(y + i), w);
            continue;
        }
        vst4q_u8(bytes, w);
        for (size_t v = 0; v < 4; v++)
            give(y + i + 4 * v, cc_vu32_load(bytes + 16 * v), scale, nontemporal);
    }
#endif
    for (; i < n; i++) {
        const uint32_t r =
            cc_get_u16(low + 3 * i) | (uint32_t)low[3 * i + 2] << 16 | (uint32_t)high[i] << 24;
        const float v = cc_bits_f32(r >> 1 | r << 31);
        if (scale == NULL) {
            memcpy(y + i, &v, sizeof v);
        } else {
            const float product = *scale * v;
            y[i] += product;
        }
    }
}

static void join32(const uint8_t *restrict low, const uint8_t *restrict high, size_t n,
                   const void *ahead, const float *scale, bool nontemporal, float *restrict y)
{
    if (scale != NULL)
        join(low, high, n, ahead, scale, false, y);
    else if (nontemporal && (uintptr_t)y % CC_ALIGN == 0)
        join(low, high, n, ahead, NULL, true, y);
    else
        join(low, high, n, ahead, NULL, false, y);
}

static void split16(const uint16_t *restrict w, size_t n, const void *ahead, uint8_t *restrict low,
                    uint8_t *restrict high)
{
    size_t i = 0;
    (void)ahead;
#if defined(__AVX512VBMI2__)
    const __m512i index = _mm512_set1_epi64(0x0e0c0a0806040200);
    const __m512i even = _mm512_add_epi8(
        index, _mm512_set_epi64(0x7070707070707070, 0x6060606060606060, 0x5050505050505050,
                                0x4040404040404040, 0x3030303030303030, 0x2020202020202020,
                                0x1010101010101010, 0));
    const __m512i odd = _mm512_add_epi8(even, _mm512_set1_epi8(1));
    for (; i + 64 <= n; i += 64) {
        if (i % 128 == 0)
            fetch(ahead, i / 2);
        const __m512i a = _mm512_loadu_si512(w + i), b = _mm512_loadu_si512(w + i + 32);
        const __m512i r = _mm512_shldi_epi16(a, a, 1), s = _mm512_shldi_epi16(b, b, 1);
        _mm512_storeu_si512(low + i, _mm512_permutex2var_epi8(r, even, s));
        _mm512_storeu_si512(high + i, _mm512_permutex2var_epi8(r, odd, s));
    }
#endif
    for (; i < n; i++) {
        const uint16_t r = (uint16_t)(w[i] << 1 | w[i] >> 15);
        low[i] = (uint8_t)r;
        high[i] = (uint8_t)(r >> 8);
    }
}

static void join16(const uint8_t *restrict low, const uint8_t *restrict high, size_t n,
                   uint16_t *restrict w)
{
    for (size_t i = 0; i < n; i++) {
        const uint16_t r = (uint16_t)(low[i] | high[i] << 8);
        w[i] = (uint16_t)(r >> 1 | r << 15);
    }
}

#define ONES UINT64_C(0x0101010101010101)

static void cut(const uint8_t *restrict high, size_t n, uint8_t *restrict exponent,
                uint8_t *restrict twos, uint8_t *restrict ones)
{
    size_t i = 0;
    for (; i + 64 <= n; i += 64) {
        uint64_t plane[2] = {0, 0};
        for (unsigned k = 0; k < 8; k++) {
            const uint64_t v = cc_get_u64(high + i + 8 * (size_t)k);
            cc_put_u64(exponent + i + 8 * (size_t)k, v >> 3 & 31 * ONES);
            plane[k % 2] |= (v & 3 * ONES) << 2 * (k / 2);
            ones[i / 8 + k] = (uint8_t)((v >> 2 & ONES) * UINT64_C(0x0102040810204080) >> 56);
        }
        cc_put_u64(twos + i / 4, plane[0]);
        cc_put_u64(twos + i / 4 + 8, plane[1]);
    }
    memset(twos + i / 4, 0, cc_exponent_bytes2(n - i));
    memset(ones + i / 8, 0, (n - i + 7) / 8);
    for (size_t k = i; k < n; k++) {
        exponent[k] = high[k] >> 3;
        cc_exponent_put(twos + i / 4, k - i, 2, high[k] & 3);
        ones[k / 8] = (uint8_t)(ones[k / 8] | (high[k] >> 2 & 1) << k % 8);
    }
}

static void uncut(const uint8_t *restrict exponent, const uint8_t *restrict twos,
                  const uint8_t *restrict ones, size_t n, uint8_t *restrict high)
{
    size_t i = 0;
    for (; i + 64 <= n; i += 64)
        for (unsigned k = 0; k < 8; k++) {
            const uint64_t e = cc_get_u64(exponent + i + 8 * (size_t)k);
            const uint64_t two = cc_get_u64(twos + i / 4 + 8 * (size_t)(k % 2)) >> 2 * (k / 2);
            const uint64_t bits = ones[i / 8 + k] * ONES & UINT64_C(0x8040201008040201);
            const uint64_t one = (bits + 0x7f * ONES) >> 7 & ONES;
            cc_put_u64(high + i + 8 * (size_t)k,
                       (e & 31 * ONES) << 3 | (two & 3 * ONES) | one << 2);
        }
    for (size_t k = i; k < n; k++)
        high[k] = (uint8_t)((unsigned)exponent[k] << 3 | cc_exponent_get(twos + i / 4, k - i, 2) |
                            ((unsigned)ones[k / 8] >> k % 8 & 1u) << 2);
}

static void cut4(const uint8_t *restrict high, size_t n, uint8_t *restrict exponent,
                 uint8_t *restrict fours)
{
    size_t i = 0;
    for (; i + 64 <= n; i += 64)
        for (size_t k = 0; k < 32; k++)
            fours[i / 2 + k] = (uint8_t)((high[i + k] & 15) | high[i + 32 + k] << 4);
    memset(fours + i / 2, 0, cc_exponent_bytes4(n - i));
    for (size_t k = i; k < n; k++)
        cc_exponent_put(fours + i / 2, k - i, 4, high[k] & 15);
    for (size_t k = 0; k < n; k++)
        exponent[k] = high[k] >> 4;
}

static void uncut4(const uint8_t *restrict exponent, const uint8_t *restrict fours, size_t n,
                   uint8_t *restrict high)
{
    size_t i = 0;
    for (; i + 64 <= n; i += 64)
        for (size_t k = 0; k < 32; k++) {
            const uint8_t two = fours[i / 2 + k];
            high[i + k] = (uint8_t)(exponent[i + k] << 4 | (two & 15));
            high[i + 32 + k] = (uint8_t)(exponent[i + 32 + k] << 4 | two >> 4);
        }
    for (size_t k = i; k < n; k++)
        high[k] = (uint8_t)((unsigned)exponent[k] << 4 | cc_exponent_get(fours + i / 2, k - i, 4));
}

static uint32_t lower(const float *x, size_t n)
{
    uint32_t bits = 0;
    size_t i = 0;
#ifdef CC_VECTORS
    cc_vu32 all[4] = {{0}};
    uint32_t lane[4 * CC_VECTOR];
    for (; i + 4 * CC_VECTOR <= n; i += 4 * CC_VECTOR)
        for (size_t v = 0; v < 4; v++)
            all[v] |= cc_vu32_load(x + i + CC_VECTOR * v);
    memcpy(lane, all, sizeof lane);
    for (size_t k = 0; k < 4 * CC_VECTOR; k++)
        bits |= lane[k];
#endif
    for (; i < n; i++)
        bits |= cc_f32_bits(x[i]);
    return bits & 0xffff;
}

/* The upper half of a word, rotated to the left by one, where it lies in the word. */
static inline uint32_t rotated_half(uint32_t w)
{
    return w << 1 | (w >> 31) << 16;
}

static uint32_t split_bf16(const float *restrict x, size_t n, const void *ahead,
                           uint8_t *restrict low, uint8_t *restrict high)
{
    uint32_t bits = 0;
    size_t i = 0;
    (void)ahead;
#if defined(__AVX512VBMI2__)
    __m512i all = _mm512_setzero_si512();
    const __m512i top = table64(tops), second = _mm512_sub_epi8(top, _mm512_set1_epi8(1));
    for (; i + 64 <= n; i += 64) {
        __m512i r[4];
        fetch(ahead, i);
        for (size_t v = 0; v < 4; v++) {
            const __m512i w = _mm512_loadu_si512(x + i + 16 * v);
            all = _mm512_or_si512(all, w);
            r[v] = _mm512_or_si512(_mm512_slli_epi32(w, 1),
                                   _mm512_slli_epi32(_mm512_srli_epi32(w, 31), 16));
        }
        const __m512i parts[2][2] = {
            {_mm512_permutex2var_epi8(r[0], second, r[1]),
             _mm512_permutex2var_epi8(r[2], second, r[3])},
            {_mm512_permutex2var_epi8(r[0], top, r[1]), _mm512_permutex2var_epi8(r[2], top, r[3])}};
        _mm512_storeu_si512(
            low + i, _mm512_inserti64x4(parts[0][0], _mm512_castsi512_si256(parts[0][1]), 1));
        _mm512_storeu_si512(
            high + i, _mm512_inserti64x4(parts[1][0], _mm512_castsi512_si256(parts[1][1]), 1));
    }
    bits = (uint32_t)_mm512_reduce_or_epi32(all);
#endif
    for (; i < n; i++) {
        const uint32_t w = cc_f32_bits(x[i]), r = rotated_half(w);
        bits |= w;
        low[i] = (uint8_t)(r >> 16);
        high[i] = (uint8_t)(r >> 24);
    }
    return bits & 0xffff;
}

static inline void join_half(const uint8_t *restrict low, const uint8_t *restrict high, size_t n,
                             const void *ahead, const float *scale, bool nontemporal,
                             float *restrict y)
{
    size_t i = 0;
    (void)nontemporal;
    (void)ahead;
#if defined(__AVX512VBMI2__)
    const __mmask64 upper = UINT64_C(0xcccccccccccccccc), second = UINT64_C(0x4444444444444444);
    const __m512i magnitude = _mm512_set1_epi32(0x7fff0000);
    __m512i from[4];
    for (size_t v = 0; v < 4; v++) {
        const __m512i top = table64(lift[v]);
        from[v] = _mm512_mask_add_epi8(top, second, top, _mm512_set1_epi8(64));
    }
    for (; i + 64 <= n; i += 64) {
        fetch(ahead, i);
        const __m512i e = _mm512_loadu_si512(high + i), l = _mm512_loadu_si512(low + i);
        for (size_t v = 0; v < 4; v++) {
            const __m512i r = _mm512_maskz_permutex2var_epi8(upper, e, from[v], l);
            const __m512i w = _mm512_ternarylogic_epi32(_mm512_srli_epi32(r, 1), magnitude,
                                                        _mm512_slli_epi32(r, 15), 0xea);
            give(y + i + 16 * v, (cc_vu32)w, scale, nontemporal);
        }
    }
#endif
    for (; i < n; i++) {
        const uint32_t r = (uint32_t)high[i] << 24 | (uint32_t)low[i] << 16;
        const float v = cc_bits_f32((r >> 1 & 0x7fff0000) | r << 15);
        const float product = scale == NULL ? v : *scale * v;
        if (scale == NULL)
            memcpy(y + i, &v, sizeof v);
        else
            y[i] += product;
    }
}

static void join_bf16(const uint8_t *restrict low, const uint8_t *restrict high, size_t n,
                      const void *ahead, const float *scale, bool nontemporal, float *restrict y)
{
    if (scale != NULL)
        join_half(low, high, n, ahead, scale, false, y);
    else if (nontemporal && (uintptr_t)y % CC_ALIGN == 0)
        join_half(low, high, n, ahead, NULL, true, y);
    else
        join_half(low, high, n, ahead, NULL, false, y);
}

/* Words of 0 are seldom more than a few, so the bits are found first. */
static size_t pack(const float *restrict x, size_t n, uint8_t *restrict bits, float *restrict out)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i += 8) {
        const size_t m = cc_smaller(n - i, 8);
        unsigned byte = 0;
        for (size_t k = 0; k < m; k++) {
            const uint32_t word = cc_f32_bits(x[i + k]);
            cc_put_u32(out + count, word);
            count += word != 0;
            byte |= (unsigned)(word != 0) << k;
        }
        bits[i / 8] = (uint8_t)byte;
    }
    return count;
}

const struct k_words CC_K(k_words) = {
    .split32 = split32,
    .split16 = split16,
    .join32 = join32,
    .join16 = join16,
    .cut = cut,
    .uncut = uncut,
    .cut4 = cut4,
    .uncut4 = uncut4,
    .split_bf16 = split_bf16,
    .join_bf16 = join_bf16,
    .lower = lower,
    .pack = pack,
};
