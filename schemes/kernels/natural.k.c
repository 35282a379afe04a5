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
#include "schemes/kernels/vector.h"

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
#ifdef CC_VECTORS
    for (; i + 16 <= n; i += 16) {
        cc_vmask less[CC_VECTORS_16];
        for (size_t k = 0; k < CC_VECTORS_16; k++)
            less[k] = cc_vf32_load(x + i + CC_VECTOR * k) < 0;
        cc_put_u16(signs + i / 8, cc_bits_of_16(less));
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

#ifdef CC_VECTORS
/* Values i to i + 15, i a multiple of 8. */
static inline void values_16(const uint8_t *signs, const uint8_t *exponents, size_t i,
                             cc_vf32 v[CC_VECTORS_16])
{
#if defined(__AVX512F__)
    __m128i bytes = _mm_loadu_si128((const __m128i *)(exponents + i));
    __mmask16 minus = cc_get_u16(signs + i / 8) & _mm_test_epi8_mask(bytes, bytes);
    __m512i mag = _mm512_slli_epi32(_mm512_cvtepu8_epi32(bytes), 23);
    v[0] = (cc_vf32)_mm512_mask_or_epi32(mag, minus, mag, _mm512_set1_epi32(INT32_MIN));
#elif defined(__AVX2__)
    for (size_t k = 0; k < 2; k++, i += 8) {
        __m128i bytes = _mm_loadl_epi64((const __m128i *)(exponents + i));
        cc_vi32 mag = (cc_vi32)_mm256_cvtepu8_epi32(bytes) << 23;
        cc_vi32 sign = signs[i / 8] << (cc_vi32){31, 30, 29, 28, 27, 26, 25, 24} & INT32_MIN;
        v[k] = (cc_vf32)(mag | (sign & ~(mag == 0)));
    }
#else
    /* Sign and exponent make the two upper bytes of a value. */
    const uint8x16_t e = vld1q_u8(exponents + i);
    uint8x16_t sign = vcombine_u8(vdup_n_u8(signs[i / 8]), vdup_n_u8(signs[i / 8 + 1]));
    sign = vandq_u8(vtstq_u8(sign, cc_neon_bit_of_byte()), vtstq_u8(e, e));
    const uint8x16_t top = vsriq_n_u8(sign, e, 1), next = vshlq_n_u8(e, 7);
    const uint16x8_t low = vreinterpretq_u16_u8(vzip1q_u8(next, top));
    const uint16x8_t high = vreinterpretq_u16_u8(vzip2q_u8(next, top)), none = vdupq_n_u16(0);
    v[0] = vreinterpretq_f32_u16(vzip1q_u16(none, low));
    v[1] = vreinterpretq_f32_u16(vzip2q_u16(none, low));
    v[2] = vreinterpretq_f32_u16(vzip1q_u16(none, high));
    v[3] = vreinterpretq_f32_u16(vzip2q_u16(none, high));
#endif
}
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
#ifdef CC_VECTORS
        for (; i + 16 <= end; i += 16) {
            cc_vf32 v[CC_VECTORS_16];
            values_16(signs, exponents, i, v);
            cc_store_16(y + i, v, nontemporal);
        }
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
#ifdef CC_VECTORS
        for (; i + 16 <= end; i += 16) {
            cc_vf32 v[CC_VECTORS_16];
            values_16(signs, exponents, i, v);
            cc_add_16(y + i, scale, v);
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
