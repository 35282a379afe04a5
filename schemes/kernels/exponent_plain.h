/* 64 exponents or ranks as 8 words of 64 bits, for AVX2, NEON and plain C. Ranks are below 128, so
 * that sums of bytes do not carry. No include guard: it is a part of exponent.k.c, which includes
 * it after its own definitions. */
/* table[index] of 64 indices below 16. */
static inline void look_up(const uint8_t table[16], const uint8_t index[64], uint8_t out[64])
{
#if defined(__AVX2__)
    const __m256i t =
        _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)table));
    for (size_t i = 0; i < 64; i += 32) {
        const __m256i at = _mm256_loadu_si256((const __m256i *)(const void *)(index + i));
        _mm256_storeu_si256((__m256i *)(void *)(out + i), _mm256_shuffle_epi8(t, at));
    }
#elif defined(__ARM_NEON)
    const uint8x16_t t = vld1q_u8(table);
    for (size_t i = 0; i < 64; i += 16)
        vst1q_u8(out + i, vqtbl1q_u8(t, vld1q_u8(index + i)));
#else
    for (size_t i = 0; i < 64; i++)
        out[i] = table[index[i] & 15];
#endif
}

#if defined(__ARM_NEON) && !defined(__AVX2__)
/* By four bits: the places of those that are set, packed, then zeros; and for each bit its place
 * among them, 128 where it is not set. */
static const uint32_t packed4[16] = {
    0,          0x00000000, 0x00000001, 0x00000100, 0x00000002, 0x00000200, 0x00000201, 0x00020100,
    0x00000003, 0x00000300, 0x00000301, 0x00030100, 0x00000302, 0x00030200, 0x00030201, 0x03020100};
static const uint32_t spread4[16] = {
    0x80808080, 0x80808000, 0x80800080, 0x80800100, 0x80008080, 0x80018000, 0x80010080, 0x80020100,
    0x00808080, 0x01808000, 0x01800080, 0x02800100, 0x01008080, 0x02018000, 0x02010080, 0x03020100};

static inline unsigned bits_of_tops(uint64_t pass)
{
    return (unsigned)((pass >> 7) * UINT64_C(0x0102040810204080) >> 56);
}
#endif

/* Stores the bytes of v whose top bit is set in `pass`, one after the other, and rubbish after
 * them, 8 bytes in all; returns how many they are. */
static inline size_t pack8(uint64_t v, uint64_t pass, uint8_t *out)
{
#if defined(__AVX2__)
    cc_put_u64(out, _pext_u64(v, (pass >> 7) * 255));
    return (size_t)__builtin_popcountll(pass);
#elif defined(__ARM_NEON)
    const unsigned k = bits_of_tops(pass), low = (unsigned)__builtin_popcount(k & 15);
    const uint64_t upper = packed4[k >> 4] + UINT64_C(0x04040404);
    const uint64_t places = packed4[k & 15] | upper << 8 * low;
    vst1_u8(out, vtbl1_u8(vcreate_u8(v), vcreate_u8(places)));
    return low + (size_t)__builtin_popcount(k >> 4);
#else
    size_t count = 0;
    for (unsigned i = 0; i < 64; i += 8) {
        out[count] = (uint8_t)(v >> i);
        count += pass >> (i + 7) & 1;
    }
    return count;
#endif
}

/* The reverse: the next bytes, each where the top bit is set, and 0 elsewhere. */
static inline size_t spread8(const uint8_t *next, uint64_t pass, uint64_t *v)
{
#if defined(__AVX2__)
    *v = _pdep_u64(cc_get_u64(next), (pass >> 7) * 255);
    return (size_t)__builtin_popcountll(pass);
#elif defined(__ARM_NEON)
    const unsigned k = bits_of_tops(pass), low = (unsigned)__builtin_popcount(k & 15);
    const uint64_t upper = spread4[k >> 4] + low * UINT64_C(0x01010101);
    const uint64_t places = spread4[k & 15] | upper << 32;
    *v = vget_lane_u64(vreinterpret_u64_u8(vtbl1_u8(vld1_u8(next), vcreate_u8(places))), 0);
    return low + (size_t)__builtin_popcount(k >> 4);
#else
    size_t count = 0;
    uint64_t all = 0;
    for (unsigned i = 0; i < 64; i += 8) {
        const uint64_t set = pass >> (i + 7) & 1;
        all |= (next[count] & (0 - set)) << i;
        count += set;
    }
    *v = all;
    return count;
#endif
}

static inline size_t stage64(const uint8_t rank[64], uint8_t before, uint8_t *codes, uint8_t *next)
{
    size_t passed = 0;
    uint64_t plane[2] = {0, 0};
    for (unsigned k = 0; k < 8; k++) {
        const uint64_t r = cc_get_u64(rank + 8 * (size_t)k), v = r - before * ONES;
        const uint64_t pass = (v + 0x7d * ONES) & TOPS;
        plane[k % 2] |= ((v & THREES) | (pass >> 7) * 3) << 2 * (k / 2);
        passed += pack8(r, pass, next + passed);
    }
    cc_put_u64(codes, plane[0]);
    cc_put_u64(codes + 8, plane[1]);
    return passed;
}

/* The ranks of 64 codes, 8 in a word: a vector that is loaded from words which were just stored
 * waits for them, which takes longer than all the rest. */
static inline size_t unstage64(const uint8_t *codes, uint8_t before, const uint8_t *next,
                               uint64_t rank[8])
{
    size_t taken = 0;
    for (unsigned k = 0; k < 8; k++) {
        const uint64_t code = cc_get_u64(codes + 8 * (size_t)(k % 2)) >> 2 * (k / 2) & THREES;
        const uint64_t pass = (code + 0x7d * ONES) & TOPS, bytes = (pass >> 7) * 255;
        uint64_t passed;
        taken += spread8(next + taken, pass, &passed);
        rank[k] = ((code + before * ONES) & ~bytes) | passed;
    }
    return taken;
}

/* The top bit of each byte of `code` that is `last`, the largest code. */
static inline uint64_t escaped8(const uint8_t *code, uint8_t last)
{
    return (cc_get_u64(code) + (128u - last) * ONES) & TOPS;
}

static inline bool escape_any(const uint8_t code[64], uint8_t last)
{
    uint64_t any = 0;
    for (size_t i = 0; i < 64; i += 8)
        any |= escaped8(code + i, last);
    return __builtin_expect(any != 0, 0);
}

/* Packs the exponents whose code is `last`. */
static inline void escapes64(const uint8_t *e, const uint8_t code[64], uint8_t last,
                             uint8_t **escape)
{
    if (!escape_any(code, last))
        return;
    for (size_t i = 0; i < 64; i += 8)
        *escape += pack8(cc_get_u64(e + i), escaped8(code + i, last), *escape);
}

/* Puts escaped exponents where the code is `last`. */
static inline void unescape64(const uint8_t code[64], uint8_t last, const uint8_t **escape,
                              uint8_t *e)
{
    if (!escape_any(code, last))
        return;
    for (size_t i = 0; i < 64; i += 8) {
        const uint64_t pass = escaped8(code + i, last);
        uint64_t escaped;
        *escape += spread8(*escape, pass, &escaped);
        cc_put_u64(e + i, (cc_get_u64(e + i) & ~((pass >> 7) * 255)) | escaped);
    }
}

/* exponent - base + below, at most 15. */
static inline void places64(const uint8_t *e, uint8_t base, uint8_t below, uint8_t place[64])
{
    for (size_t i = 0; i < 64; i++) {
        const uint8_t at = (uint8_t)(e[i] - base + below);
        place[i] = at < 15 ? at : 15;
    }
}

static inline size_t first64(const uint8_t *e, uint8_t base, uint8_t *codes, uint8_t *next,
                             uint8_t **escape)
{
    uint8_t place[64], rank[64];
    places64(e, base, BELOW, place);
    look_up(rank_of, place, rank);
    escapes64(e, rank, CC_EXPONENT_ESCAPE, escape);
    return stage64(rank, 0, codes, next);
}

/* base + the step of each rank. */
static inline void steps64(const uint64_t rank[8], uint8_t base, uint8_t *e)
{
#if defined(__AVX2__)
    const __m256i t =
        _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)step_of));
    for (size_t k = 0; k < 8; k += 4) {
        const __m256i r = _mm256_set_epi64x((long long)rank[k + 3], (long long)rank[k + 2],
                                            (long long)rank[k + 1], (long long)rank[k]);
        const __m256i v = _mm256_add_epi8(_mm256_shuffle_epi8(t, r), _mm256_set1_epi8((char)base));
        _mm256_storeu_si256((__m256i *)(void *)(e + 8 * k), v);
    }
#else
    look_up(step_of, (const uint8_t *)rank, e);
    for (size_t i = 0; i < 64; i++)
        e[i] = (uint8_t)(base + e[i]);
#endif
}

static inline size_t unfirst64(const uint8_t *codes, uint8_t base, const uint8_t *next,
                               const uint8_t **escape, uint8_t *e)
{
    uint64_t rank[8], any = 0;
    const size_t taken = unstage64(codes, 0, next, rank);
    steps64(rank, base, e);
    for (size_t k = 0; k < 8; k++)
        any |= (rank[k] + (128u - CC_EXPONENT_ESCAPE) * ONES) & TOPS;
    if (__builtin_expect(any != 0, 0))
        unescape64((const uint8_t *)rank, CC_EXPONENT_ESCAPE, escape, e);
    return taken;
}

static inline void window64(const uint8_t *e, uint8_t base, uint8_t *codes, uint8_t **escape)
{
    uint8_t place[64];
    places64(e, base, CC_EXPONENT_BELOW, place);
    for (size_t i = 0; i < 32; i++)
        codes[i] = (uint8_t)(place[i] | place[i + 32] << 4);
    escapes64(e, place, 15, escape);
}

static inline void unwindow64(const uint8_t *codes, uint8_t base, const uint8_t **escape,
                              uint8_t *e)
{
    uint8_t code[64];
    for (size_t i = 0; i < 32; i++) {
        code[i] = codes[i] & 15;
        code[i + 32] = codes[i] >> 4;
    }
    for (size_t i = 0; i < 64; i++)
        e[i] = (uint8_t)(base + code[i] - CC_EXPONENT_BELOW);
    unescape64(code, 15, escape, e);
}
