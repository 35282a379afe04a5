/* Selection fused with the update of the residual, for tensors that are processed block by block.
 *
 * With AVX-512 a vector of x + g is compared with the threshold and the selected lanes are packed
 * by the compress instruction: codes for `threshold`; 16-bit indices for `topk`. Elsewhere the
 * blocks go through the kernels of select.h, one after the other.
 *
 * `put` gathers the values of a few candidates from the first-level cache into registers, where a
 * count of those above a threshold takes a few cycles, and searches for the threshold of the top k.
 * Ties have none; the caller then uses its general method. Between a bucket's `candidates` and its
 * `put` the caller does other work: loads of several indices at once wait for the stores that wrote
 * them. */
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
        c += pack32(at, k, index + c);
    }
    if (i < n) {
        uint32_t k = reach16(g, x, i, first16(n - i), t, &most16);
        if (n - i > 16)
            k |= (uint32_t)reach16(g, x, i + 16, first16(n - i - 16), t, &most16) << 16;
        c += pack32(at, k, index + c);
    }
    *most = _mm512_reduce_max_epu32(most16);
    return c;
}

static size_t candidates(const float *g, float *x, size_t n, uint32_t t, uint16_t *index,
                         uint32_t *most)
{
    return x != NULL ? candidates_of(g, x, n, t, index, most)
                     : candidates_of(g, NULL, n, t, index, most);
}

#define MOST_TRIES 16

/* The candidates of a bucket in up to four vectors. */
struct few {
    size_t vectors;
    uint64_t mask; /* which lanes are candidates */
    __m512 value[CC_PICK_FEW / 16];
};

/* A mask of the candidates with bits >= t. */
static inline uint64_t reaching(const struct few *f, uint32_t t)
{
    uint64_t found = 0;
    for (size_t j = 0; j < f->vectors; j++)
        found |=
            (uint64_t)_mm512_cmpge_epu32_mask(magnitude16(f->value[j]), _mm512_set1_epi32((int)t))
            << (16 * j);
    return found;
}

/* A mask of the k largest: searches for a threshold that k candidates reach, from that which all
 * reach, by steps of the mean distance between neighbours. 0 if there is none, as with ties, or if
 * it is not found soon. */
static inline uint64_t largest(const struct few *f, size_t c, size_t k, uint32_t low, uint32_t gap)
{
    uint64_t found = f->mask;
    uint32_t high = UINT32_MAX;
    for (int tries = 0; c != k; tries++) {
        if (tries == MOST_TRIES || high - low < 2)
            return 0;
        const uint32_t room = high - low, half = room / 2;
        const size_t off = c > k ? c - k : k - c;
        const uint64_t step = (uint64_t)gap * off;
        const uint32_t by = step < room ? (uint32_t)step : half;
        const uint32_t t = c > k ? low + by : high - by;
        found = reaching(f, t);
        c = (size_t)__builtin_popcountll(found);
        low = c > k ? t : low;
        high = c < k ? t : high;
    }
    return found;
}

/* Writes the values whose bits are set in `found`; returns the bits of the least magnitude. */
static inline uint32_t put_values(const struct few *f, uint64_t found, uint8_t *out)
{
    __m512i least = _mm512_set1_epi32(-1);
    for (size_t j = 0; j < f->vectors; j++) {
        const __mmask16 k = (__mmask16)(found >> (16 * j));
        const size_t count = (size_t)__builtin_popcount(k);
        const __m512i v = compress16(k, _mm512_castps_si512(f->value[j]));
        _mm512_mask_storeu_epi32(out, first16(count), v);
        out += sizeof(float) * count;
        least = _mm512_mask_min_epu32(least, k, least, magnitude16(f->value[j]));
    }
    return _mm512_reduce_min_epu32(least);
}

/* Packs the indices whose bits are set in `found`, 32 at a time, to `kept`, which has room for
 * CC_PICK_SLACK more. */
static inline void keep_indices(const uint16_t *index, size_t vectors, uint64_t found,
                                uint16_t *kept)
{
    for (size_t j = 0; j < vectors; j += 2) {
        const __mmask32 k = (__mmask32)(found >> (16 * j));
        const __m512i v = _mm512_loadu_si512(index + 16 * j);
        _mm512_storeu_si512(kept, _mm512_mask_compress_epi16(fresh16(), k, v));
        kept += __builtin_popcount(k);
    }
}

static inline bool put_few(const struct cc_picked *p, size_t k, uint8_t *out, uint32_t *least,
                           size_t vectors)
{
    struct few f = {.vectors = vectors, .mask = _bzhi_u64(~UINT64_C(0), (unsigned)p->count)};
    uint16_t kept[CC_PICK_FEW + CC_PICK_SLACK];
    for (size_t j = 0; j < vectors; j++) {
        const __m256i at = _mm256_loadu_si256((const __m256i_u *)(const void *)(p->index + 16 * j));
        f.value[j] = _mm512_mask_i32gather_ps(_mm512_setzero_ps(), (__mmask16)(f.mask >> (16 * j)),
                                              _mm512_cvtepu16_epi32(at), p->from, sizeof(float));
    }
    const uint64_t found = largest(&f, p->count, k, p->threshold, p->gap);
    if (found == 0)
        return false;
    *least = put_values(&f, found, out + sizeof(uint16_t) * k);
    keep_indices(p->index, vectors, found, kept);
    for (size_t j = 0; j < k; j += 32)
        _mm512_mask_storeu_epi16(out + sizeof(uint16_t) * j,
                                 _bzhi_u32(~UINT32_C(0), (unsigned)(k - j < 32 ? k - j : 32)),
                                 _mm512_loadu_si512(kept + j));
    for (size_t j = 0; p->x != NULL && j < k; j++)
        p->x[kept[j]] = 0;
    return true;
}

static bool put(const struct cc_picked *p, size_t k, uint8_t *out, uint32_t *least)
{
    if (p->count > CC_PICK_FEW)
        return false;
    return p->count <= 32 ? put_few(p, k, out, least, 2) : put_few(p, k, out, least, 4);
}

#define PUT put

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
                         uint32_t *most)
{
    uint32_t at[CC_PICK_BLOCK + CC_PICK_SLACK];
    float value[CC_PICK_BLOCK + CC_PICK_SLACK];
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

#define PUT NULL

#endif

const struct k_pick CC_K(k_pick) = {.codes = codes, .candidates = candidates, .put = PUT};
