/* Encoding of QSGD (Alistarh et al., NIPS 2017, section 3.1; buckets and the max norm: section 4).
 *
 * A bucket's norm N is its largest magnitude or its 2-norm. A value x becomes the level
 * l = floor(a) or floor(a) + 1, a = |x| / N * s, where the random number decides so that the
 * expectation is a; the sign is that of x. Levels are written as two's complement codes of `width`
 * bits, least significant bit first; each bucket begins on a byte.
 *
 * `quantize` and `pack` follow this definition, with a division per value. Where levels fit a byte
 * (s up to 127) codes_fast does both at once with a multiplication: in fixed point with 24
 * fractional bits (AVX-512: 16), a random rounding is the addition of a random fraction, and the
 * level is the top byte of the sum. The product may differ from the definition in the last places.
 * Values whose sum lies so near to a whole level that this could change theirs are encoded again by
 * the definition, with those around them: 512 in one of 300 with s = 7. Every instruction set gives
 * the same bytes.
 *
 * Norms of several short buckets are found before their codes, so that finding one is not waited
 * for. */
#include "schemes/kernels/qsgd.h"

#include "core/bytes.h"
#include "core/reduce.h"
#include "schemes/kernels/lanes.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

/* Values worked on at a time: they stay in the cache, and their codes are whole bytes. */
#define BLOCK 2048

/* --- norms --- */

static inline uint32_t absmax(const float *x, size_t n)
{
    uint32_t most = 0;
    size_t i = 0;
#ifdef CC_LANES
    /* Four maxima, so that no operation waits for the one before. */
    __m512i m[4] = {_mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512(),
                    _mm512_setzero_si512()};
    const __m512i magnitude = _mm512_set1_epi32(INT32_MAX);
    for (; i + 64 <= n; i += 64)
        for (size_t k = 0; k < 4; k++)
            m[k] = _mm512_max_epu32(
                m[k], _mm512_and_si512(magnitude, _mm512_loadu_si512(x + i + CC_LANES * k)));
    m[0] = _mm512_max_epu32(_mm512_max_epu32(m[0], m[1]), _mm512_max_epu32(m[2], m[3]));
    most = _mm512_reduce_max_epu32(m[0]);
#endif
    for (; i < n; i++) {
        uint32_t bits = cc_f32_bits(x[i]) & 0x7fffffffu;
        most = bits > most ? bits : most;
    }
    return most;
}

static inline bool norm_of(const struct cc_qsgd_form *f, const float *x, size_t n, float *norm)
{
    if (!f->l2) {
        uint32_t bits = absmax(x, n);
        *norm = cc_bits_f32(bits);
        return cc_finite_bits(bits);
    }
    double sum = CC_K(k_reduce).sum_sq(x, n);
    *norm = cc_qsgd_two_norm(sum);
    return isfinite(sum);
}

/* --- levels --- */

#ifdef CC_LANES
/* The levels of 16 values: the same as in the scalar loop of `quantize`. */
static inline __m512i levels_exactly(__m512 v, __m512 norms, __m512 steps, __m512i index, __m512i b)
{
    /* min returns its second operand for NaN */
    __m512 a = _mm512_min_ps(_mm512_mul_ps(_mm512_div_ps(_mm512_abs_ps(v), norms), steps), steps);
    __m512i level = _mm512_cvttps_epi32(a);
    __m512 fraction = _mm512_sub_ps(a, _mm512_cvtepi32_ps(level));
    __m512 draw = _mm512_cvtepi32_ps(_mm512_srli_epi32(cc_lanes_random(index, b), 8));
    /* both sides times 2^24 */
    __mmask16 up =
        _mm512_cmp_ps_mask(draw, _mm512_mul_ps(fraction, _mm512_set1_ps(0x1p24f)), _CMP_LT_OQ);
    level = _mm512_mask_add_epi32(level, up, level, _mm512_set1_epi32(1));
    __mmask16 minus = _mm512_movepi32_mask(_mm512_castps_si512(v)); /* -0 has level 0 */
    return _mm512_mask_sub_epi32(level, minus, _mm512_setzero_si512(), level);
}

/* The same as the scalar loop of `quantize`, for a multiple of 16 values. */
static size_t quantize_lanes(const float *x, float norm, int s, struct cc_key key, uint32_t first,
                             int16_t *levels, size_t n)
{
    const __m512 norms = _mm512_set1_ps(norm), steps = _mm512_set1_ps((float)s);
    const __m512i b = _mm512_set1_epi32((int)key.b);
    size_t count = 0;
    for (size_t i = 0; i < n; i += CC_LANES) {
        __m512i index = cc_lanes_index(key, first + (uint32_t)i);
        __m512i level = levels_exactly(_mm512_loadu_ps(x + i), norms, steps, index, b);
        count += (size_t)__builtin_popcount(_mm512_test_epi32_mask(level, level));
        _mm256_storeu_si256((__m256i *)(levels + i), _mm512_cvtepi32_epi16(level));
    }
    return count;
}
#endif

/* As |x| <= norm, no level exceeds s; nor for values that have changed since the norm was found. */
static size_t quantize(const float *restrict x, float norm, int s, struct cc_key key,
                       uint32_t first, int16_t *restrict levels, size_t n)
{
    const float steps = (float)s;
    size_t done = 0;
    uint32_t count = 0;
#ifdef CC_LANES
    done = n / CC_LANES * CC_LANES;
    count = (uint32_t)quantize_lanes(x, norm, s, key, first, levels, done);
#endif
    uint32_t index = first + (uint32_t)done; /* as wide as the values, for vectors */
    for (size_t i = done; i < n; i++, index++) {
        float quotient = cc_bits_f32(cc_f32_bits(x[i]) & 0x7fffffffu) / norm;
        float a = quotient * steps;
        a = a < steps ? a : steps;
        int32_t level = (int32_t)a;
        level += cc_unit(cc_random(key, index)) < a - (float)level;
        count += level != 0;
        levels[i] = (int16_t)(x[i] < 0 ? -level : level);
    }
    return count;
}

/* --- codes --- */

/* Packs the lower `width` bits of four levels. */
static inline uint64_t squeeze(const int16_t *levels, unsigned width)
{
    const uint64_t mask = (1u << width) - 1;
    uint64_t v = cc_get_u64(levels), low = v & mask, high = v >> 32 & mask;
    return low | (v >> 16 & mask) << width | (high | (v >> 48 & mask) << width) << 2 * width;
}

/* Packs levels; eight of them are `width` bytes. Bits beyond those of level n - 1 are 0. */
static void pack(const int16_t *levels, unsigned width, uint8_t *out, size_t n)
{
    for (size_t i = 0; i < n; i += 8, out += width) {
        int16_t last[8] = {0};
        const int16_t *from = levels + i;
        if (n - i < 8) {
            memcpy(last, from, (n - i) * sizeof *last);
            from = last;
        }
        uint64_t low = squeeze(from, width), high = squeeze(from + 4, width);
        unsigned used = 4 * width;
        cc_put_u64(out, width == 16 ? low : low | high << used);
        cc_put_u64(out + 8, width == 16 ? high : high >> (64 - used));
    }
}

/* Distance of software prefetching in values, into the second-level cache: the hardware looks no
 * further than a page of 4 KiB. On a Zen 5 with 25 M values: 18 GB/s with 1 or 2 KiB, 22 with 4
 * KiB, 23 to 24 with 8 to 32 KiB, and 26 with 16 KiB and the first-level cache left alone. Values
 * that are in the cache are encoded a sixth faster without it (Zen 4). */
#define AHEAD 4096

/* In longer buckets the same place of the next bucket is prefetched, as finding its norm is faster
 * than memory; up to this length, so that it is still in that cache then. */
#define AHEAD_MOST 32768

static inline size_t ahead_of(const struct cc_qsgd_form *f, bool far)
{
    if (!far)
        return 0;
    return f->bucket > AHEAD && f->bucket <= AHEAD_MOST ? f->bucket : AHEAD;
}

#ifdef CC_LANES
#define FAST
#include "schemes/kernels/qsgd_put_avx512.h"
#else

/* How the codes of a call are made. */
struct writer {
    const struct cc_qsgd_form *form;
    struct cc_key key;
    size_t ahead; /* distance of prefetching in values; 0: none */
};

static struct writer writer_of(const struct cc_qsgd_form *f, struct cc_key key, size_t ahead)
{
    return (struct writer){f, key, ahead};
}
#endif

/* Encodes by the definition. */
static void codes_exactly(const struct writer *w, const float *x, float norm, uint32_t first,
                          uint8_t *out, size_t n)
{
    const struct cc_qsgd_form *f = w->form;
    int16_t levels[BLOCK];
    for (size_t i = 0; i < n; i += BLOCK) {
        size_t m = n - i < BLOCK ? n - i : BLOCK;
        (void)quantize(x + i, norm, f->s, w->key, first + (uint32_t)i, levels, m);
        pack(levels, f->width, out + i / 8 * f->width, m);
    }
}

#if defined(__ARM_NEON)
#define FAST
#include "schemes/kernels/qsgd_put_neon.h"
#elif defined(__AVX2__) && !defined(CC_LANES)
#define FAST
/* Writes 16 levels, a byte each, as codes: 2 * width bytes and up to 8 more. */
static inline void put_codes(const uint8_t *levels, unsigned width, uint8_t *out)
{
    const uint64_t mask = ((UINT64_C(1) << width) - 1) * UINT64_C(0x0101010101010101);
    cc_put_u64(out, _pext_u64(cc_get_u64(levels), mask));
    cc_put_u64(out + width, _pext_u64(cc_get_u64(levels + 8), mask));
}
#endif

#if defined(FAST) && !defined(CC_LANES)
/* Levels up to 127. In units of 2^-24 a level is, by the definition,
 * floor((ceil(a) + 2^24 - 1 - draw) / 2^24), with a = x / norm * s rounded twice and draw < 2^24.
 * Here a is x * (s / norm), also rounded twice. Both are within two units in the last place of the
 * real number, so within 4 s of each other; truncating instead of rounding up adds another 1. A sum
 * that is nearer than `margin` to a multiple of 2^24 is a doubt, and the values are encoded again
 * by the definition.
 *
 * A value that has changed since the norm was found may have any a: it is limited to `most`, which
 * lies above every a of a value within the norm, and so near to s that a level of s + 1 is a
 * doubt. The sums below round it by s at most. */
static inline uint32_t margin(int s)
{
    return 4 * (uint32_t)s + 8;
}

/* The largest a. */
static inline float most(int s)
{
    return (float)s * 0x1p24f + (float)(margin(s) - (uint32_t)s);
}

/* Levels, a byte each; true if there was a doubt. */
static inline bool levels_fast(const float *restrict x, int s, float norm, struct cc_key key,
                               uint32_t first, uint8_t *restrict levels, size_t n)
{
    const float factor = (float)s * 0x1p24f / norm;
    const float limit = most(s);
    const uint32_t more = margin(s);
    uint32_t doubt = 0, index = first;
    for (size_t i = 0; i < n; i++, index++) {
        uint32_t bits = cc_f32_bits(x[i]);
        float product = cc_bits_f32(bits & 0x7fffffffu) * factor;
        uint32_t a = (uint32_t)(int32_t)(product < limit ? product : limit);
        uint32_t sum = a + more + (~cc_random(key, index) >> 8);
        uint32_t minus = (uint32_t)((int32_t)bits >> 31);
        doubt |= sum ^ (sum - 2 * more);
        levels[i] = (uint8_t)((sum >> 24 ^ minus) - minus);
    }
    return doubt >> 24 != 0;
}

static inline void codes_fast(const struct writer *w, const float *x, float norm, uint32_t first,
                              uint8_t *out, size_t n)
{
    enum { SOME = 512 };
    const unsigned width = w->form->width;
    uint8_t levels[SOME + 16];
    for (size_t i = 0; i < n; i += SOME, out += SOME / 8 * width) {
        size_t m = n - i < SOME ? n - i : SOME;
        if (levels_fast(x + i, w->form->s, norm, w->key, first + (uint32_t)i, levels, m)) {
            codes_exactly(w, x + i, norm, first + (uint32_t)i, out, m);
            continue;
        }
        memset(levels + m, 0, 16);
        for (size_t k = 0; k < m; k += 16) {
            put_codes(levels + k, width, out + k / 8 * width);
            if (w->ahead > 0)
                __builtin_prefetch(x + i + k + w->ahead, 0, 2);
        }
    }
}
#endif

/* Encodes a bucket or a part of it. The fast way needs levels that fit a byte, and s / norm neither
 * subnormal nor near the largest float. */
static inline void put_codes_of(const struct writer *w, const float *x, float norm, uint32_t first,
                                uint8_t *out, size_t n)
{
    if (norm == 0) {
        memset(out, 0, cc_qsgd_code_bytes(w->form, n));
        return;
    }
#ifdef FAST
    if (w->form->s <= 127 && norm >= 0x1p-90f) {
        codes_fast(w, x, norm, first, out, n);
        return;
    }
#endif
    codes_exactly(w, x, norm, first, out, n);
}

static void codes(const struct cc_qsgd_form *f, const float *x, float norm, struct cc_key key,
                  uint32_t first, bool far, uint8_t *out, size_t n)
{
    const struct writer w = writer_of(f, key, ahead_of(f, far));
    put_codes_of(&w, x, norm, first, out, n);
}

/* Norms of this many short buckets are found before their codes: the latency of one is hidden by
 * the others. Together they stay in the first-level cache. */
#define NORMS 32

static uint8_t *buckets(const struct cc_qsgd_form *f, const float *x, struct cc_key key,
                        uint32_t first, bool far, uint8_t *out, size_t n)
{
    const struct writer w = writer_of(f, key, ahead_of(f, far));
    const size_t some = BLOCK / f->bucket, most = some < 1 ? 1 : some < NORMS ? some : NORMS;
    for (size_t i = 0; i < n;) {
        float norms[NORMS];
        size_t end = n - i < most * f->bucket ? n : i + most * f->bucket;
        for (size_t k = 0, j = i; j < end; k++, j += f->bucket)
            if (!norm_of(f, x + j, end - j < f->bucket ? end - j : f->bucket, &norms[k]))
                return NULL;
        for (size_t k = 0; i < end; k++, i += f->bucket) {
            size_t m = end - i < f->bucket ? end - i : f->bucket;
            cc_put_f32(out, norms[k]);
            out += sizeof norms[k];
            put_codes_of(&w, x + i, norms[k], first + (uint32_t)i, out, m);
            out += cc_qsgd_code_bytes(f, m);
        }
    }
    return out;
}

const struct k_qsgd_put CC_K(k_qsgd_put) = {
    .norm = norm_of,
    .quantize = quantize,
    .pack = pack,
    .codes = codes,
    .buckets = buckets,
};
