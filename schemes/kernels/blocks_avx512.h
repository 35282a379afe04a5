/* The blocks of blocks.k.c with AVX-512: sixteen values at a time, the last ones by masks. The
 * arithmetic is that of the functions for one value there; numbers of 4 bits are looked up in a
 * table of 16. No include guard: a part of blocks.k.c, which alone includes it. */
/* The lanes of the next values, of which `left` remain. */
INLINE __mmask16 lanes_of(size_t left)
{
    return (__mmask16)(left >= CC_LANES ? 0xffffu : (1u << left) - 1);
}

/* Values that are encoded together. */
#define PAIR ((size_t)2 * CC_LANES)

/* Half j of the next values, of which `left` remain, with zeros behind. */
INLINE __m512 load_half(const float *x, size_t left, size_t j)
{
    if (left >= PAIR)
        return _mm512_loadu_ps(x + j * CC_LANES);
    const size_t from = left < j * CC_LANES ? left : j * CC_LANES;
    return _mm512_maskz_loadu_ps(lanes_of(left - from), x + from);
}

INLINE __m512i all(uint32_t v)
{
    return _mm512_set1_epi32((int)v);
}

INLINE __m512i bits_of(__m512 v)
{
    return _mm512_castps_si512(v);
}

INLINE __m512 float_of(__m512i bits)
{
    return _mm512_castsi512_ps(bits);
}

INLINE __m512i magnitudes(__m512 v)
{
    return _mm512_and_epi32(bits_of(v), all(0x7fffffffu));
}

/* limited() */
INLINE __m512 limited_lanes(__m512 v, float most)
{
    const __m512i mag = _mm512_min_epu32(magnitudes(v), all(cc_f32_bits(most)));
    return float_of(_mm512_ternarylogic_epi32(mag, bits_of(v), all(0x80000000u), 0xf8));
}

/* drawn() of numbers from 0 on, or of any. */
INLINE __m512i drawn_lanes(__m512 v, __m512i draw)
{
    const __m512 down = _mm512_roundscale_ps(v, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
    const __m512 u =
        _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_srli_epi32(draw, 8)), _mm512_set1_ps(0x1p-24f));
    const __mmask16 up = _mm512_cmp_ps_mask(u, _mm512_sub_ps(v, down), _CMP_LT_OQ);
    const __m512i whole = _mm512_cvttps_epi32(down);
    return _mm512_mask_add_epi32(whole, up, whole, all(1));
}

/* The code with v's sign, by the magnitude's codes at and below the least normal number. */
INLINE __m512i signed_code(struct format f, __m512 v, __m512i normal, __m512i small)
{
    const __mmask16 below = _mm512_cmplt_epu32_mask(magnitudes(v), all((128 - f.bias) << 23));
    const __m512i code = _mm512_min_epu32(_mm512_mask_mov_epi32(normal, below, small), all(f.most));
    const __m512i sign = _mm512_srli_epi32(bits_of(v), 32 - f.bits);
    return _mm512_ternarylogic_epi32(code, sign, all(1u << (f.bits - 1)), 0xf8);
}

INLINE __m512i nearest_lanes(struct format f, __m512 v)
{
    const unsigned drop = 23 - f.mantissa;
    if (f.mantissa == 0) {
        const __m512 rounder = _mm512_set1_ps(0x1.8p23f);
        const __m512 sum = _mm512_add_ps(limited_lanes(v, (float)(int)f.most), rounder);
        return _mm512_and_epi32(bits_of(sum), all(15));
    }
    const __m512i mag = magnitudes(v);
    const __m512i even = _mm512_and_epi32(_mm512_srli_epi32(mag, drop), all(1));
    const __m512i sum = _mm512_add_epi32(_mm512_add_epi32(mag, even), all((1u << (drop - 1)) - 1));
    const __m512i normal =
        _mm512_sub_epi32(_mm512_srli_epi32(sum, drop), all((127 - f.bias) << f.mantissa));
    const __m512 magic = _mm512_set1_ps(power(quantum(f) + 23));
    const __m512i small =
        _mm512_sub_epi32(bits_of(_mm512_add_ps(float_of(mag), magic)), bits_of(magic));
    return signed_code(f, v, normal, small);
}

INLINE __m512i random_lanes(struct format f, __m512 v, __m512i draw)
{
    const unsigned drop = 23 - f.mantissa;
    if (f.mantissa == 0)
        return _mm512_and_epi32(drawn_lanes(limited_lanes(v, (float)(int)f.most), draw), all(15));
    const __m512i mag = magnitudes(v);
    const __m512i sum = _mm512_add_epi32(mag, _mm512_srli_epi32(draw, 32 - drop));
    const __m512i normal =
        _mm512_sub_epi32(_mm512_srli_epi32(sum, drop), all((127 - f.bias) << f.mantissa));
    const __m512i least = all(cc_f32_bits(power(1 - (int)f.bias)));
    const __m512 a =
        _mm512_mul_ps(float_of(_mm512_min_epu32(mag, least)), _mm512_set1_ps(power(-quantum(f))));
    return signed_code(f, v, normal, drawn_lanes(a, draw));
}

/* The numbers of all codes of 4 bits. */
INLINE __m512 table_of(struct format f)
{
    float of[CC_LANES];
    for (unsigned c = 0; c < CC_LANES; c++)
        of[c] = decoded(f, (uint8_t)c);
    return _mm512_loadu_ps(of);
}

/* The numbers of 16 codes; for 4 bits, of a table. */
INLINE __m512 decoded_lanes(struct format f, __m512i code, __m512 table)
{
    if (f.bits == 4)
        return _mm512_permutexvar_ps(code, table);
    const __m512i mag = _mm512_and_epi32(code, all(0x7f));
    const __m512i sign = _mm512_slli_epi32(code, 24);
    const __mmask16 below = _mm512_cmplt_epu32_mask(mag, all(1u << f.mantissa));
    const __m512i normal =
        _mm512_add_epi32(_mm512_slli_epi32(mag, 23 - f.mantissa), all((127 - f.bias) << 23));
    const __m512 small = _mm512_mul_ps(_mm512_cvtepi32_ps(mag), _mm512_set1_ps(power(quantum(f))));
    const __m512i number = _mm512_mask_mov_epi32(normal, below, bits_of(small));
    return float_of(_mm512_ternarylogic_epi32(number, sign, all(0x80000000u), 0xf8));
}

INLINE __mmask16 unused_lanes(struct format f, __m512i code, __mmask16 lanes)
{
    if (f.mantissa == 0)
        return _mm512_mask_cmpeq_epi32_mask(lanes, code, all(8));
    if (f.bits == 4)
        return 0;
    return _mm512_mask_cmpgt_epu32_mask(lanes, _mm512_and_epi32(code, all(0x7f)), all(f.most));
}

INLINE __m512i load_codes(const uint8_t *codes, __mmask16 lanes)
{
    return _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(lanes, codes));
}

/* Stores the codes of 2 x 16 values, of which `left` remain: by a permutation, as the instructions
 * that narrow and store take many cycles on some processors. */
INLINE void store_codes(uint8_t *codes, size_t left, const __m512i code[2])
{
    const __m512i low = _mm512_set4_epi32(0x3c383430, 0x2c282420, 0x1c181410, 0x0c080400);
    const __m512i at = _mm512_mask_blend_epi32(0xf0, low, _mm512_or_si512(low, all(0x40404040)));
    const __m256i bytes = _mm512_castsi512_si256(_mm512_permutex2var_epi8(code[0], at, code[1]));
    if (left >= PAIR)
        _mm256_storeu_si256((__m256i *)codes, bytes);
    else
        _mm256_mask_storeu_epi8(codes, (1u << left) - 1, bytes);
}

/* --- one block --- */

INLINE void nearest_block(struct format f, const float *restrict x, size_t n, float divisor,
                          uint8_t *restrict codes)
{
    const __m512 by = _mm512_set1_ps(divisor);
    for (size_t i = 0; i < n; i += PAIR) {
        __m512i code[2];
        for (size_t j = 0; j < 2; j++)
            code[j] = nearest_lanes(f, _mm512_div_ps(load_half(x + i, n - i, j), by));
        store_codes(codes + i, n - i, code);
    }
}

INLINE void random_block(struct format f, const float *restrict x, size_t n, float divisor,
                         struct cc_key key, uint32_t first, uint8_t *restrict codes)
{
    const __m512 by = _mm512_set1_ps(divisor);
    const __m512i b = all(key.b);
    for (size_t i = 0; i < n; i += PAIR) {
        __m512i code[2];
        for (size_t j = 0; j < 2; j++) {
            const __m512i index = cc_lanes_index(key, first + (uint32_t)(i + j * CC_LANES));
            const __m512 v = _mm512_div_ps(load_half(x + i, n - i, j), by);
            code[j] = random_lanes(f, v, cc_lanes_random(index, b));
        }
        store_codes(codes + i, n - i, code);
    }
}

INLINE unsigned load_block(struct format f, const uint8_t *restrict codes, size_t n, float scale,
                           float *restrict y)
{
    const __m512 by = _mm512_set1_ps(scale), table = table_of(f);
    unsigned bad = 0;
    for (size_t i = 0; i < n; i += CC_LANES) {
        const __mmask16 lanes = lanes_of(n - i);
        const __m512i code = load_codes(codes + i, lanes);
        bad |= unused_lanes(f, code, lanes);
        _mm512_mask_storeu_ps(y + i, lanes, _mm512_mul_ps(decoded_lanes(f, code, table), by));
    }
    return bad;
}

INLINE unsigned add_block(struct format f, const uint8_t *restrict codes, size_t n, float scale,
                          float factor, float *restrict y)
{
    const __m512 by = _mm512_set1_ps(scale), times = _mm512_set1_ps(factor), table = table_of(f);
    unsigned bad = 0;
    for (size_t i = 0; i < n; i += CC_LANES) {
        const __mmask16 lanes = lanes_of(n - i);
        const __m512i code = load_codes(codes + i, lanes);
        const __m512 value = _mm512_mul_ps(decoded_lanes(f, code, table), by);
        const __m512 sum =
            _mm512_add_ps(_mm512_maskz_loadu_ps(lanes, y + i), _mm512_mul_ps(times, value));
        bad |= unused_lanes(f, code, lanes);
        _mm512_mask_storeu_ps(y + i, lanes, sum);
    }
    return bad;
}

INLINE void rest_block(struct format f, const float *restrict v, const uint8_t *restrict codes,
                       size_t n, float scale, float *restrict r)
{
    const __m512 by = _mm512_set1_ps(scale), table = table_of(f);
    for (size_t i = 0; i < n; i += CC_LANES) {
        const __mmask16 lanes = lanes_of(n - i);
        const __m512 value =
            _mm512_mul_ps(decoded_lanes(f, load_codes(codes + i, lanes), table), by);
        _mm512_mask_storeu_ps(r + i, lanes,
                              _mm512_sub_ps(_mm512_maskz_loadu_ps(lanes, v + i), value));
    }
}
