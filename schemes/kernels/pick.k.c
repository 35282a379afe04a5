#include "schemes/kernels/pick.h"

#include "core/bytes.h"
#include "core/reduce.h"
#include "schemes/kernels/lanes.h"
#include "schemes/kernels/select.h"

#if defined(__AVX512F__)

/* As in select.k.c. */
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
    _mm512_mask_storeu_epi32(out, some, _mm512_maskz_compress_epi32(k, code));
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

static inline size_t candidates16(const float *g, float *x, __mmask16 some, uint32_t t,
                                  uint32_t base, uint32_t *index, float *value, __m512i *most)
{
    __m512 v = load16(g, some);
    if (x != NULL) {
        v = _mm512_add_ps(load16(x, some), v);
        _mm512_mask_storeu_ps(x, some, v);
    }
    __m512i m = magnitude16(v);
    __mmask16 k = _mm512_mask_cmpge_epu32_mask(some, m, _mm512_set1_epi32((int)t));
    *most = _mm512_max_epu32(*most, m);
    _mm512_storeu_si512(index, _mm512_maskz_compress_epi32(k, iota16(base)));
    _mm512_storeu_ps(value, _mm512_maskz_compress_ps(k, v));
    return (size_t)__builtin_popcount(k);
}

static inline size_t candidates_of(const float *g, float *x, size_t n, uint32_t t, uint32_t *index,
                                   float *value, uint32_t *most)
{
    __m512i most16 = _mm512_setzero_si512();
    size_t c = 0;
    for (size_t i = 0; i < n; i += 16)
        c += candidates16(g + i, x != NULL ? x + i : NULL, first16(n - i), t, (uint32_t)i,
                          index + c, value + c, &most16);
    *most = _mm512_reduce_max_epu32(most16);
    return c;
}

static size_t candidates(const float *g, float *x, size_t n, uint32_t t, uint32_t *index,
                         float *value, uint32_t *most)
{
    return x != NULL ? candidates_of(g, x, n, t, index, value, most)
                     : candidates_of(g, NULL, n, t, index, value, most);
}

/* Counts for every value how many are larger. */
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

static uint32_t update(const float *g, float *x, size_t n)
{
    return x != NULL ? CC_K(k_select).add(g, x, n) : CC_K(k_reduce).absmax(g, n);
}

static size_t candidates(const float *g, float *x, size_t n, uint32_t t, uint32_t *index,
                         float *value, uint32_t *most)
{
    uint8_t bits[CC_PICK_BLOCK / 8];
    const float *v = x != NULL ? x : g;
    *most = update(g, x, n);
    size_t c = CC_K(k_select).mark(v, n, t, bits);
    if (c > 0) {
        CC_K(k_select).indices(bits, n, 0, index);
        CC_K(k_select).pack(v, bits, n, value);
    }
    return c;
}

static size_t codes(const float *g, float *x, size_t n, float tau, uint32_t base, uint8_t *out,
                    uint32_t *most)
{
    uint32_t index[CC_PICK_BLOCK + CC_PICK_SLACK];
    float value[CC_PICK_BLOCK + CC_PICK_SLACK];
    size_t c = candidates(g, x, n, cc_f32_bits(tau), index, value, most);
    for (size_t j = 0; j < c; j++)
        cc_put_u32(out + 4 * j, 2 * (base + index[j]) + (cc_f32_bits(value[j]) >> 31));
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
