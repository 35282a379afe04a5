/* Elias coding of sparse levels (Alistarh et al., QSGD, NIPS 2017, section 3.1).
 *
 * Most levels of a bucket are 0, and small levels are frequent. So a bucket is written as the count
 * of nonzero levels plus 1, then a pair for each nonzero level: the distance from the one before,
 * and the level as a sign bit and a magnitude. Numbers are Elias omega codes: 1 is "0", 2 is
 * "10 0", 4 is "10 100 0" (elias_code.h), most significant bit first.
 *
 * Encoding finds the nonzero levels of 64 at a time as a mask, and takes the code of a pair from a
 * table where distance and magnitude are small, as nearly all are. With AVX-512 the codes of up to
 * 32 pairs are made in lanes of 16 bits, joined to lanes of 64 bits with four pairs each, and so
 * written.
 *
 * Decoding keeps at least 56 bits in a register and looks up the next CC_RUN_BITS of them: the
 * table gives the levels of all pairs that they hold as a whole, zeros between them included, which
 * are stored at once. Other pairs, and the last ones, are read one by one: a second table gives
 * distance, level and length of a pair of up to CC_PAIR_BITS; longer ones are read code by code,
 * with a third table for codes of up to 23 bits; still longer codes go through cc_omega_get. Every
 * length is checked against the bits that are left, every position against the bucket, and the
 * levels of a bucket against s: any input is either decoded or refused. */
#include "schemes/kernels/elias.h"

#include "schemes/kernels/neon.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

/* A bit for each of 64 levels that is not 0, the first level in the lowest bit. */
static inline uint64_t nonzero_mask(const int16_t *levels)
{
#if defined(__AVX512BW__)
    __m512i a = _mm512_loadu_si512(levels), b = _mm512_loadu_si512(levels + 32);
    return _mm512_test_epi16_mask(a, a) | (uint64_t)_mm512_test_epi16_mask(b, b) << 32;
#elif defined(__AVX2__)
    uint64_t mask = 0;
    for (int half = 0; half < 2; half++) {
        const __m256i *in = (const __m256i *)(levels + 32 * half);
        __m256i zero = _mm256_setzero_si256();
        __m256i a = _mm256_cmpeq_epi16(_mm256_loadu_si256(in), zero);
        __m256i b = _mm256_cmpeq_epi16(_mm256_loadu_si256(in + 1), zero);
        __m256i bytes = _mm256_permute4x64_epi64(_mm256_packs_epi16(a, b), 0xd8);
        mask |= (uint64_t) ~(uint32_t)_mm256_movemask_epi8(bytes) << 32 * half;
    }
    return mask;
#elif defined(__ARM_NEON)
    uint8x16_t bytes[4];
    for (size_t k = 0; k < 4; k++) {
        int16x8_t a = vld1q_s16(levels + 16 * k), b = vld1q_s16(levels + 16 * k + 8);
        bytes[k] =
            vuzp1q_u8(vreinterpretq_u8_u16(vtstq_s16(a, a)), vreinterpretq_u8_u16(vtstq_s16(b, b)));
    }
    return cc_neon_bits64(bytes);
#else
    uint64_t mask = 0;
    for (unsigned i = 0; i < 64; i++)
        mask |= (uint64_t)(levels[i] != 0) << i;
    return mask;
#endif
}

static inline void put_pair(struct cc_bit_writer *w, const struct cc_elias_tables *t,
                            size_t distance, int level)
{
    if (distance < CC_PAIR_DISTANCES && level > -CC_PAIR_LEVELS && level < CC_PAIR_LEVELS) {
        uint32_t code = t->pair_code[cc_pair_index(distance, level)];
        cc_bits_put(w, code >> 5, code & 31);
        return;
    }
    bool negative = level < 0;
    struct cc_omega d = cc_omega(distance), m = cc_omega((unsigned)(negative ? -level : level));
    cc_bits_put(w, d.bits, d.len);
    cc_bits_put(w, (uint64_t)negative << m.len | m.bits, m.len + 1);
}

#if defined(__AVX512VBMI2__)

/* The codes of numbers below 16, a lane of 16 bits each, with their lengths in the upper byte. */
static const uint16_t short_codes[32] = {
    0x000, 0x100, 0x304, 0x306, 0x628, 0x62a, 0x62c, 0x62e,
    0x770, 0x772, 0x774, 0x776, 0x778, 0x77a, 0x77c, 0x77e,
};

/* Writes the nonzero ones (`some`) of the 32 levels from `at` on if their distances and magnitudes
 * are below 16, and if the codes of every four pairs, which are written at once, have 56 bits at
 * most; otherwise returns false. *next: one after the last nonzero level. */
static inline bool put_32(struct cc_bit_writer *w, const int16_t *levels, size_t at, uint32_t some,
                          size_t *next)
{
    const __m512i iota =
        _mm512_set_epi16(31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13,
                         12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    const __m512i one = _mm512_set1_epi16(1), codes = _mm512_loadu_si512(short_codes);
    const unsigned count = (unsigned)__builtin_popcount(some);
    const __mmask32 pairs = _bzhi_u32(UINT32_MAX, count);
    const size_t before = at - *next;
    if (count == 0)
        return true;
    __m512i level = _mm512_maskz_compress_epi16(some, _mm512_loadu_si512(levels + at));
    __m512i place = _mm512_maskz_compress_epi16(some, iota);
    /* the place of the pair before; -1: before the first */
    __m512i last = _mm512_permutexvar_epi16(_mm512_sub_epi16(iota, one), place);
    last = _mm512_mask_mov_epi16(last, 1, _mm512_set1_epi16((int16_t)(-1 - (int)(before & 0xff))));
    __m512i distance = _mm512_sub_epi16(place, last), magnitude = _mm512_abs_epi16(level);
    __mmask32 large = _mm512_mask_cmpgt_epu16_mask(pairs, distance, _mm512_set1_epi16(15)) |
                      _mm512_mask_cmpgt_epu16_mask(pairs, magnitude, _mm512_set1_epi16(15));
    if (large != 0 || before > 0xff)
        return false;
    __m512i d = _mm512_maskz_permutexvar_epi16(pairs, distance, codes);
    __m512i m = _mm512_maskz_permutexvar_epi16(pairs, magnitude, codes);
    const __m512i low = _mm512_set1_epi16(0xff);
    __m512i signed_len =
        _mm512_mask_add_epi16(_mm512_setzero_si512(), pairs, _mm512_srli_epi16(m, 8), one);
    __m512i code = _mm512_and_si512(m, low);
    code = _mm512_or_si512(
        code, _mm512_sllv_epi16(_mm512_srli_epi16(level, 15), _mm512_sub_epi16(signed_len, one)));
    code = _mm512_or_si512(code, _mm512_sllv_epi16(_mm512_and_si512(d, low), signed_len));
    __m512i len = _mm512_add_epi16(signed_len, _mm512_srli_epi16(d, 8));
    /* two pairs, then four: the first one above */
    __m512i len2 = _mm512_srli_epi32(len, 16);
    code =
        _mm512_or_si512(_mm512_sllv_epi32(_mm512_and_si512(code, _mm512_set1_epi32(0xffff)), len2),
                        _mm512_srli_epi32(code, 16));
    len = _mm512_add_epi32(_mm512_and_si512(len, _mm512_set1_epi32(0xffff)), len2);
    len2 = _mm512_srli_epi64(len, 32);
    code = _mm512_or_si512(
        _mm512_sllv_epi64(_mm512_and_si512(code, _mm512_set1_epi64(0xffffffff)), len2),
        _mm512_srli_epi64(code, 32));
    len = _mm512_add_epi64(_mm512_and_si512(len, _mm512_set1_epi64(0xffffffff)), len2);
    if (_mm512_cmpgt_epu64_mask(len, _mm512_set1_epi64(56)) != 0)
        return false;
    *next = at + 32 - (size_t)__builtin_clz(some);
    uint64_t bits[8], lens[8];
    _mm512_storeu_si512(bits, code);
    _mm512_storeu_si512(lens, len);
    for (unsigned k = 0; 4 * k < count; k++)
        cc_bits_put(w, bits[k], (unsigned)lens[k]);
    return true;
}
#endif

static uint8_t *put(const int16_t *levels, size_t n, size_t count, uint8_t *out)
{
    const struct cc_elias_tables *t = cc_elias_tables();
    struct cc_bit_writer w = {.p = out, .buffer = 0, .used = 0};
    struct cc_omega code = cc_omega(count + 1);
    cc_bits_put(&w, code.bits, code.len);
    size_t next = 0; /* one after the last nonzero level */
    for (size_t i = 0; i < n; i += CC_LEVEL_GROUP) {
        uint64_t mask = nonzero_mask(levels + i);
#if defined(__AVX512VBMI2__)
        if (put_32(&w, levels, i, (uint32_t)mask, &next)) {
            mask &= UINT64_C(0xffffffff) << 32;
            if (put_32(&w, levels, i + 32, (uint32_t)(mask >> 32), &next))
                mask = 0;
        }
#endif
        while (mask != 0) {
            size_t at = i + (size_t)__builtin_ctzll(mask);
            put_pair(&w, t, at + 1 - next, levels[at]);
            next = at + 1;
            mask &= mask - 1;
        }
    }
    return cc_bits_end(&w);
}

/* Reads a code of up to 23 bits that is in the buffer as a whole; false for any other. */
static inline bool get_short(struct cc_bit_reader *r, const struct cc_elias_tables *t, uint64_t *v)
{
    uint32_t start = t->start[r->buffer >> (64 - CC_START_BITS)];
    unsigned len = start & 63;
    if (len > r->have || r->buffer << (len - 1) >> 63 != 0)
        return false;
    *v = (r->buffer << (start >> 8 & 63) >> (start >> 16 & 63)) + (start >> 24);
    cc_bits_skip(r, len);
    return true;
}

/* Reads a code of any length. On a copy of the reader: one whose address is never taken stays in
 * registers. */
static inline bool get_long(struct cc_bit_reader *r, uint64_t *v)
{
    struct cc_bit_reader copy = *r;
    bool found = cc_omega_get(&copy, v);
    *r = copy;
    return found;
}

/* Reads a pair that is not in the table. */
static inline enum cc_elias_fault get_pair(struct cc_bit_reader *r, const struct cc_elias_tables *t,
                                           uint64_t *distance, int *level)
{
    uint64_t magnitude;
    cc_bits_fill(r);                           /* two short codes and a sign have 47 bits at most */
    if (r->have > 0 && r->buffer >> 63 == 0) { /* distance 1, by far the most frequent */
        *distance = 1;
        cc_bits_skip(r, 1);
    } else if (!get_short(r, t, distance)) {
        if (!get_long(r, distance))
            return CC_ELIAS_END;
        cc_bits_fill(r);
    }
    if (r->have == 0)
        return CC_ELIAS_END;
    bool negative = r->buffer >> 63;
    cc_bits_skip(r, 1);
    if (!get_short(r, t, &magnitude) && !get_long(r, &magnitude))
        return CC_ELIAS_END;
    if (magnitude > INT16_MAX)
        return CC_ELIAS_LEVEL;
    *level = negative ? -(int)magnitude : (int)magnitude;
    return CC_ELIAS_OK;
}

/* Writes the levels of a run, and zeros behind them, CC_RUN in all. */
static inline void put_run(const int8_t *run, int16_t *levels)
{
#if defined(__AVX2__)
    _mm_storeu_si128((__m128i_u *)(void *)levels,
                     _mm_cvtepi8_epi16(_mm_loadl_epi64((const __m128i_u *)(const void *)run)));
#else
    for (size_t i = 0; i < CC_RUN; i++)
        levels[i] = run[i];
#endif
}

/* A place in a bucket: pairs still to be read, and one after the last nonzero level. */
struct place {
    uint64_t count;
    size_t next;
};

/* Reads runs of pairs, without testing their levels against s, until the input, the bucket or its
 * pairs nearly end, or a pair is not in the table. In a loop of its own, as its variables then stay
 * in registers: each step waits for the one before. */
static struct place get_runs(struct cc_bit_reader *r, const struct cc_elias_tables *t,
                             struct place at, size_t n, int16_t *levels)
{
    struct cc_bit_reader b = *r;
    enum { RUNS = 56 / CC_RUN_BITS };
    while (b.end - b.p >= 8) {
        cc_bits_fill(&b);
        for (unsigned i = 0; i < RUNS; i++) {
            const size_t bits = b.buffer >> (64 - CC_RUN_BITS);
            const unsigned run = t->run[bits], some = run >> 6 & 31;
            const size_t more = some > CC_RUN ? some : CC_RUN;
            if (run == 0 || more > n - at.next || run >> 11 > at.count)
                goto out;
            put_run(t->run_levels[bits], levels + at.next + (more - CC_RUN));
            at.next += some;
            at.count -= run >> 11;
            cc_bits_skip(&b, run & 63);
        }
    }
out:
    *r = b;
    return at;
}

/* Reads `count` pairs. by_runs: where a table has several at a time, they are taken from it,
 * without being tested against s. */
static enum cc_elias_fault get_pairs(struct cc_bit_reader *r, uint64_t count, size_t n, int s,
                                     bool by_runs, int16_t *levels)
{
    const struct cc_elias_tables *t = cc_elias_tables();
    struct cc_bit_reader b = *r;
    enum cc_elias_fault fault = CC_ELIAS_OK;
    size_t next = 0;
    while (count > 0) {
        if (by_runs) {
            const struct place at = get_runs(&b, t, (struct place){count, next}, n, levels);
            count = at.count;
            next = at.next;
        }
        cc_bits_fill(&b);
        /* as many pairs as the buffer surely holds, if all are in the table */
        unsigned left = count < 56 / CC_PAIR_BITS ? (unsigned)count : 56 / CC_PAIR_BITS;
        count -= left;
        for (; left > 0; left--) {
            uint32_t pair = t->pair[b.buffer >> (64 - CC_PAIR_BITS)];
            unsigned len = pair & 63;
            uint64_t distance = pair >> 8 & 0xff;
            int level = (int16_t)(pair >> 16);
            if (__builtin_expect(len != 0 && len <= b.have, 1)) {
                cc_bits_skip(&b, len);
            } else {
                fault = get_pair(&b, t, &distance, &level);
                if (fault != CC_ELIAS_OK)
                    goto out;
            }
            if (distance > n - next) {
                fault = CC_ELIAS_POSITION;
                goto out;
            }
            if (level > s || level < -s) {
                fault = CC_ELIAS_LEVEL;
                goto out;
            }
            next += distance;
            levels[next - 1] = (int16_t)level;
        }
    }
out:
    *r = b;
    return fault;
}

static bool exceed(const int16_t *levels, size_t n, int s)
{
    int most = 0;
    for (size_t i = 0; i < n; i++) {
        int magnitude = levels[i] < 0 ? -levels[i] : levels[i];
        most = magnitude > most ? magnitude : most;
    }
    return most > s;
}

/* Reads pairs by runs, and again one by one if something is wrong, to tell what and where. */
static enum cc_elias_fault get_levels(struct cc_bit_reader *r, uint64_t count, size_t n, int s,
                                      int16_t *levels)
{
    struct cc_bit_reader b = *r;
    memset(levels, 0, n * sizeof *levels);
    if (get_pairs(&b, count, n, s, true, levels) == CC_ELIAS_OK && !exceed(levels, n, s)) {
        *r = b;
        return CC_ELIAS_OK;
    }
    memset(levels, 0, n * sizeof *levels);
    return get_pairs(r, count, n, s, false, levels);
}

static enum cc_elias_fault get(struct cc_bit_reader *in, size_t n, int s, int16_t *levels)
{
    struct cc_bit_reader r = *in;
    uint64_t count;
    enum cc_elias_fault fault = CC_ELIAS_END;
    if (cc_omega_get(&r, &count))
        fault = count - 1 > n ? CC_ELIAS_COUNT : get_levels(&r, count - 1, n, s, levels);
    if (fault == CC_ELIAS_OK) {
        unsigned padding = r.have % 8;
        if (padding > 0 && r.buffer >> (64 - padding) != 0) {
            fault = CC_ELIAS_PADDING;
        } else { /* returns the bytes that were read ahead */
            r.p -= r.have / 8;
            r.buffer = 0;
            r.have = 0;
        }
    }
    *in = r;
    return fault;
}

const struct k_elias CC_K(k_elias) = {.put = put, .get = get};
