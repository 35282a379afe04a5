/* 64 exponents or ranks as a vector of AVX-512. No include guard: it is a part of exponent.k.c,
 * which includes it after its own definitions. */
struct group {
    __m512i v[2];
};

static inline struct group group_load(const uint8_t *e)
{
    return (struct group){{_mm512_loadu_si512(e), _mm512_loadu_si512(e + 64)}};
}

/* The base of a whole group, and what is seen in it. */
static inline uint8_t whole_base(const uint8_t *e, __m512i *most, size_t *zeros)
{
    const struct group g = group_load(e);
    const __m512i zero = _mm512_setzero_si512();
    const __m512i sums =
        _mm512_add_epi64(_mm512_sad_epu8(g.v[0], zero), _mm512_sad_epu8(g.v[1], zero));
    const uint32_t none = (uint32_t)(_mm_popcnt_u64(_mm512_testn_epi8_mask(g.v[0], g.v[0])) +
                                     _mm_popcnt_u64(_mm512_testn_epi8_mask(g.v[1], g.v[1])));
    *most = _mm512_max_epu8(*most, _mm512_max_epu8(g.v[0], g.v[1]));
    *zeros += none;
    return base_of((uint32_t)_mm512_reduce_add_epi64(sums), CC_EXPONENT_GROUP - none);
}

static inline __m512i table16(const uint8_t table[16])
{
    return _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)(const void *)table));
}

/* The shifts of the four planes. */
static inline __m512i planes(void)
{
    return _mm512_set_epi64(0x0006000600060006, 0x0006000600060006, 0x0004000400040004,
                            0x0004000400040004, 0x0002000200020002, 0x0002000200020002, 0, 0);
}

static inline void put64(__m512i code, uint8_t *codes)
{
    const __m512i shifted = _mm512_sllv_epi16(code, planes());
    const __m256i half =
        _mm256_or_si256(_mm512_castsi512_si256(shifted), _mm512_extracti64x4_epi64(shifted, 1));
    _mm_storeu_si128((__m128i *)(void *)codes,
                     _mm_or_si128(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1)));
}

static inline __m512i get64(const uint8_t *codes)
{
    const __m512i all =
        _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)(const void *)codes));
    return _mm512_and_si512(_mm512_srlv_epi16(all, planes()), _mm512_set1_epi8(3));
}

/* Stores the bytes of v that are in k one after the other, and rubbish after them. */
static inline size_t pack64(__mmask64 k, __m512i v, uint8_t *out)
{
    _mm512_storeu_si512(out, _mm512_mask_compress_epi8(fresh16(), k, v));
    return (size_t)_mm_popcnt_u64(k);
}

static inline size_t stage64(__m512i rank, uint8_t before, uint8_t *codes, uint8_t *next)
{
    const __m512i v = _mm512_sub_epi8(rank, _mm512_set1_epi8((char)before));
    const __m512i three = _mm512_set1_epi8(3);
    put64(_mm512_min_epu8(v, three), codes);
    return pack64(_mm512_cmpge_epu8_mask(v, three), rank, next);
}

static inline size_t first64(const uint8_t *e, uint8_t base, uint8_t *codes, uint8_t *next,
                             uint8_t **escape)
{
    const __m512i v = _mm512_loadu_si512(e);
    const __m512i place = _mm512_sub_epi8(v, _mm512_set1_epi8((char)(base - BELOW)));
    const __m512i rank =
        _mm512_shuffle_epi8(table16(rank_of), _mm512_min_epu8(place, _mm512_set1_epi8(15)));
    const __mmask64 out = _mm512_cmpeq_epi8_mask(rank, _mm512_set1_epi8(CC_EXPONENT_ESCAPE));
    if (__builtin_expect(out != 0, 0))
        *escape += pack64(out, v, *escape);
    return stage64(rank, 0, codes, next);
}

static inline size_t unstage64(const uint8_t *codes, uint8_t before, const uint8_t *next,
                               __m512i *rank)
{
    const __m512i code = get64(codes);
    const __mmask64 k = _mm512_cmpeq_epi8_mask(code, _mm512_set1_epi8(3));
    *rank = _mm512_mask_expand_epi8(_mm512_add_epi8(code, _mm512_set1_epi8((char)before)), k,
                                    _mm512_loadu_si512(next));
    return (size_t)_mm_popcnt_u64(k);
}

static inline size_t unfirst64(const uint8_t *codes, uint8_t base, const uint8_t *next,
                               const uint8_t **escape, uint8_t *e)
{
    __m512i rank;
    const size_t taken = unstage64(codes, 0, next, &rank);
    const __mmask64 out = _mm512_cmpeq_epi8_mask(rank, _mm512_set1_epi8(CC_EXPONENT_ESCAPE));
    __m512i v =
        _mm512_add_epi8(_mm512_shuffle_epi8(table16(step_of), rank), _mm512_set1_epi8((char)base));
    if (__builtin_expect(out != 0, 0)) {
        v = _mm512_mask_expand_epi8(v, out, _mm512_loadu_si512(*escape));
        *escape += _mm_popcnt_u64(out);
    }
    _mm512_storeu_si512(e, v);
    return taken;
}

static inline void window64(const uint8_t *e, uint8_t base, uint8_t *codes, uint8_t **escape)
{
    const __m512i v = _mm512_loadu_si512(e), last = _mm512_set1_epi8(15);
    const __m512i place = _mm512_sub_epi8(v, _mm512_set1_epi8((char)(base - CC_EXPONENT_BELOW)));
    const __m512i code = _mm512_min_epu8(place, last);
    const __m256i upper = _mm256_slli_epi16(_mm512_extracti64x4_epi64(code, 1), 4);
    const __mmask64 out = _mm512_cmpeq_epi8_mask(code, last);
    _mm256_storeu_si256((__m256i *)(void *)codes,
                        _mm256_or_si256(_mm512_castsi512_si256(code), upper));
    if (__builtin_expect(out != 0, 0))
        *escape += pack64(out, v, *escape);
}

static inline void unwindow64(const uint8_t *codes, uint8_t base, const uint8_t **escape,
                              uint8_t *e)
{
    const __m256i both = _mm256_loadu_si256((const __m256i *)(const void *)codes);
    const __m512i last = _mm512_set1_epi8(15);
    const __m512i code = _mm512_and_si512(
        _mm512_inserti64x4(_mm512_castsi256_si512(both), _mm256_srli_epi16(both, 4), 1), last);
    const __mmask64 out = _mm512_cmpeq_epi8_mask(code, last);
    __m512i v = _mm512_add_epi8(code, _mm512_set1_epi8((char)(base - CC_EXPONENT_BELOW)));
    if (__builtin_expect(out != 0, 0)) {
        v = _mm512_mask_expand_epi8(v, out, _mm512_loadu_si512(*escape));
        *escape += _mm_popcnt_u64(out);
    }
    _mm512_storeu_si512(e, v);
}
