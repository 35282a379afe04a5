/* Setting values among zeros (pairs.c, topk.c, randk.c).
 *
 * Indices are taken in groups of 16, whose copies are checked as vectors. Zeros are written ahead
 * of them, at a constant number of lines for each group: how many lines a group spans varies, and a
 * loop over them would be mispredicted for each. Where the indices catch up, or zeros get too far
 * ahead, the loop adapts.
 *
 * Measured (Zen 5, 64 Ki values of which 5% are set): 1.8 us; clearing everything by memset first
 * and setting values without any check 2.6; a memset for each 512 indices 2.9. */
#include "schemes/kernels/scatter.h"

#include "core/bytes.h"
#include "core/memory.h"
#include "schemes/kernels/vector.h"

#define GROUP 16

/* The lead of zeros over indices, in values, at which a group writes none: what was cleared is
 * still in the first-level cache when it is set. */
#define LEAD 2048

/* Where a group spans more values than FEW_SPAN, zeros are written FEW_LEAD at a time instead. */
#define FEW_SPAN 512
#define FEW_LEAD 4096

/* Beyond so many values, which are more than second-level caches mostly have, zeros are written by
 * memset, whose instruction for whole lines does not read them first: 1 Mi values are cleared in 32
 * us, and in 43 by vectors, which are faster within the second-level cache, 1.0 us instead of 1.5
 * for 64 Ki. */
#define LARGE ((size_t)192 * 1024)

/* Zeros for 16 values. The compiler does not see that they are zeros: it would replace loops of
 * them by memset, which is slower for this little. */
#ifdef CC_VECTORS
static inline void clear16(float *y)
{
    cc_vf32 zero[CC_VECTORS_16];
    for (size_t k = 0; k < CC_VECTORS_16; k++) {
        zero[k] = (cc_vf32){0};
#if defined(__ARM_NEON)
        __asm__("" : "+w"(zero[k]));
#else
        __asm__("" : "+x"(zero[k]));
#endif
    }
    cc_store_16(y, zero, false);
}
#else
static inline void clear16(float *y)
{
    memset(y, 0, 16 * sizeof *y);
}
#endif

/* --- groups of indices --- */

/* The indices before those that come next: the last lane matters. */
#ifdef CC_VECTORS
typedef cc_vu32 last_index;

/* The indices of the next CC_VECTOR items. */
static inline cc_vu32 vector_of(const uint8_t *in, bool pairs)
{
    const cc_vu32 a = cc_vu32_load(in);
    if (!pairs)
        return a >> 1;
    const cc_vu32 b = cc_vu32_load(in + sizeof a);
#if defined(__AVX512F__)
    const __m512i even =
        _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    return (cc_vu32)_mm512_permutex2var_epi32((__m512i)a, even, (__m512i)b);
#elif defined(__AVX2__)
    const __m256 even = _mm256_shuffle_ps((__m256)a, (__m256)b, 0x88);
    return (cc_vu32)_mm256_permute4x64_epi64((__m256i)even, 0xd8);
#else
    return vuzp1q_u32(a, b);
#endif
}

/* Each lane's predecessor; that of the first is the last of `before`. */
static inline cc_vu32 shifted(cc_vu32 before, cc_vu32 v)
{
#if defined(__AVX512F__)
    return (cc_vu32)_mm512_alignr_epi32((__m512i)v, (__m512i)before, 15);
#elif defined(__AVX2__)
    const __m256i middle = _mm256_permute2x128_si256((__m256i)before, (__m256i)v, 0x21);
    return (cc_vu32)_mm256_alignr_epi8((__m256i)v, middle, 12);
#else
    return vextq_u32(before, v, 3);
#endif
}

static inline cc_vmask not_above(cc_vu32 v, cc_vu32 p)
{
#if defined(__AVX512F__)
    return _mm512_cmple_epu32_mask((__m512i)v, (__m512i)p);
#else
    return (cc_vmask)(v <= p);
#endif
}

static inline void last_set(last_index *last, uint32_t index)
{
    *last = (cc_vu32){0} + index;
}

/* Copies the indices of GROUP items; returns a bit for each that is not above the one before. */
static inline uint32_t take(const uint8_t *in, bool pairs, last_index *last, uint32_t *index)
{
    cc_vmask bad[CC_VECTORS_16];
    for (size_t k = 0; k < CC_VECTORS_16; k++) {
        const cc_vu32 v = vector_of(in + CC_VECTOR * k * (pairs ? 8 : 4), pairs);
        bad[k] = not_above(v, shifted(*last, v));
        cc_vu32_store(index + CC_VECTOR * k, v);
        *last = v;
    }
    return cc_bits_of_16(bad);
}
#else
typedef uint32_t last_index;

static inline void last_set(last_index *last, uint32_t index)
{
    *last = index;
}

static inline uint32_t take(const uint8_t *in, bool pairs, last_index *last, uint32_t *index)
{
    uint32_t bad = 0;
    for (unsigned i = 0; i < GROUP; i++) {
        const uint32_t item = (uint32_t)cc_once(cc_get_u32(in + (pairs ? 8 : 4) * (size_t)i));
        index[i] = pairs ? item : item >> 1;
        bad |= (uint32_t)(index[i] <= *last) << i;
        *last = index[i];
    }
    return bad;
}
#endif

/* --- items over a range --- */

/* Zeros from where they end, at a line of the cache, to `to`, a multiple of 16 values after it. */
static inline size_t clear_to(float *y, size_t at, size_t to, bool large)
{
    if (large && at < to) {
        memset(y + at, 0, (to - at) * sizeof *y);
        return to;
    }
    for (; at < to; at += 16)
        clear16(y + at);
    return at;
}

enum kind { PAIRS, CODES, LISTED };

/* A number of values and where they belong. */
struct items {
    const uint8_t *in; /* pairs, codes, or values alone */
    uint32_t tau;
    const uint32_t *listed; /* the indices of values alone */
    size_t count;
};

static inline size_t stride_of(enum kind kind)
{
    return kind == PAIRS ? 8 : 4;
}

static inline size_t index_of(const struct items *s, enum kind kind, size_t i)
{
    if (kind == LISTED)
        return s->listed[i];
    const size_t item = cc_once(cc_get_u32(s->in + stride_of(kind) * i));
    return kind == PAIRS ? item : item >> 1;
}

/* Without a branch on the sign, which would be mispredicted half the time. */
static inline float value_of(const struct items *s, enum kind kind, size_t i)
{
    const uint8_t *at = s->in + stride_of(kind) * i;
    if (kind == CODES)
        return cc_bits_f32(s->tau ^ cc_get_u32(at) << 31);
    return cc_get_f32(kind == PAIRS ? at + 4 : at);
}

static inline __attribute__((always_inline)) bool set_items(struct items s, enum kind kind,
                                                            size_t begin, size_t end, float *y)
{
    const size_t n = end - begin;
    const size_t head = cc_smaller(-((uintptr_t)(y + begin) / sizeof *y) % 16, n);
    const size_t edge = begin + head + (n - head) / 16 * 16;
    memset(y + begin, 0, head * sizeof *y);
    memset(y + edge, 0, (end - edge) * sizeof *y);
    const size_t span = n / cc_larger(s.count / GROUP, 1); /* of a group, in values */
    const bool few = span > FEW_SPAN, large = few && n > LARGE;
    const size_t each = few ? 0 : span / 16 * 16 + 16, more = few ? FEW_LEAD : 1;
    size_t zeros = begin + head, i = 0, least = begin;
    uint32_t copy[GROUP], first = 1; /* the first has none before it */
    last_index last;
    last_set(&last, 0);
    for (; i + GROUP <= s.count; i += GROUP) {
        const uint32_t *index = kind == LISTED ? s.listed + i : copy;
        if (kind != LISTED) {
            const uint32_t bad = take(s.in + stride_of(kind) * i, kind == PAIRS, &last, copy);
            if ((bad & ~first) != 0 || index[GROUP - 1] >= end || index[0] < least)
                return false;
            first = 0;
        }
        least = (size_t)index[GROUP - 1] + 1;
        if (zeros < least + LEAD)
            zeros = clear_to(y, zeros, cc_smaller(zeros + each, edge), false);
        if (zeros < least)
            zeros = clear_to(y, zeros, cc_smaller(least + more, edge), large);
        for (size_t j = 0; j < GROUP; j++)
            y[index[j]] = value_of(&s, kind, i + j);
    }
    (void)clear_to(y, zeros, edge, large);
    for (; i < s.count; i++) {
        const size_t at = index_of(&s, kind, i);
        if (kind != LISTED && (at < least || at >= end))
            return false;
        y[at] = value_of(&s, kind, i);
        least = at + 1;
    }
    return true;
}

static bool pairs(const uint8_t *in, size_t count, size_t begin, size_t end, float *y)
{
    return set_items((struct items){.in = in, .count = count}, PAIRS, begin, end, y);
}

static bool codes(const uint8_t *in, size_t count, uint32_t tau, size_t begin, size_t end, float *y)
{
    return set_items((struct items){.in = in, .tau = tau, .count = count}, CODES, begin, end, y);
}

static void listed(const uint32_t *index, const uint8_t *values, size_t count, size_t begin,
                   size_t end, float *y)
{
    (void)set_items((struct items){.in = values, .listed = index, .count = count}, LISTED, begin,
                    end, y);
}

/* --- buckets --- */

/* Copies the k indices of a bucket; false unless they ascend and the last is below n. */
#if defined(__AVX512F__)
static inline bool take16(const uint8_t *in, size_t k, size_t n, uint16_t *index)
{
    uint16_t lane[32];
    for (uint16_t i = 0; i < 32; i++)
        lane[i] = (uint16_t)(31 + i);
    const __m512i one_before = _mm512_loadu_si512(lane);
    __m512i last = _mm512_setzero_si512();
    __mmask32 bad = 0;
    for (size_t i = 0; i < k; i += 32) {
        const __mmask32 some = _bzhi_u32(UINT32_MAX, k - i < 32 ? (uint32_t)(k - i) : 32);
        const __m512i v = _mm512_maskz_loadu_epi16(some, in + sizeof *index * i);
        const __m512i before = _mm512_permutex2var_epi16(last, one_before, v);
        bad |= _mm512_mask_cmple_epu16_mask(i > 0 ? some : some & ~1u, v, before);
        _mm512_storeu_si512(index + i, v);
        last = v;
    }
    return bad == 0 && index[k - 1] < n;
}
#else
static inline bool take16(const uint8_t *in, size_t k, size_t n, uint16_t *index)
{
    uint32_t bad = 0;
    memcpy(index, in, sizeof *index * k);
    for (size_t i = 1; i < k; i++)
        bad |= index[i] <= index[i - 1];
    return bad == 0 && index[k - 1] < n;
}
#endif

static size_t buckets(const uint8_t *in, size_t count, size_t n, size_t k, float *y)
{
    uint16_t index[CC_SCATTER_BUCKET + 32];
    for (size_t b = 0; b < count; b++, in += 6 * k, y += n) {
        const uint8_t *values = in + sizeof *index * k;
        (void)clear_to(y, 0, n / 16 * 16, false);
        for (size_t i = n / 16 * 16; i < n; i++)
            y[i] = 0;
        if (!take16(in, k, n, index))
            return b;
        for (size_t i = 0; i < k; i++)
            y[index[i]] = cc_get_f32(values + sizeof *y * i);
    }
    return count;
}

const struct k_scatter CC_K(k_scatter) = {
    .pairs = pairs, .codes = codes, .listed = listed, .buckets = buckets};
