/* Natural compression (Horvath et al. 2019, section 2): |x| is rounded at random to one of the two
 * powers of two around it, so that the expectation is |x|; a payload has a sign bit and the biased
 * exponent of a value, nothing else.
 *
 * The binary32 bits of |x| are exponent * 2^23 + fraction, and the fraction over 2^23 is just the
 * probability of rounding up. So with a random number of 23 bits, adding 2^23 - 1 - random to the
 * bits carries into the exponent if and only if random < fraction: one addition and a shift are the
 * whole rounding, subnormal numbers and zero included. An exponent of 255 would be infinity and
 * becomes 254.
 *
 * With AVX-512 VBMI the exponents of 64 values are collected by byte permutations. Decoding shifts
 * exponents back into place and sets signs; an exponent of 0 is zero whatever its sign bit. */
#include "schemes/kernels/natural.h"

#include "core/bytes.h"
#include "schemes/kernels/lanes.h"
#include "schemes/kernels/neon.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

/* Values per block: a block that one loop has read is in the cache for the next. */
#define BLOCK 1024

/* Distance of software prefetching in values, as the hardware's own stops at the end of a page. */
#define AHEAD 4096

#if !defined(CC_LANES)
#define STREAMS false
/* Writes the bits x < 0 of n values. */
static void encode_signs(const float *restrict x, uint8_t *restrict signs, size_t n)
{
    size_t i = 0;
#if defined(__AVX2__)
    for (; i + 8 <= n; i += 8) {
        __m256 less = _mm256_cmp_ps(_mm256_loadu_ps(x + i), _mm256_setzero_ps(), _CMP_LT_OQ);
        signs[i / 8] = (uint8_t)_mm256_movemask_ps(less);
    }
#elif defined(__ARM_NEON)
    for (; i + 16 <= n; i += 16) {
        uint32x4_t less[4];
        for (size_t k = 0; k < 4; k++)
            less[k] = vcltzq_f32(vld1q_f32(x + i + 4 * k));
        cc_put_u16(signs + i / 8,
                   cc_neon_bits16(cc_neon_low_bytes(less[0], less[1], less[2], less[3])));
    }
#endif
    for (; i < n; i += 8) {
        unsigned byte = 0;
        for (size_t j = 0; j < 8 && i + j < n; j++)
            byte |= (unsigned)(x[i + j] < 0) << j;
        signs[i / 8] = (uint8_t)byte;
    }
}

static uint32_t encode_exponents(const float *restrict x, struct cc_key key, uint32_t first,
                                 uint8_t *restrict exponents, size_t n)
{
    uint32_t most = 0, index = first; /* as wide as the values, for vectors */
    for (size_t i = 0; i < n; i++, index++) {
        uint32_t mag = cc_f32_bits(x[i]) & 0x7fffffffu;
        uint32_t draw = cc_random(key, index) >> 9;
        /* carries into the exponent if, and only if, draw < fraction */
        uint32_t e = (mag + 0x7fffffu - draw) >> 23;
        exponents[i] = (uint8_t)(e < 254 ? e : 254);
        most = mag > most ? mag : most;
    }
    return most;
}

static uint32_t encode(const float *x, struct cc_key key, uint32_t first, uint8_t *signs,
                       uint8_t *exponents, size_t n, bool nontemporal)
{
    uint32_t most = 0;
    (void)nontemporal;
    for (size_t i = 0; i < n; i += BLOCK) {
        size_t m = n - i < BLOCK ? n - i : BLOCK;
        for (size_t k = 0; k < m; k += 16)
            __builtin_prefetch(x + i + k + AHEAD, 0, 2);
        uint32_t mag = encode_exponents(x + i, key, first + (uint32_t)i, exponents + i, m);
        most = mag > most ? mag : most;
        encode_signs(x + i, signs + i / 8, m);
    }
    return most;
}

#else

#define STREAMS true

struct sixtyfour {
    __m512i index, b, most;
};

/* Encodes 64 values in four vectors: returns the exponents, and sets a bit for each x < 0. */
static inline __m512i encode_64(struct sixtyfour *s, const __m512 v[4], uint64_t *signs)
{
    __m512i t[4];
    *signs = 0;
    for (unsigned k = 0; k < 4; k++) {
        /* The exponent is in byte 3, and the fraction, twice as large as it is, carries into it. */
        __m512i bits = _mm512_castps_si512(v[k]), twice = _mm512_add_epi32(bits, bits);
        __m512i draw = _mm512_srli_epi32(cc_lanes_random_not(s->index, s->b), 8);
        t[k] = _mm512_add_epi32(twice, draw);
        s->most = _mm512_max_epu32(s->most, twice);
        s->index = _mm512_add_epi32(s->index, _mm512_set1_epi32(CC_LANES));
        uint64_t less = _mm512_cmp_ps_mask(v[k], _mm512_setzero_ps(), _CMP_LT_OQ);
        *signs |= less << CC_LANES * k;
    }
    return _mm512_min_epu8(cc_lanes_tops(t), _mm512_set1_epi8((char)254));
}

static uint32_t encode(const float *x, struct cc_key key, uint32_t first, uint8_t *signs,
                       uint8_t *exponents, size_t n, bool nontemporal)
{
    struct sixtyfour s = {.index = cc_lanes_index(key, first),
                          .b = _mm512_set1_epi32((int)key.b),
                          .most = _mm512_setzero_si512()};
    uint64_t less;
    size_t i = 0;
    for (; i + 64 <= n; i += 64) {
        __m512 v[4];
        for (size_t k = 0; k < 4; k++) {
            v[k] = _mm512_loadu_ps(x + i + CC_LANES * k);
            __builtin_prefetch(x + i + CC_LANES * k + AHEAD, 0, 2);
        }
        const __m512i e = encode_64(&s, v, &less);
        if (nontemporal)
            _mm512_stream_si512((void *)(exponents + i), e);
        else
            _mm512_storeu_si512(exponents + i, e);
        cc_put_u64(signs + i / 8, less);
    }
    if (i < n) {
        __mmask64 some = ~UINT64_C(0) >> (64 - (n - i));
        __m512 v[4];
        for (size_t k = 0; k < 4; k++)
            v[k] = _mm512_maskz_loadu_ps((__mmask16)(some >> CC_LANES * k), x + i + CC_LANES * k);
        _mm512_mask_storeu_epi8(exponents + i, some, encode_64(&s, v, &less));
        memcpy(signs + i / 8, &less, (n - i + 7) / 8);
    }
    return _mm512_reduce_max_epu32(s.most) >> 1;
}
#endif

static inline float value(const uint8_t *signs, uint8_t exponent, size_t i)
{
    uint32_t sign = (uint32_t)(signs[i / 8] >> i % 8 & 1) << 31;
    return cc_bits_f32(exponent == 0 ? 0 : sign | (uint32_t)exponent << 23);
}

#if defined(__AVX512F__)
#define LANES 16
typedef __m512 lanes;
#define lanes_load(p)      _mm512_loadu_ps(p)
#define lanes_store(p, v)  _mm512_storeu_ps(p, v)
#define lanes_stream(p, v) _mm512_stream_ps(p, v)
#define lanes_set(v)       _mm512_set1_ps(v)
#define lanes_mul(a, b)    _mm512_mul_ps(a, b)
#define lanes_add(a, b)    _mm512_add_ps(a, b)

static inline __m512 lanes_value(const uint8_t *signs, const uint8_t *exponents, size_t i)
{
    __m128i bytes = _mm_loadu_si128((const __m128i *)(exponents + i));
    __mmask16 minus = cc_get_u16(signs + i / 8) & _mm_test_epi8_mask(bytes, bytes);
    __m512i mag = _mm512_slli_epi32(_mm512_cvtepu8_epi32(bytes), 23);
    return _mm512_castsi512_ps(_mm512_mask_or_epi32(mag, minus, mag, _mm512_set1_epi32(INT32_MIN)));
}
#elif defined(__AVX2__)
#define LANES              8
typedef __m256 lanes;
#define lanes_load(p)      _mm256_loadu_ps(p)
#define lanes_store(p, v)  _mm256_storeu_ps(p, v)
#define lanes_stream(p, v) _mm256_stream_ps(p, v)
#define lanes_set(v)       _mm256_set1_ps(v)
#define lanes_mul(a, b)    _mm256_mul_ps(a, b)
#define lanes_add(a, b)    _mm256_add_ps(a, b)

static inline __m256 lanes_value(const uint8_t *signs, const uint8_t *exponents, size_t i)
{
    __m256i mag = _mm256_slli_epi32(
        _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(exponents + i))), 23);
    __m256i sign = _mm256_sllv_epi32(_mm256_set1_epi32(signs[i / 8]),
                                     _mm256_setr_epi32(31, 30, 29, 28, 27, 26, 25, 24));
    __m256i zero = _mm256_cmpeq_epi32(mag, _mm256_setzero_si256());
    sign = _mm256_and_si256(sign, _mm256_set1_epi32(INT32_MIN));
    return _mm256_castsi256_ps(_mm256_or_si256(mag, _mm256_andnot_si256(zero, sign)));
}
#elif defined(__ARM_NEON)
#include "schemes/kernels/natural_neon.h"
#endif

static int has_255(const uint8_t *exponents, size_t n)
{
    uint8_t found = 0;
    for (size_t i = 0; i < n; i++)
        found |= exponents[i] == 255;
    return found;
}

static int load(const uint8_t *restrict signs, const uint8_t *restrict exponents, float *restrict y,
                size_t n, bool nontemporal)
{
    int bad = 0;
    (void)nontemporal;
    for (size_t i = 0; i < n;) {
        size_t end = n - i < BLOCK ? n : i + BLOCK;
        bad |= has_255(exponents + i, end - i);
#ifdef LANES
        for (; nontemporal && i + LANES <= end; i += LANES)
            lanes_stream(y + i, lanes_value(signs, exponents, i));
        for (; i + LANES <= end; i += LANES)
            lanes_store(y + i, lanes_value(signs, exponents, i));
#endif
        for (; i < end; i++)
            y[i] = value(signs, exponents[i], i);
    }
    return bad;
}

static int add(const uint8_t *restrict signs, const uint8_t *restrict exponents, float scale,
               float *restrict y, size_t n)
{
    int bad = 0;
    for (size_t i = 0; i < n;) {
        size_t end = n - i < BLOCK ? n : i + BLOCK;
        bad |= has_255(exponents + i, end - i);
#ifdef LANES
        for (; i + LANES <= end; i += LANES) {
            lanes product = lanes_mul(lanes_set(scale), lanes_value(signs, exponents, i));
            lanes_store(y + i, lanes_add(lanes_load(y + i), product));
        }
#endif
        for (; i < end; i++) {
            float product = scale * value(signs, exponents[i], i);
            y[i] += product;
        }
    }
    return bad;
}

const struct k_natural CC_K(k_natural) = {
    .encode = encode, .streams = STREAMS, .load = load, .add = add};
