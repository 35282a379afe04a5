#include "schemes/kernels/qsgd.h"

#include "core/bytes.h"

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
#define LANES 16

static inline __m512i lanes_random(__m512i x, __m512i b)
{
    x = _mm512_xor_si512(x, _mm512_srli_epi32(x, 16));
    x = _mm512_mullo_epi32(x, _mm512_set1_epi32(0x21f0aaad));
    x = _mm512_ternarylogic_epi32(x, _mm512_srli_epi32(x, 15), b, 0x96); /* xor of the three */
    x = _mm512_mullo_epi32(x, _mm512_set1_epi32((int)0xd35a2d97));
    return _mm512_xor_si512(x, _mm512_srli_epi32(x, 15));
}

/* What the plain loop of quantize does, for a multiple of 16 values. */
static size_t quantize_lanes(const float *x, float norm, int s, struct cc_key key, uint32_t first,
                             int16_t *levels, size_t n)
{
    const __m512 norms = _mm512_set1_ps(norm), steps = _mm512_set1_ps((float)s);
    const __m512i b = _mm512_set1_epi32((int)key.b), one = _mm512_set1_epi32(1);
    __m512i index =
        _mm512_add_epi32(_mm512_set1_epi32((int)(first + key.a)),
                         _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
    size_t count = 0;
    for (size_t i = 0; i < n; i += LANES) {
        __m512 v = _mm512_loadu_ps(x + i);
        __m512 a = _mm512_mul_ps(_mm512_div_ps(_mm512_abs_ps(v), norms), steps);
        __m512i level = _mm512_cvttps_epi32(a);
        __m512 rest = _mm512_sub_ps(a, _mm512_cvtepi32_ps(level));
        __m512 draw = _mm512_cvtepi32_ps(_mm512_srli_epi32(lanes_random(index, b), 8));
        /* both sides times 2^24 */
        __mmask16 up =
            _mm512_cmp_ps_mask(draw, _mm512_mul_ps(rest, _mm512_set1_ps(0x1p24f)), _CMP_LT_OQ);
        level = _mm512_mask_add_epi32(level, up, level, one);
        count += (size_t)__builtin_popcount(_mm512_test_epi32_mask(level, level));
        __mmask16 minus = _mm512_movepi32_mask(_mm512_castps_si512(v)); /* -0 has level 0 */
        level = _mm512_mask_sub_epi32(level, minus, _mm512_setzero_si512(), level);
        _mm256_storeu_si256((__m256i *)(levels + i), _mm512_cvtepi32_epi16(level));
        index = _mm512_add_epi32(index, _mm512_set1_epi32(LANES));
    }
    return count;
}
#endif

/* As |x| <= norm, no level exceeds s. */
static size_t quantize(const float *restrict x, float norm, int s, struct cc_key key,
                       uint32_t first, int16_t *restrict levels, size_t n)
{
    const float steps = (float)s;
    size_t done = 0;
    uint32_t count = 0;
#ifdef LANES
    done = n / LANES * LANES;
    count = (uint32_t)quantize_lanes(x, norm, s, key, first, levels, done);
#endif
    uint32_t index = first + (uint32_t)done; /* 32 bits as the values have: one vector of indices */
    for (size_t i = done; i < n; i++, index++) {
        float quotient = cc_bits_f32(cc_f32_bits(x[i]) & 0x7fffffffu) / norm;
        float a = quotient * steps;
        int32_t level = (int32_t)a;
        level += cc_unit(cc_random(key, index)) < a - (float)level;
        count += level != 0;
        levels[i] = (int16_t)(x[i] < 0 ? -level : level);
    }
    return count;
}

/* Two, or four, levels at a time, as one number. */
static void pack2(const int16_t *restrict levels, uint8_t *restrict out, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        uint64_t v = cc_get_u64(levels + 4 * i);
        out[i] = (uint8_t)((v & 3) | (v >> 14 & 0x0c) | (v >> 28 & 0x30) | (v >> 42 & 0xc0));
    }
}

static void pack4(const int16_t *restrict levels, uint8_t *restrict out, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        uint32_t v = cc_get_u32(levels + 2 * i);
        out[i] = (uint8_t)((v & 15) | (v >> 12 & 0xf0));
    }
}

static void pack8(const int16_t *restrict levels, uint8_t *restrict out, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        out[i] = (uint8_t)levels[i];
}

static void pack_any(const int16_t *levels, unsigned width, uint8_t *out, size_t n)
{
    const uint32_t mask = (1u << width) - 1;
    uint64_t buffer = 0;
    unsigned used = 0;
    for (size_t i = 0; i < n; i++) {
        buffer |= (uint64_t)((uint32_t)levels[i] & mask) << used;
        used += width;
        if (used >= 32) {
            cc_put_u32(out, (uint32_t)buffer);
            out += 4;
            buffer >>= 32;
            used -= 32;
        }
    }
    for (; used > 0; used = used > 8 ? used - 8 : 0) {
        *out++ = (uint8_t)buffer;
        buffer >>= 8;
    }
}

static void pack(const int16_t *levels, unsigned width, uint8_t *out, size_t n)
{
    size_t done = 0;
    if (width == 2) {
        done = n / 4 * 4;
        pack2(levels, out, done / 4);
    } else if (width == 4) {
        done = n / 2 * 2;
        pack4(levels, out, done / 2);
    } else if (width == 8) {
        done = n;
        pack8(levels, out, n);
    }
    pack_any(levels + done, width, out + done * width / 8, n - done);
}

static void unpack2(const uint8_t *restrict in, int16_t *restrict levels, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        uint64_t b = in[i];
        uint64_t v = (b & 3) | (b & 0x0c) << 14 | (b & 0x30) << 28 | (b & 0xc0) << 42;
        /* extends the sign of four codes at once: none of the subtractions borrows */
        uint64_t sign = v >> 1 & UINT64_C(0x0001000100010001);
        cc_put_u64(levels + 4 * i, v | ((sign << 14) - sign) << 2);
    }
}

static void unpack4(const uint8_t *restrict in, int16_t *restrict levels, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        int32_t low = (int8_t)(uint8_t)(in[i] << 4) >> 4, high = (int8_t)in[i] >> 4;
        cc_put_u32(levels + 2 * i, ((uint32_t)low & 0xffffu) | (uint32_t)high << 16);
    }
}

static void unpack8(const uint8_t *restrict in, int16_t *restrict levels, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        levels[i] = (int8_t)in[i];
}

static void unpack_any(const uint8_t *in, unsigned width, int16_t *levels, size_t n)
{
    const uint8_t *end = in + (n * width + 7) / 8;
    const uint32_t sign = 1u << (width - 1), mask = 2 * sign - 1;
    uint64_t buffer = 0;
    unsigned have = 0;
    for (size_t i = 0; i < n; i++) {
        if (have < width && end - in >= 4) {
            buffer |= (uint64_t)cc_get_u32(in) << have;
            in += 4;
            have += 32;
        }
        for (; have < width; have += 8)
            buffer |= (uint64_t)*in++ << have;
        uint32_t code = (uint32_t)buffer & mask;
        levels[i] = (int16_t)((code ^ sign) - sign);
        buffer >>= width;
        have -= width;
    }
}

static void unpack(const uint8_t *in, unsigned width, int16_t *levels, size_t n)
{
    size_t done = 0;
    if (width == 2) {
        done = n / 4 * 4;
        unpack2(in, levels, done / 4);
    } else if (width == 4) {
        done = n / 2 * 2;
        unpack4(in, levels, done / 2);
    } else if (width == 8) {
        done = n;
        unpack8(in, levels, n);
    }
    unpack_any(in + done * width / 8, width, levels + done, n - done);
}

static int load(const int16_t *restrict levels, float norm, int s, float *restrict y, size_t n)
{
    const float steps = (float)s;
    int bad = 0;
    for (size_t i = 0; i < n; i++) {
        int level = levels[i];
        bad |= level > s || level < -s;
        y[i] = norm * ((float)level / steps);
    }
    return bad;
}

static int add(const int16_t *restrict levels, float norm, int s, float scale, float *restrict y,
               size_t n)
{
    const float steps = (float)s;
    int bad = 0;
    for (size_t i = 0; i < n; i++) {
        int level = levels[i];
        bad |= level > s || level < -s;
        float decoded = norm * ((float)level / steps);
        float product = scale * decoded;
        y[i] += product;
    }
    return bad;
}

const struct k_qsgd CC_K(k_qsgd) = {
    .quantize = quantize,
    .pack = pack,
    .unpack = unpack,
    .load = load,
    .add = add,
};
