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

/* drawn() */
INLINE __m512i drawn_lanes(__m512 v, __m512i draw)
{
    const __m512 down = _mm512_roundscale_ps(v, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
    const __m512 u =
        _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_srli_epi32(draw, 8)), _mm512_set1_ps(0x1p-24f));
    const __mmask16 up = _mm512_cmp_ps_mask(u, _mm512_sub_ps(v, down), _CMP_LT_OQ);
    const __m512i whole = _mm512_cvttps_epi32(down);
    return _mm512_mask_add_epi32(whole, up, whole, all(1));
}

INLINE __m512i nearest_lanes(struct format f, __m512 v)
{
    const unsigned drop = 23 - f.mantissa;
    if (is_integer(f)) {
        const __m512 rounder = _mm512_set1_ps(0x1.8p23f);
        const __m512 sum = _mm512_add_ps(limited_lanes(v, (float)(int)f.most), rounder);
        return _mm512_and_epi32(bits_of(sum), all((1u << f.bits) - 1));
    }
    const __m512i mag = magnitudes(v);
    const __m512i even = _mm512_and_epi32(_mm512_srli_epi32(mag, drop), all(1));
    const __m512i half = all((1u << (drop - 1)) - 1 - ((127 - f.bias) << 23));
    const __m512i normal =
        _mm512_srli_epi32(_mm512_add_epi32(_mm512_add_epi32(mag, even), half), drop);
    const __m512 magic = _mm512_set1_ps(power(quantum(f) + 23));
    const __m512i small =
        _mm512_sub_epi32(bits_of(_mm512_add_ps(float_of(mag), magic)), bits_of(magic));
    const __mmask16 below = _mm512_cmplt_epu32_mask(mag, all((128 - f.bias) << 23));
    const __m512i code = _mm512_min_epu32(_mm512_mask_mov_epi32(normal, below, small), all(f.most));
    const __m512i sign = _mm512_srli_epi32(bits_of(v), 32 - f.bits);
    return _mm512_ternarylogic_epi32(code, sign, all(1u << (f.bits - 1)), 0xf8);
}

/* The codes of floats in the top bytes; of 4 bits not limited, and with the sign in the place of
 * that of 8 bits. A number and its fraction are in units of 2^-24: adding the upper 24 random bits,
 * which is subtracting their complement from all ones, carries where the code is the one above. So
 * does adding the complement to a number below the least normal one, rounded up, where the random
 * bits are below its fraction. */
INLINE __m512i random_float_lanes(struct format f, __m512 v, __m512i complement)
{
    const unsigned shift = 1 + f.mantissa;
    const __m512i mag = magnitudes(v), upper = _mm512_srli_epi32(complement, 8);
    const __m512i ones = all(0xffffffu - ((127 - f.bias) << (23 + shift)));
    const __m512i normal =
        _mm512_sub_epi32(_mm512_add_epi32(_mm512_slli_epi32(mag, shift), ones), upper);
    const __m512 scaled = _mm512_mul_ps(float_of(mag), _mm512_set1_ps(power(24 - quantum(f))));
    const __m512i small = _mm512_add_epi32(
        _mm512_cvt_roundps_epi32(scaled, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC), upper);
    const __mmask16 below = _mm512_cmplt_epu32_mask(mag, all((128 - f.bias) << 23));
    __m512i code = _mm512_mask_mov_epi32(normal, below, small);
    if (f.bits == 8)
        code = _mm512_min_epu32(code, all((f.most << 24) + 0xffffffu));
    return _mm512_ternarylogic_epi32(code, bits_of(v), all(0x80000000u), 0xf8);
}

/* The integers in the top bytes. */
INLINE __m512i random_int_lanes(struct format f, __m512 v, __m512i complement)
{
    const __m512i draw = _mm512_xor_si512(complement, all(UINT32_MAX));
    return _mm512_slli_epi32(drawn_lanes(limited_lanes(v, (float)(int)f.most), draw), 24);
}

/* The same by a product with 2^24 / divisor, as a division takes longer than all else; not limited.
 * Sets lanes of *doubt where integers may be wrong. The product differs from the quotient, which is
 * below 8.1 as no value exceeds the largest integer but by the limit of scales, which has no fast
 * inverse, by less than 27 units of 2^-24, the rounding of the fraction included; integers are
 * right if the fraction is further than 64 from where they change. */
INLINE __m512i random_int_fast(__m512 x, __m512 inverse, __m512i complement, __mmask16 *doubt)
{
    const __m512i c = _mm512_cvtps_epi32(_mm512_fmadd_ps(x, inverse, _mm512_set1_ps(64)));
    const __m512i above = _mm512_add_epi32(c, _mm512_srli_epi32(complement, 8));
    *doubt = (__mmask16)(*doubt | _mm512_testn_epi32_mask(above, all(0xffff80)));
    return above;
}

/* 2^24 / divisor for random_int_fast; 0: the divisor is too small, or so large that it may be the
 * limit of scales. */
INLINE float fast_inverse(float divisor)
{
    return divisor > 0x1p-100f && divisor < 0x1p120f ? 0x1p24f / divisor : 0;
}

/* The numbers of all codes of 4 bits. */
INLINE __m512 table_of(struct format f)
{
    float of[CC_LANES];
    for (unsigned c = 0; c < CC_LANES; c++)
        of[c] = decoded(f, (uint8_t)c);
    return _mm512_loadu_ps(of);
}

/* The numbers of 16 codes: for 4 bits, of a table; for 8 as binary16, which has the bits of e5m2 as
 * its upper byte, and those of e4m3 one place below, with an exponent that is 8 less. */
INLINE __m512 decoded_lanes(struct format f, __m128i code, __m512 table)
{
    if (f.bits == 4)
        return _mm512_permutexvar_ps(_mm512_cvtepu8_epi32(code), table);
    if (is_integer(f))
        return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(code));
    const __m256i wide = _mm256_slli_epi16(_mm256_cvtepi8_epi16(code), (int)(10 - f.mantissa));
    const __m256i keep = _mm256_set1_epi16((short)(f.bias == 15 ? 0xff00 : 0xbf80));
    const __m512 half = _mm512_cvtph_ps(_mm256_and_si256(wide, keep));
    return _mm512_mul_ps(half, _mm512_set1_ps(power(15 - (int)f.bias)));
}

INLINE __mmask16 unused_lanes(struct format f, __m128i code)
{
    if (is_integer(f))
        return _mm_cmpeq_epi8_mask(code, _mm_set1_epi8((char)(1u << (f.bits - 1))));
    if (f.bits == 4)
        return 0;
    const __m128i mag = _mm_and_si128(code, _mm_set1_epi8(0x7f));
    return _mm_cmpgt_epi8_mask(mag, _mm_set1_epi8((char)f.most));
}

/* The codes of the lanes, 0 in the others. */
INLINE __m128i load_codes(const uint8_t *codes, __mmask16 lanes)
{
    return _mm_maskz_loadu_epi8(lanes, codes);
}

/* Bytes of 2 x 16 lanes, the lowest (0) to the top (3): by a permutation, as the instructions that
 * narrow and store take many cycles on some processors. */
INLINE __m256i bytes_of(const __m512i v[2], unsigned byte)
{
    const __m512i low = _mm512_set4_epi32(0x3c383430, 0x2c282420, 0x1c181410, 0x0c080400);
    const __m512i half = _mm512_or_si512(low, all(byte * 0x01010101u));
    const __m512i at = _mm512_mask_blend_epi32(0xf0, half, _mm512_or_si512(half, all(0x40404040)));
    return _mm512_castsi512_si256(_mm512_permutex2var_epi8(v[0], at, v[1]));
}

/* The top bytes as codes, those of 4 bits limited. Values exceed the largest number by the limit of
 * scales alone; those of 8 bits also where a scale is subnormal, and then by so much that bytes
 * would overflow. */
INLINE __m256i codes_of(struct format f, __m256i bytes)
{
    const __m256i most = _mm256_set1_epi8((char)f.most);
    if (f.bits == 8)
        return bytes;
    if (is_integer(f)) {
        bytes = _mm256_min_epi8(bytes, most);
        bytes = _mm256_max_epi8(bytes, _mm256_set1_epi8((char)-(int)f.most));
        return _mm256_and_si256(bytes, _mm256_set1_epi8(15));
    }
    const __m256i mag = _mm256_min_epi8(_mm256_and_si256(bytes, _mm256_set1_epi8(0x7f)), most);
    const __m256i sign = _mm256_srli_epi16(bytes, 4);
    return _mm256_ternarylogic_epi32(mag, sign, _mm256_set1_epi8(8), 0xf8);
}

/* Stores the codes of 2 x 16 values, of which `left` remain. */
INLINE void store_codes(uint8_t *codes, size_t left, __m256i bytes)
{
    if (left >= PAIR)
        _mm256_storeu_si256((__m256i *)codes, bytes);
    else
        _mm256_mask_storeu_epi8(codes, (1u << left) - 1, bytes);
}

/* --- one block --- */

/* Writes the codes of the next values, of which `left` remain. */
INLINE void nearest_pair(struct format f, const float *x, size_t left, __m512 divisor,
                         uint8_t *codes)
{
    __m512i code[2];
    for (size_t j = 0; j < 2; j++)
        code[j] = nearest_lanes(f, _mm512_div_ps(load_half(x, left, j), divisor));
    store_codes(codes, left, bytes_of(code, 0));
}

INLINE void nearest_block(struct format f, const float *restrict x, size_t n, float divisor,
                          uint8_t *restrict codes)
{
    const __m512 by = _mm512_set1_ps(divisor);
    size_t i = 0;
    for (; i + PAIR <= n; i += PAIR)
        nearest_pair(f, x + i, PAIR, by, codes + i);
    if (i < n)
        nearest_pair(f, x + i, n - i, by, codes + i);
}

/* The constants of a call of random_block. */
struct draws {
    float fast; /* fast_inverse() of an integer's divisor */
    __m512 divisor, inverse;
    __m512i b; /* the key's half b */
};

/* Writes the codes of the next values, of which `left` remain. */
INLINE void random_pair(struct format f, const struct draws *d, const float *x, size_t left,
                        const __m512i index[2], uint8_t *codes)
{
    const bool integer = is_integer(f), power_of_two = f.bits == 4 && !integer;
    __m512i complement[2], code[2];
    __m512 v[2];
    __mmask16 doubt = 0;
    for (size_t j = 0; j < 2; j++) {
        complement[j] = cc_lanes_random_not(index[j], d->b);
        v[j] = load_half(x, left, j);
        if (integer)
            code[j] = random_int_fast(v[j], d->inverse, complement[j], &doubt);
    }
    if (!integer || __builtin_expect(doubt != 0 || d->fast == 0, 0)) {
        for (size_t j = 0; j < 2; j++) {
            v[j] = power_of_two ? _mm512_mul_ps(v[j], d->inverse) : _mm512_div_ps(v[j], d->divisor);
            code[j] = integer ? random_int_lanes(f, v[j], complement[j])
                              : random_float_lanes(f, v[j], complement[j]);
        }
    }
    store_codes(codes, left, codes_of(f, bytes_of(code, 3)));
}

INLINE void random_block(struct format f, const float *restrict x, size_t n, float divisor,
                         struct cc_key key, uint32_t first, uint8_t *restrict codes)
{
    const bool integer = is_integer(f);
    const float fast = integer ? fast_inverse(divisor) : 0;
    const struct draws d = {.fast = fast,
                            .divisor = _mm512_set1_ps(divisor),
                            .inverse = _mm512_set1_ps(integer ? fast : 1 / divisor),
                            .b = all(key.b)};
    __m512i index[2] = {cc_lanes_index(key, first), cc_lanes_index(key, first + CC_LANES)};
    size_t i = 0;
    for (; i + PAIR <= n; i += PAIR) {
        random_pair(f, &d, x + i, PAIR, index, codes + i);
        for (size_t j = 0; j < 2; j++)
            index[j] = _mm512_add_epi32(index[j], all(PAIR));
    }
    if (i < n)
        random_pair(f, &d, x + i, n - i, index, codes + i);
}

/* Writes the numbers of the lanes' codes times a scale, or adds them times a factor; returns
 * whether there is a code that is not used. */
INLINE unsigned load_lanes(struct format f, const uint8_t *codes, __mmask16 lanes, __m512 table,
                           __m512 by, float *y)
{
    const __m128i code = load_codes(codes, lanes);
    _mm512_mask_storeu_ps(y, lanes, _mm512_mul_ps(decoded_lanes(f, code, table), by));
    return unused_lanes(f, code);
}

INLINE unsigned add_lanes(struct format f, const uint8_t *codes, __mmask16 lanes, __m512 table,
                          __m512 by, __m512 factor, float *y)
{
    const __m128i code = load_codes(codes, lanes);
    const __m512 product = _mm512_mul_ps(factor, _mm512_mul_ps(decoded_lanes(f, code, table), by));
    const __m512 sum = _mm512_add_ps(_mm512_maskz_loadu_ps(lanes, y), product);
    _mm512_mask_storeu_ps(y, lanes, sum);
    return unused_lanes(f, code);
}

INLINE unsigned load_block(struct format f, const uint8_t *restrict codes, size_t n, float scale,
                           float *restrict y)
{
    const __m512 by = _mm512_set1_ps(scale), table = table_of(f);
    unsigned bad = 0;
    size_t i = 0;
    for (; i + CC_LANES <= n; i += CC_LANES)
        bad |= load_lanes(f, codes + i, 0xffff, table, by, y + i);
    if (i < n)
        bad |= load_lanes(f, codes + i, lanes_of(n - i), table, by, y + i);
    return bad;
}

INLINE unsigned add_block(struct format f, const uint8_t *restrict codes, size_t n, float scale,
                          float factor, float *restrict y)
{
    const __m512 by = _mm512_set1_ps(scale), times = _mm512_set1_ps(factor), table = table_of(f);
    unsigned bad = 0;
    size_t i = 0;
    for (; i + CC_LANES <= n; i += CC_LANES)
        bad |= add_lanes(f, codes + i, 0xffff, table, by, times, y + i);
    if (i < n)
        bad |= add_lanes(f, codes + i, lanes_of(n - i), table, by, times, y + i);
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
