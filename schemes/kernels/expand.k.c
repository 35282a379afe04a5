/* From packed values to a tensor: the decoder of bitmaps (sparse).
 *
 * Input are a bit for each value of the tensor and the values whose bit is set, one after the
 * other. 64 bits are taken at a time. AVX-512 has an instruction for this (expand); with AVX2 the
 * bits of a byte are turned into a permutation of 8 lanes by pdep. The position of the next packed
 * value advances by the number of set bits; within a word it is counted from the word's lowest bit
 * each time, so that no count waits for the one before.
 *
 * Vectors read up to EXPAND_READS values beyond those that are used, so the last words, and the
 * whole array where few values are left, are done bit by bit. */
#include "schemes/kernels/expand.h"

#include "core/tile.h"

#include "schemes/kernels/bitarray.h"
#include "schemes/kernels/masks.h"

/* --- 64 values at a time; the tail of fewer is done by the plain loops below --- */

#if defined(__AVX512F__)

#define EXPAND_READS 16 /* values that may be read beyond the last one needed */

static inline void store16(float *y, __m512 v, bool nontemporal)
{
    if (nontemporal)
        _mm512_stream_ps(y, v);
    else
        _mm512_storeu_ps(y, v);
}

/* The next values, each in the lane of its set bit; 0 in the others. */
static inline __m512 next16(uint64_t w, const uint8_t *values)
{
    return _mm512_castsi512_ps(expand16((__mmask16)w, _mm512_loadu_si512(values)));
}

/* The bytes of the packed values of the n lowest bits. */
static inline size_t bytes_below(uint64_t w, unsigned n)
{
    return sizeof(float) * (size_t)__builtin_popcountll(w << (64 - n));
}

static inline size_t expand64(uint64_t w, const uint8_t *values, bool nontemporal, float *y)
{
    store16(y, next16(w, values), nontemporal);
    store16(y + 16, next16(w >> 16, values + bytes_below(w, 16)), nontemporal);
    store16(y + 32, next16(w >> 32, values + bytes_below(w, 32)), nontemporal);
    store16(y + 48, next16(w >> 48, values + bytes_below(w, 48)), nontemporal);
    return (size_t)__builtin_popcountll(w);
}

static inline void add16(uint64_t w, const uint8_t *values, float scale, float *y)
{
    __m512 v = _mm512_mul_ps(_mm512_set1_ps(scale), next16(w, values));
    __m512 old = _mm512_loadu_ps(y);
    _mm512_storeu_ps(y, _mm512_mask_add_ps(old, (__mmask16)w, old, v));
}

static inline size_t expand_add64(uint64_t w, const uint8_t *values, float scale, float *y)
{
    add16(w, values, scale, y);
    add16(w >> 16, values + bytes_below(w, 16), scale, y + 16);
    add16(w >> 32, values + bytes_below(w, 32), scale, y + 32);
    add16(w >> 48, values + bytes_below(w, 48), scale, y + 48);
    return (size_t)__builtin_popcountll(w);
}

#elif defined(__AVX2__)

#define EXPAND_READS 8

/* The next values, each in the lane of its set bit; the other lanes hold anything. */
static inline __m256 expand8(uint64_t k, const uint8_t *values)
{
    __m256i order = widen8(_pdep_u64(IOTA8, spread(k)));
    return _mm256_permutevar8x32_ps(_mm256_loadu_ps((const float *)(const void *)values), order);
}

static inline void store8(float *y, __m256 v, bool nontemporal)
{
    if (nontemporal)
        _mm256_stream_ps(y, v);
    else
        _mm256_storeu_ps(y, v);
}

static inline size_t expand64(uint64_t w, const uint8_t *values, bool nontemporal, float *y)
{
    size_t c = 0;
    for (int j = 0; j < 8; j++) {
        uint64_t k = w >> (8 * j) & 0xff;
        store8(y + 8 * j, _mm256_and_ps(lanes(k), expand8(k, values + 4 * c)), nontemporal);
        c += (size_t)__builtin_popcountll(k);
    }
    return c;
}

static inline size_t expand_add64(uint64_t w, const uint8_t *values, float scale, float *y)
{
    size_t c = 0;
    for (int j = 0; j < 8; j++) {
        uint64_t k = w >> (8 * j) & 0xff;
        __m256 old = _mm256_loadu_ps(y + 8 * j);
        __m256 v = _mm256_mul_ps(_mm256_set1_ps(scale), expand8(k, values + 4 * c));
        v = _mm256_blendv_ps(old, _mm256_add_ps(old, v), lanes(k));
        _mm256_storeu_ps(y + 8 * j, v);
        c += (size_t)__builtin_popcountll(k);
    }
    return c;
}

#endif

/* --- bit by bit: defines the result, and does the tails --- */

static inline size_t expand_few(uint64_t w, size_t n, const uint8_t *values, float *y)
{
    size_t c = 0;
    memset(y, 0, n * sizeof *y);
    CC_FOR_SET_BITS(i, w) y[i] = cc_get_f32(values + 4 * c++);
    return c;
}

static inline size_t expand_add_few(uint64_t w, const uint8_t *values, float scale, float *y)
{
    size_t c = 0;
    CC_FOR_SET_BITS(i, w)
    {
        float product = scale * cc_get_f32(values + 4 * c++);
        y[i] += product;
    }
    return c;
}

#if defined(__ARM_NEON)
#include "schemes/kernels/expand_neon.h"
#elif !defined(__AVX2__)
#define EXPAND_READS                        0
#define expand64(w, values, nontemporal, y) ((void)(nontemporal), expand_few(w, 64, values, y))
#define expand_add64(w, values, scale, y)   expand_add_few(w, values, scale, y)
#endif

/* --- whole arrays --- */

static size_t popcount(const uint8_t *bits, size_t n)
{
    size_t c = 0;
    for (size_t i = 0; i < n; i += 64)
        c += (size_t)__builtin_popcountll(cc_bits_word(bits, n, i));
    return c;
}

static inline size_t expand_to(const uint8_t *bits, size_t n, const uint8_t *values, size_t left,
                               bool nontemporal, float *y)
{
    size_t c = 0, i = 0;
    for (; i + 64 <= n && left - c >= 64 + EXPAND_READS; i += 64) {
        if (nontemporal && i % CC_PAGE_VALUES == 0)
            cc_fetch_page(y + i);
        c += expand64(cc_get_u64(bits + i / 8), values + 4 * c, nontemporal, y + i);
    }
    for (; i < n; i += 64) {
        const uint64_t w = cc_once(cc_bits_word(bits, n, i));
        if ((size_t)__builtin_popcountll(w) > left - c)
            return SIZE_MAX;
        c += expand_few(w, n - i < 64 ? n - i : 64, values + 4 * c, y + i);
    }
    return c;
}

static size_t expand(const uint8_t *bits, size_t n, const uint8_t *values, size_t left,
                     bool nontemporal, float *y)
{
    return nontemporal ? expand_to(bits, n, values, left, true, y)
                       : expand_to(bits, n, values, left, false, y);
}

static size_t expand_add(const uint8_t *bits, size_t n, const uint8_t *values, size_t left,
                         float scale, float *y)
{
    size_t c = 0, i = 0;
    for (; i + 64 <= n && left - c >= 64 + EXPAND_READS; i += 64)
        c += expand_add64(cc_get_u64(bits + i / 8), values + 4 * c, scale, y + i);
    for (; i < n; i += 64) {
        const uint64_t w = cc_once(cc_bits_word(bits, n, i));
        if ((size_t)__builtin_popcountll(w) > left - c)
            return SIZE_MAX;
        c += expand_add_few(w, values + 4 * c, scale, y + i);
    }
    return c;
}

static inline bool ascend_at(const uint8_t *in, size_t n, size_t stride, unsigned shift)
{
    uint32_t bad = 0;
    for (size_t i = 1; i < n; i++)
        bad |= cc_get_u32(in + stride * i) >> shift <= cc_get_u32(in + stride * (i - 1)) >> shift;
    return bad == 0;
}

static bool ascend(const uint8_t *in, size_t n, size_t stride, unsigned shift)
{
    if (stride == 4)
        return ascend_at(in, n, 4, shift);
    return stride == 8 ? ascend_at(in, n, 8, shift) : ascend_at(in, n, stride, shift);
}

#if defined(__AVX2__)
/* All ones in the lanes of the 8 numbers at `in` that are not larger than the one before. */
static inline __m128i not_above8(const uint16_t *in)
{
    const __m128i now = _mm_loadu_si128((const __m128i_u *)(const void *)in);
    const __m128i before = _mm_loadu_si128((const __m128i_u *)(const void *)(in - 1));
    return _mm_cmpeq_epi16(_mm_max_epu16(before, now), before);
}

/* For n > 8. The last 8 numbers may be checked twice. */
static inline bool ascend_vectors(const uint16_t *in, size_t n)
{
    __m128i bad = not_above8(in + n - 8);
    for (size_t i = 1; i + 8 < n; i += 8)
        bad = _mm_or_si128(bad, not_above8(in + i));
    return _mm_testz_si128(bad, bad) != 0;
}
#endif

static bool ascend16(const uint16_t *in, size_t n)
{
    uint32_t bad = 0;
#if defined(__AVX2__)
    if (n > 8)
        return ascend_vectors(in, n);
#endif
    for (size_t i = 1; i < n; i++)
        bad |= in[i] <= in[i - 1];
    return bad == 0;
}

const struct k_expand CC_K(k_expand) = {
    .popcount = popcount,
    .expand = expand,
    .expand_add = expand_add,
    .ascend = ascend,
    .ascend16 = ascend16,
};
