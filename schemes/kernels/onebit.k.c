/* One-bit quantization (Seide et al., 1-Bit SGD, Interspeech 2014): a value is sent as its sign,
 * and decoded to one of two numbers.
 *
 * Encoding reads the values twice. The first pass sums the negative and the other values (classes),
 * or all magnitudes, in double over the tree of core/reduce.h: 16 lanes side by side, where a value
 * is added to one of the two sums of its lane and 0 to the other. The second pass writes the signs,
 * 8 or 16 values at a time, and brings the residual up to date.
 *
 * Each loop is written once with r that may be NULL and inlined twice, with and without a residual.
 * The next page of each stream is touched at the beginning of a page, as the hardware's prefetching
 * ends there. */
#include "schemes/kernels/onebit.h"

#include "core/bytes.h"
#include "core/reduce.h"
#include "core/tile.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

/* --- sums --- */

static inline float value(const float *x, const float *r, size_t i)
{
    return r == NULL ? x[i] : x[i] + r[i];
}

/* Touches the next page of both streams when i is the first value of a page. */
static inline void next_page(const float *x, const float *r, size_t i)
{
    if (i % CC_PAGE_VALUES != 0)
        return;
    cc_next_page(x + i);
    if (r != NULL)
        cc_next_page(r + i);
}

struct lanes {
    double minus[CC_SUM_LANES], plus[CC_SUM_LANES];
    size_t negatives;
};

/* Adds one value to lane l. -0 adds nothing to either sum, and does not count as negative. */
static inline void classify(struct lanes *t, size_t l, float v)
{
    uint32_t bits = cc_f32_bits(v), sign = 0u - (bits >> 31);
    t->minus[l] += (double)cc_bits_f32(bits & sign);
    t->plus[l] += (double)cc_bits_f32(bits & ~sign);
    t->negatives += bits > 0x80000000u;
}

#if defined(__ARM_NEON)
#include "schemes/kernels/onebit_neon.h"
#endif

/* Adds whole rows of 16 values. With intrinsics, as compilers do not vectorize the scalar form. */
#if defined(__AVX512F__)
/* Masked additions instead of adding 0 in the other lanes; the same, as no sum is ever -0. */
static inline void add_wide(__m512d minus[2], __m512d plus[2], __m512 v, __mmask16 m)
{
    __m512d low = _mm512_cvtps_pd(_mm512_castps512_ps256(v));
    __m512d high = _mm512_cvtps_pd(_mm512_extractf32x8_ps(v, 1));
    __mmask8 upper = (__mmask8)(m >> 8);
    minus[0] = _mm512_mask_add_pd(minus[0], (__mmask8)m, minus[0], low);
    minus[1] = _mm512_mask_add_pd(minus[1], upper, minus[1], high);
    plus[0] = _mm512_mask_add_pd(plus[0], (__mmask8)~m, plus[0], low);
    plus[1] = _mm512_mask_add_pd(plus[1], (__mmask8)~upper, plus[1], high);
}

static inline void classify_rows(struct lanes *t, const float *x, const float *r, size_t rows)
{
    __m512d minus[2] = {_mm512_setzero_pd(), _mm512_setzero_pd()}, plus[2] = {minus[0], minus[0]};
    for (size_t i = 0; i < CC_SUM_LANES * rows; i += CC_SUM_LANES) {
        next_page(x, r, i);
        __m512 v = _mm512_loadu_ps(x + i);
        if (r != NULL)
            v = _mm512_add_ps(v, _mm512_loadu_ps(r + i));
        __mmask16 m = _mm512_cmp_ps_mask(v, _mm512_setzero_ps(), _CMP_LT_OQ);
        add_wide(minus, plus, v, m);
        t->negatives += (size_t)__builtin_popcount(m);
    }
    for (size_t k = 0; k < 2; k++) {
        _mm512_storeu_pd(t->minus + 8 * k, minus[k]);
        _mm512_storeu_pd(t->plus + 8 * k, plus[k]);
    }
}
#elif defined(__AVX2__)
/* Adds four values to one of the two sums. NaN is added to both: min and max return their second
 * operand then. */
static inline void add_wide(__m256d *minus, __m256d *plus, __m128 v)
{
    __m256d wide = _mm256_cvtps_pd(v), zero = _mm256_setzero_pd();
    *minus = _mm256_add_pd(*minus, _mm256_min_pd(zero, wide));
    *plus = _mm256_add_pd(*plus, _mm256_max_pd(zero, wide));
}

static inline void classify_rows(struct lanes *t, const float *x, const float *r, size_t rows)
{
    __m256d minus[4], plus[4];
    for (size_t k = 0; k < 4; k++)
        minus[k] = plus[k] = _mm256_setzero_pd();
    for (size_t i = 0; i < CC_SUM_LANES * rows; i += CC_SUM_LANES) {
        next_page(x, r, i);
        for (size_t h = 0; h < 2; h++) {
            __m256 v = _mm256_loadu_ps(x + i + 8 * h);
            if (r != NULL)
                v = _mm256_add_ps(v, _mm256_loadu_ps(r + i + 8 * h));
            __m256 m = _mm256_cmp_ps(v, _mm256_setzero_ps(), _CMP_LT_OQ);
            add_wide(minus + 2 * h, plus + 2 * h, _mm256_castps256_ps128(v));
            add_wide(minus + 2 * h + 1, plus + 2 * h + 1, _mm256_extractf128_ps(v, 1));
            t->negatives += (size_t)__builtin_popcount((unsigned)_mm256_movemask_ps(m));
        }
    }
    for (size_t k = 0; k < 4; k++) {
        _mm256_storeu_pd(t->minus + 4 * k, minus[k]);
        _mm256_storeu_pd(t->plus + 4 * k, plus[k]);
    }
}
#elif !defined(__ARM_NEON)
static inline void classify_rows(struct lanes *t, const float *x, const float *r, size_t rows)
{
    for (size_t i = 0; i < CC_SUM_LANES * rows; i += CC_SUM_LANES)
        for (size_t l = 0; l < CC_SUM_LANES; l++)
            classify(t, l, value(x, r, i + l));
}
#endif

static inline void classes_block(const float *x, const float *r, size_t n, struct cc_classes *out)
{
    struct lanes t = {0};
    classify_rows(&t, x, r, n / CC_SUM_LANES);
    for (size_t i = n / CC_SUM_LANES * CC_SUM_LANES, l = 0; i + l < n; l++)
        classify(&t, l, value(x, r, i + l));
    double minus = 0, plus = 0;
    for (size_t l = 0; l < CC_SUM_LANES; l++) {
        minus += t.minus[l];
        plus += t.plus[l];
    }
    out->minus += minus;
    out->plus += plus;
    out->negatives += t.negatives;
}

static void classes(const float *x, const float *r, size_t n, struct cc_classes *out)
{
    *out = (struct cc_classes){0};
    for (size_t i = 0; i < n; i += CC_SUM_BLOCK) {
        size_t m = n - i < CC_SUM_BLOCK ? n - i : CC_SUM_BLOCK;
        if (r == NULL)
            classes_block(x + i, NULL, m, out);
        else
            classes_block(x + i, r + i, m, out);
    }
}

static inline double magnitude_block(const float *x, const float *r, size_t n)
{
    double lane[CC_SUM_LANES] = {0};
    size_t i = 0;
    for (; i + CC_SUM_LANES <= n; i += CC_SUM_LANES) {
        next_page(x, r, i);
        for (size_t l = 0; l < CC_SUM_LANES; l++)
            lane[l] += (double)__builtin_fabsf(value(x, r, i + l));
    }
    for (size_t l = 0; i + l < n; l++)
        lane[l] += (double)__builtin_fabsf(value(x, r, i + l));
    double total = 0;
    for (size_t l = 0; l < CC_SUM_LANES; l++)
        total += lane[l];
    return total;
}

static double magnitude(const float *x, const float *r, size_t n)
{
    double total = 0;
    for (size_t i = 0; i < n; i += CC_SUM_BLOCK) {
        size_t m = n - i < CC_SUM_BLOCK ? n - i : CC_SUM_BLOCK;
        total += r == NULL ? magnitude_block(x + i, NULL, m) : magnitude_block(x + i, r + i, m);
    }
    return total;
}

/* --- bits --- */

/* The byte of up to 8 values. */
static inline void pack_byte(const float *x, float *r, float minus, float plus, size_t n,
                             uint8_t *bits)
{
    unsigned byte = 0;
    for (size_t i = 0; i < n; i++) {
        float v = value(x, r, i);
        unsigned bit = v >= 0;
        byte |= bit << i;
        if (r != NULL)
            r[i] = v - (bit ? plus : minus);
    }
    *bits = (uint8_t)byte;
}

#if defined(__AVX512F__)
#define STEP 16
static inline void pack_step(const float *x, float *r, float minus, float plus, uint8_t *bits)
{
    __m512 v = _mm512_loadu_ps(x);
    if (r != NULL)
        v = _mm512_add_ps(v, _mm512_loadu_ps(r));
    __mmask16 m = _mm512_cmp_ps_mask(v, _mm512_setzero_ps(), _CMP_GE_OQ);
    cc_put_u16(bits, m);
    if (r != NULL)
        _mm512_storeu_ps(r, _mm512_sub_ps(v, _mm512_mask_blend_ps(m, _mm512_set1_ps(minus),
                                                                  _mm512_set1_ps(plus))));
}

static inline void unpack_step(const uint8_t *bits, float minus, float plus, float *y, int add)
{
    __m512 v = _mm512_mask_blend_ps(cc_get_u16(bits), _mm512_set1_ps(minus), _mm512_set1_ps(plus));
    _mm512_storeu_ps(y, add ? _mm512_add_ps(_mm512_loadu_ps(y), v) : v);
}
#elif defined(__AVX2__)
#define STEP 8
static inline void pack_step(const float *x, float *r, float minus, float plus, uint8_t *bits)
{
    __m256 v = _mm256_loadu_ps(x);
    if (r != NULL)
        v = _mm256_add_ps(v, _mm256_loadu_ps(r));
    __m256 m = _mm256_cmp_ps(v, _mm256_setzero_ps(), _CMP_GE_OQ);
    *bits = (uint8_t)_mm256_movemask_ps(m);
    if (r != NULL)
        _mm256_storeu_ps(
            r, _mm256_sub_ps(v, _mm256_blendv_ps(_mm256_set1_ps(minus), _mm256_set1_ps(plus), m)));
}

static inline void unpack_step(const uint8_t *bits, float minus, float plus, float *y, int add)
{
    const __m256i select = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    __m256i b = _mm256_and_si256(_mm256_set1_epi32(*bits), select);
    __m256 m = _mm256_castsi256_ps(_mm256_cmpeq_epi32(b, select));
    __m256 v = _mm256_blendv_ps(_mm256_set1_ps(minus), _mm256_set1_ps(plus), m);
    _mm256_storeu_ps(y, add ? _mm256_add_ps(_mm256_loadu_ps(y), v) : v);
}
#elif !defined(__ARM_NEON)
#define STEP 8
static inline void pack_step(const float *x, float *r, float minus, float plus, uint8_t *bits)
{
    pack_byte(x, r, minus, plus, 8, bits);
}

static inline void unpack_step(const uint8_t *bits, float minus, float plus, float *y, int add)
{
    const float of[] = {minus, plus};
    for (unsigned i = 0; i < 8; i++) {
        float v = of[*bits >> i & 1];
        y[i] = add ? y[i] + v : v;
    }
}
#endif

static inline void pack_all(const float *restrict x, float *restrict r, float minus, float plus,
                            size_t n, uint8_t *restrict bits)
{
    size_t i = 0;
    for (; i + STEP <= n; i += STEP) {
        next_page(x, r, i);
        pack_step(x + i, r == NULL ? NULL : r + i, minus, plus, bits + i / 8);
    }
    for (; i < n; i += 8)
        pack_byte(x + i, r == NULL ? NULL : r + i, minus, plus, n - i < 8 ? n - i : 8,
                  bits + i / 8);
}

static void pack(const float *x, float *r, float minus, float plus, size_t n, uint8_t *bits)
{
    if (r == NULL)
        pack_all(x, NULL, minus, plus, n, bits);
    else
        pack_all(x, r, minus, plus, n, bits);
}

static inline void unpack_all(const uint8_t *restrict bits, float minus, float plus,
                              float *restrict y, size_t n, int add_to)
{
    size_t i = 0;
    for (; i + STEP <= n; i += STEP) {
        if (add_to)
            next_page(y, NULL, i);
        unpack_step(bits + i / 8, minus, plus, y + i, add_to);
    }
    for (; i < n; i++) {
        float v = bits[i / 8] >> i % 8 & 1 ? plus : minus;
        y[i] = add_to ? y[i] + v : v;
    }
}

static void unpack(const uint8_t *bits, float minus, float plus, float *y, size_t n)
{
    unpack_all(bits, minus, plus, y, n, 0);
}

static void add(const uint8_t *bits, float minus, float plus, float *y, size_t n)
{
    unpack_all(bits, minus, plus, y, n, 1);
}

const struct k_onebit CC_K(k_onebit) = {
    .classes = classes,
    .magnitude = magnitude,
    .pack = pack,
    .unpack = unpack,
    .add = add,
};
