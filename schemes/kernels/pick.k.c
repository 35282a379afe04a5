/* Selection fused with the update of the residual, for tensors that are processed block by block.
 *
 * With AVX-512 a vector of x + g is compared with the threshold and the selected lanes are packed
 * by the compress instruction: codes for `threshold`; 16-bit indices for `topk`. Elsewhere the
 * blocks go through the kernels of select.h, one after the other.
 *
 * `collect` finds a threshold for the top k of a bucket in the bucket itself: it cuts magnitudes to
 * keys of 16 bits, keeps the largest of each of 32 groups, and takes the k-th largest of these,
 * which k values reach at least and few more, whatever the bucket's scale and distribution. `put`
 * selects the k largest of the candidates above it. Both rank 32 keys of 16 bits in one vector:
 * each key is compared with all. Keys that are too short to tell the k-th from the next show as a
 * wrong number of selected values; the caller then uses its general method. Between a bucket's
 * `collect` and its `put` the caller does other work: a load of several indices at once waits for
 * the stores that wrote them. */
#include "schemes/kernels/pick.h"

#include "core/bytes.h"
#include "core/reduce.h"
#include "schemes/kernels/masks.h"
#include "schemes/kernels/select.h"

#if defined(__AVX512F__)

/* `second`: prefetches to the second-level cache. Fetches for a whole bucket at once, as `collect`
 * makes them, are more than the first level has buffers for: topk encodes a third faster so. */
static inline __m512 load16(const float *p, size_t ahead, __mmask16 some, bool second)
{
    if (ahead > 0 && second)
        _mm_prefetch((const char *)p + ahead, _MM_HINT_T1);
    else if (ahead > 0)
        _mm_prefetch((const char *)p + ahead, _MM_HINT_T0);
    return _mm512_maskz_loadu_ps(some, p);
}

static inline __m512i magnitude16(__m512 v)
{
    return _mm512_and_si512(_mm512_castps_si512(v), _mm512_set1_epi32(0x7fffffff));
}

static inline __m512i iota16(uint32_t base)
{
    return _mm512_add_epi32(_mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0),
                            _mm512_set1_epi32((int)base));
}

static inline size_t codes16(const float *g, float *x, size_t ahead, __mmask16 some, float tau,
                             uint32_t base, uint8_t *out, __m512i *most)
{
    __m512 v = load16(g, ahead, some, false);
    if (x != NULL)
        v = _mm512_add_ps(load16(x, ahead, some, false), v);
    __m512i m = magnitude16(v), bits = _mm512_castps_si512(v);
    __mmask16 k = _mm512_cmpge_epu32_mask(m, _mm512_castps_si512(_mm512_set1_ps(tau)));
    *most = _mm512_max_epu32(*most, m);
    __m512i code = iota16(base);
    code = _mm512_add_epi32(_mm512_add_epi32(code, code), _mm512_srli_epi32(bits, 31));
    const size_t count = (size_t)__builtin_popcount(k);
    const __m512i packed = compress16(k, code);
    if (__builtin_expect(count > 8, 0) || some != 0xffff)
        _mm512_mask_storeu_epi32(out, some, packed);
    else
        _mm256_storeu_si256((__m256i_u *)(void *)out, _mm512_castsi512_si256(packed));
    if (x != NULL) {
        __m512i step =
            _mm512_or_si512(_mm512_xor_si512(bits, m), _mm512_castps_si512(_mm512_set1_ps(tau)));
        v = _mm512_mask_sub_ps(v, k, v, _mm512_castsi512_ps(step));
        _mm512_mask_storeu_ps(x, some, v);
    }
    return count;
}

static inline size_t codes_of(const float *g, float *x, size_t n, size_t ahead, float tau,
                              uint32_t base, uint8_t *out, uint32_t *most)
{
    __m512i most16 = _mm512_setzero_si512();
    size_t c = 0, i = 0;
    for (; i + 16 <= n; i += 16)
        c += codes16(g + i, x != NULL ? x + i : NULL, ahead, 0xffff, tau, base + (uint32_t)i,
                     out + 4 * c, &most16);
    if (i < n)
        c += codes16(g + i, x != NULL ? x + i : NULL, ahead, first16(n - i), tau,
                     base + (uint32_t)i, out + 4 * c, &most16);
    *most = _mm512_reduce_max_epu32(most16);
    return c;
}

static size_t codes(const float *g, float *x, size_t n, size_t ahead, float tau, uint32_t base,
                    uint8_t *out, uint32_t *most)
{
    return x != NULL ? codes_of(g, x, n, ahead, tau, base, out, most)
                     : codes_of(g, NULL, n, ahead, tau, base, out, most);
}

/* Brings the values from i on up to date (the lanes of `some`); returns their magnitudes. */
static inline __m512i update16(const float *g, float *x, size_t i, size_t ahead, __mmask16 some,
                               bool second)
{
    __m512 v = load16(g + i, ahead, some, second);
    if (x != NULL) {
        v = _mm512_add_ps(load16(x + i, ahead, some, second), v);
        _mm512_mask_storeu_ps(x + i, some, v);
    }
    return magnitude16(v);
}

/* As update16; returns those that are >= t. */
static inline __mmask16 reach16(const float *g, float *x, size_t i, size_t ahead, __mmask16 some,
                                uint32_t t, __m512i *most)
{
    const __m512i m = update16(g, x, i, ahead, some, false);
    *most = _mm512_max_epu32(*most, m);
    return _mm512_mask_cmpge_epu32_mask(some, m, _mm512_set1_epi32((int)t));
}

/* The numbers 0 to 31. */
static inline __m512i iota32(void)
{
    uint16_t iota[32];
    for (uint16_t l = 0; l < 32; l++)
        iota[l] = l;
    return _mm512_loadu_si512(iota);
}

/* Packs the indices `at` of the lanes k; returns how many. Mostly they are few: a store of 16 bytes
 * seldom crosses the border of a line, one of 64 nearly always does, and then costs as much as
 * everything else together. */
static inline size_t pack32(__m512i at, uint32_t k, uint16_t *index)
{
    const size_t count = (size_t)__builtin_popcount(k);
    const __m512i packed = _mm512_mask_compress_epi16(fresh16(), k, at);
    if (__builtin_expect(count > 8, 0))
        _mm512_storeu_si512(index, packed);
    else
        _mm_storeu_si128((__m128i_u *)(void *)index, _mm512_castsi512_si128(packed));
    return count;
}

static inline size_t candidates_of(const float *g, float *x, size_t n, size_t ahead, uint32_t t,
                                   uint16_t *index, uint32_t *most)
{
    __m512i most16 = _mm512_setzero_si512();
    const __m512i next = _mm512_set1_epi16(32);
    __m512i at = iota32();
    size_t c = 0, i = 0;
    for (; i + 32 <= n; i += 32, at = _mm512_add_epi16(at, next)) {
        uint32_t low = reach16(g, x, i, ahead, 0xffff, t, &most16);
        uint32_t k = low | (uint32_t)reach16(g, x, i + 16, ahead, 0xffff, t, &most16) << 16;
        c += pack32(at, k, index + c);
    }
    if (i < n) {
        uint32_t k = reach16(g, x, i, ahead, first16(n - i), t, &most16);
        if (n - i > 16)
            k |= (uint32_t)reach16(g, x, i + 16, ahead, first16(n - i - 16), t, &most16) << 16;
        c += pack32(at, k, index + c);
    }
    *most = _mm512_reduce_max_epu32(most16);
    return c;
}

static size_t candidates(const float *g, float *x, size_t n, size_t ahead, uint32_t t,
                         uint16_t *index, uint32_t *most)
{
    return x != NULL ? candidates_of(g, x, n, ahead, t, index, most)
                     : candidates_of(g, NULL, n, ahead, t, index, most);
}

/* --- the top k <= CC_PICK_TOP of a bucket --- */

static inline __m512i join16(__m256i low, __m256i high)
{
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

/* The ranks of 32 keys: how many are larger. The number of steps is fixed, so that no branch is
 * mispredicted. In halves, as comparisons of 64 bytes make masks: on a Zen 4 that takes three times
 * as long. */
static inline __m512i ranks32(__m512i keys)
{
    const __m512i ordered = _mm512_xor_si512(keys, _mm512_set1_epi16(INT16_MIN)); /* as signed */
    const __m256i low = _mm512_castsi512_si256(ordered),
                  high = _mm512_extracti64x4_epi64(ordered, 1);
    _Alignas(64) int16_t each[32];
    __m256i low_rank = _mm256_setzero_si256(), high_rank = low_rank;
    _mm512_store_si512(each, ordered);
    for (size_t i = 0; i < 32; i++) {
        const __m256i key = _mm256_set1_epi16(each[i]);
        low_rank = _mm256_sub_epi16(low_rank, _mm256_cmpgt_epi16(key, low));
        high_rank = _mm256_sub_epi16(high_rank, _mm256_cmpgt_epi16(key, high));
    }
    return join16(low_rank, high_rank);
}

static inline uint32_t least_of_32(__m512i keys)
{
    const __m256i half =
        _mm256_min_epu16(_mm512_castsi512_si256(keys), _mm512_extracti64x4_epi64(keys, 1));
    const __m128i quarter =
        _mm_min_epu16(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
    return (uint32_t)_mm_extract_epi16(_mm_minpos_epu16(quarter), 0);
}

/* The k-th largest of 32 keys. */
static inline uint32_t kth_of_32(__m512i keys, size_t k)
{
    const __m512i all = _mm512_set1_epi16(-1);
    const __mmask32 top = _mm512_cmplt_epu16_mask(ranks32(keys), _mm512_set1_epi16((short)k));
    return least_of_32(_mm512_mask_mov_epi16(all, top, keys));
}

static inline uint32_t largest_of_32(__m512i keys)
{
    return UINT16_MAX - least_of_32(_mm512_xor_si512(keys, _mm512_set1_epi16(-1)));
}

/* Brings 32 values up to date; returns keys of their magnitudes: the upper 16 of 31 bits. */
#define KEY_SHIFT 15
static inline __m512i keys32(const float *g, float *x, size_t ahead, __mmask32 some)
{
    __m512i at = _mm512_add_epi16(iota32(), iota32()); /* the upper half of each */
    at = _mm512_add_epi16(at, _mm512_set1_epi16(1));
    const __m512i low = update16(g, x, 0, ahead, (__mmask16)some, true);
    const __m512i high = update16(g, x, 16, ahead, (__mmask16)(some >> 16), true);
    return _mm512_permutex2var_epi16(_mm512_slli_epi32(low, 1), at, _mm512_slli_epi32(high, 1));
}

/* The indices of the keys that reach t. */
static inline size_t indices_of(const uint16_t *key, size_t n, uint32_t t, uint16_t *index)
{
    const __m512i tv = _mm512_set1_epi16((short)t), next = _mm512_set1_epi16(32);
    __m512i at = iota32();
    size_t c = 0, i = 0;
    for (; i + 32 <= n; i += 32, at = _mm512_add_epi16(at, next))
        c += pack32(at, _mm512_cmpge_epu16_mask(_mm512_load_si512(key + i), tv), index + c);
    if (i < n) {
        const __mmask32 some = _bzhi_u32(UINT32_MAX, (unsigned)(n - i));
        c += pack32(at, _mm512_mask_cmpge_epu16_mask(some, _mm512_load_si512(key + i), tv),
                    index + c);
    }
    return c;
}

static inline size_t collect_top(const float *g, float *x, size_t n, size_t ahead, size_t k,
                                 uint16_t *index, uint32_t *threshold, uint32_t *most)
{
    _Alignas(64) uint16_t key[CC_PICK_BLOCK];
    __m512i most32 = _mm512_setzero_si512();
    size_t i = 0;
    for (; i + 32 <= n; i += 32) {
        const __m512i keys = keys32(g + i, x != NULL ? x + i : NULL, ahead, UINT32_MAX);
        _mm512_store_si512(key + i, keys);
        most32 = _mm512_max_epu16(most32, keys);
    }
    if (i < n) {
        const __m512i keys = keys32(g + i, x != NULL ? x + i : NULL, ahead,
                                    _bzhi_u32(UINT32_MAX, (unsigned)(n - i)));
        _mm512_store_si512(key + i, keys);
        most32 = _mm512_max_epu16(most32, keys);
    }
    const uint32_t t = n < 32 ? 0 : kth_of_32(most32, k);
    *threshold = t << KEY_SHIFT;
    *most = largest_of_32(most32) << KEY_SHIFT | ((UINT32_C(1) << KEY_SHIFT) - 1);
    return indices_of(key, n, t, index);
}

static size_t collect(const float *g, float *x, size_t n, size_t ahead, size_t k, uint16_t *index,
                      uint32_t *threshold, uint32_t *most)
{
    return x != NULL ? collect_top(g, x, n, ahead, k, index, threshold, most)
                     : collect_top(g, NULL, n, ahead, k, index, threshold, most);
}

/* The values of 16 candidates. */
static inline __m512 gather16(const float *from, const uint16_t *index, __mmask16 some)
{
    const __m256i at = _mm256_loadu_si256((const __m256i_u *)(const void *)index);
    return _mm512_mask_i32gather_ps(_mm512_setzero_ps(), some, _mm512_cvtepu16_epi32(at), from,
                                    sizeof(float));
}

/* 16-bit keys in the order of values that reach the threshold: those of twice the threshold and
 * more are alike. */
static inline __m256i key16(__m512 v, __m512i threshold)
{
    return _mm512_cvtusepi32_epi16(
        _mm512_srli_epi32(_mm512_sub_epi32(magnitude16(v), threshold), 7));
}

/* Writes the values whose bits are set in k; returns how many. */
static inline size_t put16_values(__m512 v, __mmask16 k, uint8_t *out)
{
    const size_t count = (size_t)__builtin_popcount(k);
    _mm512_mask_storeu_epi32(out, first16(count), compress16(k, _mm512_castps_si512(v)));
    return count;
}

static bool put(const float *from, float *x, const uint16_t *index, size_t c, size_t k,
                uint32_t threshold, uint8_t *out)
{
    _Alignas(64) uint16_t kept[32];
    if (c > 32)
        return false;
    const __mmask32 some = _bzhi_u32(~UINT32_C(0), (unsigned)c);
    const __m512i t = _mm512_set1_epi32((int)threshold);
    const __m512 low = gather16(from, index, (__mmask16)some);
    const __m512 high = gather16(from, index + 16, (__mmask16)(some >> 16));
    const __m512i keys = _mm512_maskz_mov_epi16(some, join16(key16(low, t), key16(high, t)));
    const __mmask32 top =
        some & _mm512_cmplt_epu16_mask(ranks32(keys), _mm512_set1_epi16((short)k));
    if ((size_t)__builtin_popcount(top) != k)
        return false;
    const __m512i at = _mm512_mask_compress_epi16(fresh16(), top, _mm512_loadu_si512(index));
    _mm512_store_si512(kept, at);
    _mm512_mask_storeu_epi16(out, _bzhi_u32(~UINT32_C(0), (unsigned)k), at);
    out += sizeof(uint16_t) * k;
    out += sizeof(float) * put16_values(low, (__mmask16)top, out);
    (void)put16_values(high, (__mmask16)(top >> 16), out);
    for (size_t j = 0; x != NULL && j < k; j++)
        x[kept[j]] = 0;
    return true;
}

#define COLLECT collect
#define PUT     put

#else

/* As `candidates`, but with 32-bit indices that begin with base. */
static size_t reached(const float *g, float *x, size_t n, uint32_t t, uint32_t base,
                      uint32_t *index, float *value, uint32_t *most)
{
    uint8_t bits[CC_PICK_BLOCK / 8];
    const float *v = x != NULL ? x : g;
    *most = x != NULL ? CC_K(k_select).add(g, x, n) : CC_K(k_reduce).absmax(g, n);
    size_t c = CC_K(k_select).mark(v, n, t, bits);
    if (c > 0) {
        CC_K(k_select).indices(bits, n, base, index);
        CC_K(k_select).pack(v, bits, n, value);
    }
    return c;
}

static size_t candidates(const float *g, float *x, size_t n, size_t ahead, uint32_t t,
                         uint16_t *index, uint32_t *most)
{
    (void)ahead;
    uint32_t at[CC_PICK_BLOCK + CC_PICK_SLACK];
    float value[CC_PICK_BLOCK + CC_PICK_SLACK];
    size_t c = reached(g, x, n, t, 0, at, value, most);
    for (size_t j = 0; j < c; j++)
        index[j] = (uint16_t)at[j];
    return c;
}

static size_t codes(const float *g, float *x, size_t n, size_t ahead, float tau, uint32_t base,
                    uint8_t *out, uint32_t *most)
{
    (void)ahead;
    uint32_t at[CC_PICK_BLOCK + CC_PICK_SLACK];
    float value[CC_PICK_BLOCK + CC_PICK_SLACK];
    size_t c = reached(g, x, n, cc_f32_bits(tau), base, at, value, most);
    for (size_t j = 0; j < c; j++)
        cc_put_u32(out + 4 * j, 2 * at[j] + (cc_f32_bits(value[j]) >> 31));
    if (x != NULL)
        CC_K(k_select).shrink(x, n, tau);
    return c;
}

#define COLLECT NULL
#define PUT     NULL

#endif

const struct k_pick CC_K(k_pick) = {
    .codes = codes,
    .candidates = candidates,
    .collect = COLLECT,
    .put = PUT,
};
