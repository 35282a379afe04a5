/* The kernels under sparse, topk, dgc and threshold: threshold, mark, pack.
 *
 * For positive floats the order of the numbers is the order of their bits, so magnitudes are
 * compared as unsigned integers, which also orders what comparisons of floats would not (NaN shows
 * as the largest).
 *
 * A block is worked on 64 values at a time: comparing gives a 64-bit word of the bit array; packing
 * moves the marked elements of each vector to its front (AVX-512 compress; with AVX2 a permutation
 * made from the bits of a byte by pext) and stores the whole vector, advancing by the number of set
 * bits, so up to a vector of rubbish follows the last element. Bit by bit loops define the result
 * and do the tails.
 *
 * `take` does the update of the residual, marking, packing and clearing in one pass over memory
 * with AVX-512; elsewhere one kernel after the other, in the cache. `prune` narrows down a
 * selection that was made with a lower threshold without reading the tensor again; the lower index
 * decides between ties. */
#include "schemes/kernels/select.h"

#include "core/reduce.h"
#include "schemes/kernels/masks.h"

static inline uint32_t magnitude(float v)
{
    return cc_f32_bits(v) & 0x7fffffffu;
}

static uint32_t add(const float *restrict g, float *restrict x, size_t n)
{
    uint32_t m = 0;
    for (size_t i = 0; i < n; i++) {
        float v = x[i] + g[i];
        uint32_t bits = magnitude(v);
        x[i] = v;
        m = bits > m ? bits : m;
    }
    return m;
}

static uint32_t add_momentum(const float *restrict g, float factor, float *restrict u,
                             float *restrict x, size_t n)
{
    uint32_t m = 0;
    for (size_t i = 0; i < n; i++) {
        float product = factor * u[i];
        float a = product + g[i];
        float b = x[i] + a;
        uint32_t abits = magnitude(a), bbits = magnitude(b);
        u[i] = a;
        x[i] = b;
        m = abits > m ? abits : m;
        m = bbits > m ? bbits : m;
    }
    return m;
}

static size_t count(const float *x, size_t n, uint32_t t)
{
    size_t total = 0;
    while (n > 0) { /* blocks whose count fits a 32-bit lane */
        size_t m = n < CC_SELECT_BLOCK ? n : CC_SELECT_BLOCK;
        uint32_t c = 0;
        for (size_t i = 0; i < m; i++)
            c += magnitude(x[i]) >= t;
        total += c;
        x += m;
        n -= m;
    }
    return total;
}

static uint32_t least(const float *x, size_t n, uint32_t t)
{
    uint32_t found = UINT32_MAX;
    for (size_t i = 0; i < n; i++) {
        uint32_t m = magnitude(x[i]) - t; /* wraps around for those below t */
        found = m < found ? m : found;
    }
    return found > UINT32_MAX - t ? UINT32_MAX : found + t;
}

/* --- 64 values at a time; the tail of fewer is done by the plain loops below --- */

#if defined(__ARM_NEON)
#include "schemes/kernels/select_neon.h"
#elif defined(CC_VECTORS)

/* A bit for each value that reaches t. */
static inline uint64_t mark_vector(const float *x, uint32_t t)
{
    const cc_vi32 m = (cc_vi32)cc_vf32_load(x) & INT32_MAX;
#if defined(__AVX512F__)
    return _mm512_cmpge_epu32_mask((__m512i)m, _mm512_set1_epi32((int)t));
#else
    return (uint32_t)_mm256_movemask_ps((__m256)(m > (int32_t)t - 1));
#endif
}

static inline uint64_t mark64(const float *x, uint32_t t)
{
    uint64_t w = 0;
    for (size_t j = 0; j < 64; j += CC_VECTOR)
        w |= mark_vector(x + j, t) << j;
    return w;
}

static inline size_t pack64(const uint8_t *x, uint64_t w, uint8_t *out)
{
    size_t c = 0;
    for (size_t j = 0; j < 64; j += CC_VECTOR)
        c += store_packed(w >> j, cc_vu32_load(x + 4 * j), out + 4 * c);
    return c;
}

static inline size_t indices64(uint64_t w, uint32_t base, uint32_t *out)
{
    const cc_vu32 first = cc_vu32_index((struct cc_key){.a = base}, 0);
    size_t c = 0;
    for (size_t j = 0; j < 64; j += CC_VECTOR)
        c += store_packed(w >> j, first + (uint32_t)j, out + c);
    return c;
}

static inline void clear64(uint64_t w, float *x)
{
    for (size_t j = 0; j < 64; j += CC_VECTOR) {
#if defined(__AVX512F__)
        _mm512_mask_storeu_ps(x + j, (__mmask16)(w >> j), _mm512_setzero_ps());
#else
        const __m256 kept = lanes(w >> j & 0xff), v = _mm256_loadu_ps(x + j);
        _mm256_storeu_ps(x + j, _mm256_andnot_ps(kept, v));
#endif
    }
}

#endif

/* --- bit by bit: defines the result, and does the tails --- */

static inline uint64_t mark_few(const float *x, size_t n, uint32_t t)
{
    uint64_t w = 0;
    for (size_t i = 0; i < n; i++)
        w |= (uint64_t)(magnitude(x[i]) >= t) << i;
    return w;
}

static inline size_t pack_few(const uint8_t *x, uint64_t w, uint8_t *out)
{
    size_t c = 0;
    CC_FOR_SET_BITS(i, w) memcpy(out + 4 * c++, x + 4 * i, 4);
    return c;
}

static inline void clear_few(uint64_t w, float *x)
{
    CC_FOR_SET_BITS(i, w) x[i] = 0;
}

#ifndef CC_VECTORS
static inline size_t indices_few(uint64_t w, uint32_t base, uint32_t *out)
{
    size_t c = 0;
    CC_FOR_SET_BITS(i, w) out[c++] = base + (uint32_t)i;
    return c;
}

#define mark64(x, t)            mark_few(x, 64, t)
#define pack64(x, w, out)       pack_few(x, w, out)
#define indices64(w, base, out) indices_few(w, base, out)
#define clear64(w, x)           clear_few(w, x)
#endif

/* --- whole arrays --- */

static size_t mark(const float *x, size_t n, uint32_t t, uint8_t *bits)
{
    size_t c = 0;
    for (size_t i = 0; i < n; i += 64) {
        uint64_t w = n - i >= 64 ? mark64(x + i, t) : mark_few(x + i, n - i, t);
        cc_bits_put_word(bits, n, i, w);
        c += (size_t)__builtin_popcountll(w);
    }
    return c;
}

static size_t pack(const void *x, const uint8_t *bits, size_t n, void *out)
{
    const uint8_t *from = x;
    uint8_t *to = out;
    size_t c = 0;
    for (size_t i = 0; i < n; i += 64) {
        uint64_t w = cc_bits_word(bits, n, i);
        if (w != 0 && n - i >= 64)
            c += pack64(from + 4 * i, w, to + 4 * c);
        else
            c += pack_few(from + 4 * i, w, to + 4 * c);
    }
    return c;
}

static size_t indices(const uint8_t *bits, size_t n, uint32_t base, uint32_t *out)
{
    size_t c = 0;
    for (size_t i = 0; i < n; i += 64) {
        uint64_t w = cc_bits_word(bits, n, i);
        if (w != 0)
            c += indices64(w, base + (uint32_t)i, out + c);
    }
    return c;
}

static void clear(const uint8_t *bits, size_t n, float *x)
{
    for (size_t i = 0; i < n; i += 64) {
        uint64_t w = cc_bits_word(bits, n, i);
        if (w != 0 && n - i >= 64)
            clear64(w, x + i);
        else
            clear_few(w, x + i);
    }
}

/* Puts the low bits of v to the places of the set bits of w. */
static inline uint64_t deposit(uint64_t v, uint64_t w)
{
#if defined(__BMI2__)
    return _pdep_u64(v, w);
#else
    uint64_t out = 0;
    for (; w != 0; w &= w - 1, v >>= 1)
        out |= v & 1 ? w & -w : 0;
    return out;
#endif
}

/* A mask of those of c <= 64 values that are >= t. */
static inline uint64_t mark_some(const float *x, size_t c, uint32_t t)
{
#if defined(__AVX512F__)
    const __m512i abs = _mm512_set1_epi32(0x7fffffff), tv = _mm512_set1_epi32((int)t);
    uint64_t w = 0;
    for (size_t j = 0; j < c; j += 16) {
        __mmask16 some = first16(c - j);
        __m512i v = _mm512_and_si512(_mm512_maskz_loadu_epi32(some, x + j), abs);
        w |= (uint64_t)_mm512_mask_cmpge_epu32_mask(some, v, tv) << j;
    }
    return w;
#else
    return mark_few(x, c, t);
#endif
}

/* Packs those of c <= 64 values whose bits are set in w. */
static inline void pack_some(const float *x, size_t c, uint64_t w, float *out)
{
#if defined(__AVX512F__)
    for (size_t j = 0; j < c; j += 16) {
        __m512i v = _mm512_maskz_loadu_epi32(first16(c - j), x + j);
        out += store_packed(w >> j, (cc_vu32)v, out);
    }
#else
    (void)c;
    pack_few((const uint8_t *)x, w, (uint8_t *)out);
#endif
}

/* Removes from w the values that equal t beyond the first *ties. */
static uint64_t drop_ties(const float *x, size_t c, uint32_t t, size_t *ties, uint64_t w)
{
    uint64_t equal = w & ~mark_some(x, c, t + 1);
    for (; equal != 0 && *ties > 0; equal &= equal - 1)
        --*ties;
    return w & ~equal;
}

static size_t prune(uint8_t *bits, size_t n, const float **candidates, uint32_t t, size_t *ties,
                    float *packed)
{
    const float *next = *candidates;
    size_t total = 0;
    for (size_t i = 0; i < n; i += 64) {
        uint64_t w = cc_bits_word(bits, n, i);
        if (w == 0)
            continue;
        size_t c = (size_t)__builtin_popcountll(w);
        uint64_t kept = mark_some(next, c, t);
        if (*ties != SIZE_MAX)
            kept = drop_ties(next, c, t, ties, kept);
        cc_bits_put_word(bits, n, i, deposit(kept, w));
        pack_some(next, c, kept, packed + total);
        total += (size_t)__builtin_popcountll(kept);
        next += c;
    }
    *candidates = next;
    return total;
}

/* --- a block in one pass --- */

#if defined(__AVX512F__)

static inline __m512 load16(const float *p, size_t ahead, __mmask16 some)
{
    if (ahead > 0)
        _mm_prefetch((const char *)p + ahead, _MM_HINT_T0);
    return _mm512_maskz_loadu_ps(some, p);
}

/* Brings the lanes in `some` up to date and returns x. */
static inline __m512 update16(const struct cc_rows *r, size_t i, __mmask16 some, __m512i *most)
{
    const __m512i abs = _mm512_set1_epi32(0x7fffffff);
    if (r->g == NULL)
        return load16(r->x + i, r->ahead, some);
    __m512 v = load16(r->g + i, r->ahead, some);
    if (r->u != NULL) {
        v = _mm512_add_ps(
            _mm512_mul_ps(_mm512_set1_ps(r->factor), load16(r->u + i, r->ahead, some)), v);
        _mm512_mask_storeu_ps(r->u + i, some, v);
        *most = _mm512_max_epu32(*most, _mm512_and_si512(_mm512_castps_si512(v), abs));
    }
    return r->x != NULL ? _mm512_add_ps(load16(r->x + i, r->ahead, some), v) : v;
}

static inline size_t take16(const struct cc_rows *r, size_t i, __mmask16 some, __m512i t,
                            bool clear, __mmask16 *marked, float *packed, __m512i *most)
{
    __m512 v = update16(r, i, some, most);
    __m512i m = _mm512_and_si512(_mm512_castps_si512(v), _mm512_set1_epi32(0x7fffffff));
    __mmask16 k = _mm512_cmpge_epu32_mask(m, t);
    *most = _mm512_max_epu32(*most, m);
    *marked = k;
    if (r->x != NULL && (clear || r->g != NULL))
        _mm512_mask_storeu_ps(r->x + i, some, clear ? _mm512_maskz_mov_ps(_knot_mask16(k), v) : v);
    return store_packed(k, (cc_vu32)v, packed);
}

static inline size_t take_rows(const struct cc_rows *r, size_t n, uint32_t t, bool clear,
                               uint8_t *bits, float *packed, uint32_t *most)
{
    const __m512i tv = _mm512_set1_epi32((int)t);
    __m512i most16 = _mm512_setzero_si512();
    size_t c = 0, i = 0;
    __mmask16 k = 0;
    for (; i + 64 <= n; i += 64) {
        uint64_t w = 0;
        for (size_t j = 0; j < 64; j += 16) {
            c += take16(r, i + j, 0xffff, tv, clear, &k, packed + c, &most16);
            w |= (uint64_t)k << j;
        }
        cc_put_u64(bits + i / 8, w);
    }
    uint64_t w = 0;
    for (size_t j = i; j < n; j += 16) {
        c += take16(r, j, first16(n - j), tv, clear, &k, packed + c, &most16);
        w |= (uint64_t)k << (j - i);
    }
    if (i < n)
        cc_bits_put_word(bits, n, i, w);
    *most = _mm512_reduce_max_epu32(most16);
    return c;
}

/* Calls with constants, so that each combination of arrays is compiled as a loop of its own. */
static size_t take(const struct cc_rows *rows, size_t n, uint32_t t, bool clear, uint8_t *bits,
                   float *packed, uint32_t *most)
{
    struct cc_rows r = *rows;
    if (r.g == NULL) {
        r = (struct cc_rows){.x = r.x, .ahead = r.ahead};
        return take_rows(&r, n, t, clear, bits, packed, most);
    }
    if (r.x == NULL) {
        r = (struct cc_rows){.g = r.g, .ahead = r.ahead};
        return take_rows(&r, n, t, false, bits, packed, most);
    }
    if (r.u != NULL)
        return take_rows(&r, n, t, clear, bits, packed, most);
    r = (struct cc_rows){.g = r.g, .x = r.x, .ahead = r.ahead};
    return clear ? take_rows(&r, n, t, true, bits, packed, most)
                 : take_rows(&r, n, t, false, bits, packed, most);
}

#else

static size_t take(const struct cc_rows *r, size_t n, uint32_t t, bool clear_them, uint8_t *bits,
                   float *packed, uint32_t *most)
{
    const float *x = r->x != NULL ? r->x : r->g;
    if (r->g == NULL || r->x == NULL)
        *most = CC_K(k_reduce).absmax(x, n);
    else if (r->u != NULL)
        *most = add_momentum(r->g, r->factor, r->u, r->x, n);
    else
        *most = add(r->g, r->x, n);
    size_t c = mark(x, n, t, bits);
    if (c > 0) {
        pack(x, bits, n, packed);
        if (clear_them && r->x != NULL)
            clear(bits, n, r->x);
    }
    return c;
}

#endif

static void shrink(float *x, size_t n, float t)
{
    const uint32_t step = cc_f32_bits(t);
    for (size_t i = 0; i < n; i++) {
        /* With bits, as conditions on floats keep the compiler from vectorizing. */
        uint32_t bits = cc_f32_bits(x[i]);
        uint32_t reached = -(uint32_t)((bits & 0x7fffffffu) >= step);
        x[i] -= cc_bits_f32(((bits & 0x80000000u) | step) & reached);
    }
}

const struct k_select CC_K(k_select) = {
    .add = add,
    .add_momentum = add_momentum,
    .count = count,
    .mark = mark,
    .least = least,
    .prune = prune,
    .take = take,
    .pack = pack,
    .indices = indices,
    .clear = clear,
    .shrink = shrink,
};
