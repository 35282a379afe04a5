/* Sums of index-value pairs.
 *
 * Adding is a loop of loads and stores without a branch: indices ascend strictly, so that no
 * addition waits for the one before. Lists are written by compressing: every group that has a mark
 * is compared with -0, and the pairs of the lanes that differ are moved to the front and stored
 * whole, so that no branch depends on the values. The bits of -0 are compared, not its value. */
#include "netsim/exchange/pack/pair_kernels.h"

#include "schemes/kernels/bitarray.h"
#include "schemes/kernels/masks.h"

#define ABSENT 0x80000000u

static inline int is_absent(float v)
{
    return cc_f32_bits(v) == ABSENT;
}

static void clear(float *acc, size_t n)
{
    for (size_t i = 0; i < n; i++)
        acc[i] = -0.0f;
}

/* --- adding --- */

static void add_pairs(const struct cc_index_value *pair, size_t count, uint32_t base, float *acc,
                      uint8_t *mark)
{
    for (size_t i = 0; i < count && mark != NULL; i++) {
        const uint32_t at = pair[i].index - base;
        acc[at] += pair[i].value;
        mark[at / CC_GROUP] = 1;
    }
    for (size_t i = 0; i < count && mark == NULL; i++)
        acc[pair[i].index - base] += pair[i].value;
}

static void add_short(const uint8_t *index, const uint8_t *value, size_t count, float *acc,
                      uint8_t *mark)
{
    for (size_t i = 0; i < count && mark != NULL; i++) {
        const uint32_t at = cc_get_u16(index + 2 * i);
        acc[at] += cc_get_f32(value + 4 * i);
        mark[at / CC_GROUP] = 1;
    }
    for (size_t i = 0; i < count && mark == NULL; i++)
        acc[cc_get_u16(index + 2 * i)] += cc_get_f32(value + 4 * i);
}

static void add_dense(const uint8_t *value, size_t n, float *acc, uint8_t *mark)
{
    for (size_t i = 0; i < n; i++)
        acc[i] += cc_get_f32(value + 4 * i);
    if (mark != NULL)
        memset(mark, 1, (n + CC_GROUP - 1) / CC_GROUP);
}

/* --- listing --- */

/* The pairs of acc[0, n), n <= CC_GROUP, one by one: defines the result. */
static inline size_t list_few(const float *acc, size_t n, uint32_t base, struct cc_index_value *out)
{
    size_t c = 0;
    for (size_t i = 0; i < n; i++) {
        out[c] = (struct cc_index_value){base + (uint32_t)i, acc[i]};
        c += !is_absent(acc[i]);
    }
    return c;
}

#if defined(__AVX512F__)

static inline __mmask16 present16(__m512i v)
{
    return _mm512_cmpneq_epi32_mask(v, _mm512_set1_epi32((int)ABSENT));
}

/* The pairs of eight values whose indices begin at `first`: `v` holds the values in the lower half.
 */
static inline __m512i pairs8(__m256i v, uint32_t first)
{
    const __m512i lane = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
    const __m512i index = _mm512_add_epi32(lane, _mm512_set1_epi64(first));
    return _mm512_or_si512(index, _mm512_slli_epi64(_mm512_cvtepu32_epi64(v), 32));
}

static inline size_t list16(const float *acc, uint32_t base, struct cc_index_value *out)
{
    const __m512i v = _mm512_loadu_si512(acc);
    const __mmask16 k = present16(v);
    const unsigned low = (unsigned)__builtin_popcount(k & 0xffu);
    const __m512i a = pairs8(_mm512_castsi512_si256(v), base);
    const __m512i b = pairs8(_mm512_extracti64x4_epi64(v, 1), base + 8);
    _mm512_storeu_si512(out, _mm512_mask_compress_epi64(fresh16(), (__mmask8)k, a));
    _mm512_storeu_si512(out + low, _mm512_mask_compress_epi64(fresh16(), (__mmask8)(k >> 8), b));
    return low + (unsigned)__builtin_popcount(k >> 8);
}

#elif defined(__AVX2__)

static inline size_t list16(const float *acc, uint32_t base, struct cc_index_value *out)
{
    const __m256i absent = _mm256_set1_epi32((int)ABSENT);
    size_t c = 0;
    for (unsigned h = 0; h < CC_GROUP; h += 8) {
        const __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)(acc + h));
        const __m256i same = _mm256_cmpeq_epi32(v, absent);
        uint32_t k = ~(uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(same)) & 0xffu;
        CC_FOR_SET_BITS(i, k)
        {
            out[c++] = (struct cc_index_value){base + h + (uint32_t)i, acc[h + i]};
        }
    }
    return c;
}

#elif defined(__ARM_NEON)
#include "netsim/exchange/pack/pair_neon.h"
#else

static inline size_t list16(const float *acc, uint32_t base, struct cc_index_value *out)
{
    return list_few(acc, CC_GROUP, base, out);
}

#endif

static size_t list(const float *acc, size_t n, uint32_t base, struct cc_index_value *out)
{
    size_t c = 0, i = 0;
    for (; i + CC_GROUP <= n; i += CC_GROUP)
        c += list16(acc + i, base + (uint32_t)i, out + c);
    return c + list_few(acc + i, n - i, base + (uint32_t)i, out + c);
}

/* The marks of 64 groups from `at` on, of `groups`, as bits. */
static inline uint64_t marked(const uint8_t *mark, size_t at, size_t groups)
{
    uint64_t w = 0;
#if defined(__AVX512BW__)
    if (at + 64 <= groups) {
        const __m512i v = _mm512_loadu_si512(mark + at);
        return _mm512_test_epi8_mask(v, v);
    }
#elif defined(__AVX2__)
    if (at + 64 <= groups) {
        const __m256i a = _mm256_loadu_si256((const __m256i *)(const void *)(mark + at));
        const __m256i b = _mm256_loadu_si256((const __m256i *)(const void *)(mark + at + 32));
        const uint32_t low = (uint32_t)_mm256_movemask_epi8(_mm256_slli_epi16(a, 7));
        return low | (uint64_t)(uint32_t)_mm256_movemask_epi8(_mm256_slli_epi16(b, 7)) << 32;
    }
#elif defined(__ARM_NEON)
    if (at + 64 <= groups)
        return marked64(mark + at);
#endif
    for (size_t i = 0; i < 64 && at + i < groups; i++)
        w |= (uint64_t)mark[at + i] << i;
    return w;
}

static size_t take(float *acc, uint8_t *mark, size_t n, uint32_t base, struct cc_index_value *out)
{
    const size_t groups = (n + CC_GROUP - 1) / CC_GROUP;
    size_t c = 0;
    for (size_t at = 0; at < groups; at += 64) {
        uint64_t w = marked(mark, at, groups);
        CC_FOR_SET_BITS(g, w)
        {
            const size_t i = (at + g) * CC_GROUP;
            if (n - i >= CC_GROUP) {
                c += list16(acc + i, base + (uint32_t)i, out + c);
                clear(acc + i, CC_GROUP);
            } else {
                c += list_few(acc + i, n - i, base + (uint32_t)i, out + c);
                clear(acc + i, n - i);
            }
        }
    }
    memset(mark, 0, groups);
    return c;
}

/* --- bit arrays --- */

static inline uint64_t present(const float *acc, size_t n)
{
    uint64_t w = 0;
#if defined(__AVX512F__)
    for (size_t j = 0; j < 64 && n >= 64; j += 16)
        w |= (uint64_t)present16(_mm512_loadu_si512(acc + j)) << j;
    if (n >= 64)
        return w;
#elif defined(__ARM_NEON)
    if (n >= 64)
        return present64(acc);
#endif
    for (size_t j = 0; j < n && j < 64; j++)
        w |= (uint64_t)!is_absent(acc[j]) << j;
    return w;
}

static size_t count(const float *acc, size_t n)
{
    size_t c = 0;
    for (size_t i = 0; i < n; i++)
        c += !is_absent(acc[i]);
    return c;
}

static size_t pack(const float *acc, size_t n, uint8_t *bits, uint8_t *value, size_t room)
{
    size_t c = 0;
    for (size_t i = 0; i < n; i += 64) {
        uint64_t w = present(acc + i, n - i);
        cc_bits_put_word(bits, n, i, w);
#if defined(__AVX512F__)
        if (room - c >= 64 + 16 && n - i >= 64) {
            for (size_t j = 0; j < 64; j += 16) {
                const __mmask16 k = (__mmask16)(w >> j);
                _mm512_storeu_si512(value + 4 * c, compress16(k, _mm512_loadu_si512(acc + i + j)));
                c += (unsigned)__builtin_popcount(k);
            }
            continue;
        }
#elif defined(__ARM_NEON)
        if (room - c >= 64 + 16 && n - i >= 64) {
            pack64(acc + i, w, value + 4 * c);
            c += (size_t)__builtin_popcountll(w);
            continue;
        }
#endif
        CC_FOR_SET_BITS(b, w)
        {
            cc_put_f32(value + 4 * c, acc[i + b]);
            c++;
        }
    }
    (void)room;
    return c;
}

/* --- u16 --- */

static void split(const struct cc_index_value *pair, size_t count_, uint32_t base, uint8_t *index,
                  uint8_t *value)
{
    for (size_t i = 0; i < count_; i++)
        cc_put_u16(index + 2 * i, (uint16_t)(pair[i].index - base));
    for (size_t i = 0; i < count_; i++)
        cc_put_f32(value + 4 * i, pair[i].value);
}

static int ascend(const uint8_t *index, size_t count_)
{
    unsigned bad = 0;
    for (size_t i = 1; i < count_; i++)
        bad |= cc_get_u16(index + 2 * i) <= cc_get_u16(index + 2 * (i - 1));
    return bad == 0;
}

/* --- the mean --- */

static void apply_pairs(const struct cc_index_value *pair, size_t count_, uint32_t base,
                        float scale, float *y)
{
    for (size_t i = 0; i < count_; i++) {
        const uint32_t at = pair[i].index - base;
        y[at] = cc_add_scaled(y[at], scale, pair[i].value);
    }
}

static void apply_short(const uint8_t *index, const uint8_t *value, size_t count_, float scale,
                        float *y)
{
    for (size_t i = 0; i < count_; i++) {
        const size_t at = cc_get_u16(index + 2 * i);
        y[at] = cc_add_scaled(y[at], scale, cc_get_f32(value + 4 * i));
    }
}

static void apply_dense(const uint8_t *value, size_t n, float scale, float *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = cc_add_scaled(y[i], scale, cc_get_f32(value + 4 * i));
}

const struct k_pairs CC_K(k_pairs) = {
    .clear = clear,
    .add_pairs = add_pairs,
    .add_short = add_short,
    .add_dense = add_dense,
    .take = take,
    .list = list,
    .count = count,
    .pack = pack,
    .split = split,
    .ascend = ascend,
    .apply_pairs = apply_pairs,
    .apply_short = apply_short,
    .apply_dense = apply_dense,
};
