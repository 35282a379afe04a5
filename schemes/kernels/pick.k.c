/* Selection fused with the update of the residual, for tensors that are processed block by block.
 *
 * With AVX-512 a vector of x + g is compared with the threshold and the selected lanes are packed
 * by the compress instruction: codes for `threshold`; 16-bit indices for `topk`, whose values are
 * gathered afterwards from the first-level cache. Elsewhere the blocks go through the kernels of
 * select.h, one after the other.
 *
 * `largest` finds the top k of a few values without sorting: each value counts how many are larger
 * (n compares of a vector), and those with a count below k are selected. Ties show as a wrong
 * number of selected values; the caller then uses its general method. */
#include "schemes/kernels/pick.h"

#include "core/bytes.h"
#include "core/reduce.h"
#include "schemes/kernels/masks.h"
#include "schemes/kernels/select.h"

#if defined(__AVX512F__)

/* Distance of software prefetching in bytes, as in select.k.c. */
#define AHEAD 4096

static inline __m512 load16(const float *p, __mmask16 some)
{
    _mm_prefetch((const char *)p + AHEAD, _MM_HINT_T0);
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

static inline size_t codes16(const float *g, float *x, __mmask16 some, float tau, uint32_t base,
                             uint8_t *out, __m512i *most)
{
    __m512 v = load16(g, some);
    if (x != NULL)
        v = _mm512_add_ps(load16(x, some), v);
    __m512i m = magnitude16(v), bits = _mm512_castps_si512(v);
    __mmask16 k = _mm512_cmpge_epu32_mask(m, _mm512_castps_si512(_mm512_set1_ps(tau)));
    *most = _mm512_max_epu32(*most, m);
    __m512i code = iota16(base);
    code = _mm512_add_epi32(_mm512_add_epi32(code, code), _mm512_srli_epi32(bits, 31));
    _mm512_mask_storeu_epi32(out, some, compress16(k, code));
    if (x != NULL) {
        __m512i step =
            _mm512_or_si512(_mm512_xor_si512(bits, m), _mm512_castps_si512(_mm512_set1_ps(tau)));
        v = _mm512_mask_sub_ps(v, k, v, _mm512_castsi512_ps(step));
        _mm512_mask_storeu_ps(x, some, v);
    }
    return (size_t)__builtin_popcount(k);
}

static inline size_t codes_of(const float *g, float *x, size_t n, float tau, uint32_t base,
                              uint8_t *out, uint32_t *most)
{
    __m512i most16 = _mm512_setzero_si512();
    size_t c = 0, i = 0;
    for (; i + 16 <= n; i += 16)
        c += codes16(g + i, x != NULL ? x + i : NULL, 0xffff, tau, base + (uint32_t)i, out + 4 * c,
                     &most16);
    if (i < n)
        c += codes16(g + i, x != NULL ? x + i : NULL, first16(n - i), tau, base + (uint32_t)i,
                     out + 4 * c, &most16);
    *most = _mm512_reduce_max_epu32(most16);
    return c;
}

static size_t codes(const float *g, float *x, size_t n, float tau, uint32_t base, uint8_t *out,
                    uint32_t *most)
{
    return x != NULL ? codes_of(g, x, n, tau, base, out, most)
                     : codes_of(g, NULL, n, tau, base, out, most);
}

/* Brings the values from i on up to date (the lanes of `some`) and returns those that are >= t. */
static inline __mmask16 reach16(const float *g, float *x, size_t i, __mmask16 some, uint32_t t,
                                __m512i *most)
{
    __m512 v = load16(g + i, some);
    if (x != NULL) {
        v = _mm512_add_ps(load16(x + i, some), v);
        _mm512_mask_storeu_ps(x + i, some, v);
    }
    __m512i m = magnitude16(v);
    *most = _mm512_max_epu32(*most, m);
    return _mm512_mask_cmpge_epu32_mask(some, m, _mm512_set1_epi32((int)t));
}

/* Packs indices only, 32 at once: an unaligned store costs as much as everything else together. */
static inline size_t candidates_of(const float *g, float *x, size_t n, uint32_t t, uint16_t *index,
                                   uint32_t *most)
{
    __m512i most16 = _mm512_setzero_si512();
    const __m512i next = _mm512_set1_epi16(32);
    uint16_t iota[32];
    for (uint16_t l = 0; l < 32; l++)
        iota[l] = l;
    __m512i at = _mm512_loadu_si512(iota);
    size_t c = 0, i = 0;
    for (; i + 32 <= n; i += 32, at = _mm512_add_epi16(at, next)) {
        uint32_t low = reach16(g, x, i, 0xffff, t, &most16);
        uint32_t k = low | (uint32_t)reach16(g, x, i + 16, 0xffff, t, &most16) << 16;
        _mm512_storeu_si512(index + c, _mm512_mask_compress_epi16(fresh16(), k, at));
        c += (size_t)__builtin_popcount(k);
    }
    if (i < n) {
        uint32_t k = reach16(g, x, i, first16(n - i), t, &most16);
        if (n - i > 16)
            k |= (uint32_t)reach16(g, x, i + 16, first16(n - i - 16), t, &most16) << 16;
        _mm512_storeu_si512(index + c, _mm512_mask_compress_epi16(fresh16(), k, at));
        c += (size_t)__builtin_popcount(k);
    }
    *most = _mm512_reduce_max_epu32(most16);
    return c;
}

static size_t candidates(const float *g, float *x, size_t n, uint32_t t, uint16_t *index,
                         float *value, uint32_t *most)
{
    size_t c = x != NULL ? candidates_of(g, x, n, t, index, most)
                         : candidates_of(g, NULL, n, t, index, most);
    const float *from = x != NULL ? x : g;
    for (size_t j = 0; j < c; j++)
        value[j] = from[index[j]];
    return c;
}

/* Counts for each value how many are larger. */
static inline uint64_t largest_of(const float *x, size_t n, size_t k, size_t vectors)
{
    const __m512i one = _mm512_set1_epi32(1);
    __m512i m[CC_PICK_FEW / 16], rank[CC_PICK_FEW / 16];
    uint64_t found = 0;
    for (size_t j = 0; j < vectors; j++) {
        m[j] = magnitude16(_mm512_maskz_loadu_ps(first16(n - 16 * j), x + 16 * j));
        rank[j] = _mm512_setzero_si512();
    }
    for (size_t i = 0; i < n; i++) {
        __m512i v = _mm512_set1_epi32((int)(cc_f32_bits(x[i]) & 0x7fffffffu));
        for (size_t j = 0; j < vectors; j++)
            rank[j] =
                _mm512_mask_add_epi32(rank[j], _mm512_cmpgt_epu32_mask(v, m[j]), rank[j], one);
    }
    for (size_t j = 0; j < vectors; j++) {
        __mmask16 k16 =
            _mm512_mask_cmplt_epu32_mask(first16(n - 16 * j), rank[j], _mm512_set1_epi32((int)k));
        found |= (uint64_t)k16 << (16 * j);
    }
    return (size_t)__builtin_popcountll(found) == k ? found : 0;
}

static uint64_t largest(const float *x, size_t n, size_t k)
{
    return n <= 32 ? largest_of(x, n, k, 2) : largest_of(x, n, k, 4);
}

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

static size_t candidates(const float *g, float *x, size_t n, uint32_t t, uint16_t *index,
                         float *value, uint32_t *most)
{
    uint32_t at[CC_PICK_BLOCK + CC_PICK_SLACK];
    size_t c = reached(g, x, n, t, 0, at, value, most);
    for (size_t j = 0; j < c; j++)
        index[j] = (uint16_t)at[j];
    return c;
}

static size_t codes(const float *g, float *x, size_t n, float tau, uint32_t base, uint8_t *out,
                    uint32_t *most)
{
    uint32_t at[CC_PICK_BLOCK + CC_PICK_SLACK];
    float value[CC_PICK_BLOCK + CC_PICK_SLACK];
    size_t c = reached(g, x, n, cc_f32_bits(tau), base, at, value, most);
    for (size_t j = 0; j < c; j++)
        cc_put_u32(out + 4 * j, 2 * at[j] + (cc_f32_bits(value[j]) >> 31));
    if (x != NULL)
        CC_K(k_select).shrink(x, n, tau);
    return c;
}

static uint64_t largest(const float *x, size_t n, size_t k)
{
    (void)x;
    (void)n;
    (void)k;
    return 0;
}

#endif

const struct k_pick CC_K(k_pick) = {.codes = codes, .candidates = candidates, .largest = largest};
