/* Codes of levels up to 127 by AVX-512, 64 at a time, for qsgd_put.k.c, which includes this file.
 *
 * In units of 2^-16 of a level, let a = |x| / norm * s. A fused multiply-add gives the float
 * 2^31 + 2^8 (a + 2^16 - c), whose last place is one unit, so its bits are 0x4f00 and, below, the
 * integer a + 2^16 - c. The upper 16 bits of the random number are subtracted; its last xor is left
 * out, as it changes the lowest of them only. The level is the result without its lower 16 bits,
 * the fraction; by the definition it is ceil(a - number). The difference may be wrong by
 *
 * - h = 1/2 + 3 s / 256 in both directions: the rounding of the sum, of s / norm, and the two of
 * the definition,
 * - less than 1 below and 2 above: the random number.
 *
 * With c = m + 2 and an integer m > h, the level is right if the fraction is below
 * 2^16 - (2 m + 2). If it is not, which happens to one group in 180 to 250, the group is encoded
 * again by the definition. Its 16 bits are compared together with the upper ones, which are above
 * 0x4f00 + s for a value that is not finite, or has changed since the norm was found.
 *
 * No include guard: it is a part of qsgd_put.k.c. */

struct writer {
    const struct cc_qsgd_form *form;
    struct cc_key key;
    size_t ahead;       /* distance of prefetching in values; 0: none */
    __m512i b, limit;   /* the key's b; the largest halves of a sum that is not encoded again */
    __m512 base, steps; /* 2^31 + (2^16 - c) units; s */
    __m512i bytes;      /* for cc_lanes_bytes: the lowest bytes, in order of the codes */
    __mmask16 second;
};

/* For codes of 4 bits the even values of a group come first, then the odd ones. */
static struct writer writer_of(const struct cc_qsgd_form *f, struct cc_key key, size_t ahead)
{
    const uint32_t s = (uint32_t)f->s, m = (128 + 3 * s) / 256 + 1;
    const bool halves = f->width == 4;
    uint8_t bytes[64];
    for (unsigned i = 0; i < 64; i++)
        bytes[i] = (uint8_t)(4 * (halves ? i % 16 * 2 + i / 32 : i % 32));
    return (struct writer){.form = f,
                           .key = key,
                           .ahead = ahead,
                           .b = _mm512_set1_epi32((int)key.b),
                           .limit = _mm512_set1_epi32((int)((0x4f00 + s) << 16 | (65533 - 2 * m))),
                           .base = _mm512_set1_ps(0x1p31f + 256 * (float)(65534 - m)),
                           .steps = _mm512_set1_ps((float)s),
                           .bytes = _mm512_loadu_si512(bytes),
                           .second = halves ? 0xf0f0 : 0xff00};
}

/* A bucket, or a part of it. */
struct bucket {
    __m512 factor, norm;
    struct cc_lanes_run run;
};

/* The levels of 64 values, a byte each; false if they must be found by the definition. */
static inline bool levels_fast(const struct writer *w, const struct bucket *q,
                               const uint32_t *upper, const float *from, __m512i *levels)
{
    __m512i sum[4], x[4];
    for (size_t k = 0; k < 4; k++) {
        x[k] = _mm512_loadu_si512(from + CC_LANES * k);
        __m512 a = _mm512_fmadd_ps(_mm512_abs_ps(_mm512_castsi512_ps(x[k])), q->factor, w->base);
        __m512i number = _mm512_srli_epi32(cc_lanes_run_mixed(&q->run, upper + k, w->b), 16);
        sum[k] = _mm512_sub_epi32(_mm512_castps_si512(a), number);
    }
    __m512i most = _mm512_max_epu16(_mm512_max_epu16(sum[0], sum[1]), //
                                    _mm512_max_epu16(sum[2], sum[3]));
    const __m512i third = _mm512_add_epi8(w->bytes, _mm512_set1_epi8(2));
    const __m512i fourth = _mm512_add_epi8(w->bytes, _mm512_set1_epi8(3));
    __m512i level = cc_lanes_bytes(sum, third, w->second);
    __mmask64 minus = _mm512_movepi8_mask(cc_lanes_bytes(x, fourth, w->second));
    *levels = _mm512_mask_sub_epi8(level, minus, _mm512_setzero_si512(), level);
    return _mm512_cmpgt_epu16_mask(most, w->limit) == 0;
}

/* The same by the definition. Not inline, so that the loop around it keeps its registers. */
static __attribute__((noinline)) __m512i
levels_again(const struct writer *w, const struct bucket *q, uint32_t first, const float *x)
{
    __m512i levels[4];
    for (uint32_t k = 0; k < 4; k++) {
        __m512i index = cc_lanes_index(w->key, first + CC_LANES * k);
        __m512 v = _mm512_loadu_ps(x + CC_LANES * k);
        levels[k] = levels_exactly(v, q->norm, w->steps, index, w->b);
    }
    return cc_lanes_bytes(levels, w->bytes, w->second);
}

/* Writes 64 levels as codes: 8 * width bytes and up to 8 more. */
static inline void write_group(__m512i levels, unsigned width, uint8_t *out)
{
    if (width == 4) {
        __m256i even = _mm512_castsi512_si256(levels), odd = _mm512_extracti64x4_epi64(levels, 1);
        odd = _mm256_slli_epi16(odd, 4);
        even = _mm256_ternarylogic_epi32(_mm256_set1_epi8(0x0f), even, odd, 0xca);
        _mm256_storeu_si256((__m256i_u *)(void *)out, even);
        return;
    }
    if (width == 8) {
        _mm512_storeu_si512(out, levels);
        return;
    }
    const uint64_t mask = ((UINT64_C(1) << width) - 1) * UINT64_C(0x0101010101010101);
    uint8_t bytes[64];
    _mm512_storeu_si512(bytes, levels);
    for (size_t k = 0; k < 8; k++)
        cc_put_u64(out + k * width, _pext_u64(cc_get_u64(bytes + 8 * k), mask));
}

/* Encodes 64 values, the first of them that of index `first`. */
static inline void put_group(const struct writer *w, struct bucket *q, const uint32_t *upper,
                             const float *x, uint32_t first, uint8_t *out)
{
    const uint32_t at = first + w->key.a;
    __m512i levels;
    const bool ends = cc_lanes_run_ends(at);
    if (__builtin_expect(!levels_fast(w, q, upper, x, &levels) || ends, 0)) {
        levels = levels_again(w, q, first, x);
        if (ends)
            q->run = cc_lanes_run(at + 64);
    }
    write_group(levels, w->form->width, out);
}

static inline void codes_fast(const struct writer *w, const float *x, float norm, uint32_t first,
                              uint8_t *out, size_t n)
{
    struct bucket q = {.factor = _mm512_set1_ps((float)w->form->s * 0x1p24f / norm),
                       .norm = _mm512_set1_ps(norm),
                       .run = cc_lanes_run(first + w->key.a)};
    uint32_t upper[CC_LANES_UPPER];
    for (size_t i = 0; i < n; i += 64, out += 8 * w->form->width) {
        const uint32_t index = first + (uint32_t)i, *numbers = upper + i % CC_LANES_RUN / CC_LANES;
        if (i % CC_LANES_RUN == 0)
            cc_lanes_upper(index + w->key.a, upper);
        if (n - i < 64) {
            float last[64] = {0};
            memcpy(last, x + i, (n - i) * sizeof *x);
            put_group(w, &q, numbers, last, index, out);
            break;
        }
        for (size_t k = 0; k < 64 && w->ahead > 0; k += CC_LANES)
            __builtin_prefetch(x + i + k + w->ahead, 0, 2);
        put_group(w, &q, numbers, x + i, index, out);
    }
}
