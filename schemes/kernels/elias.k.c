/* Elias coding of sparse levels (Alistarh et al., QSGD, NIPS 2017, section 3.1).
 *
 * Most levels of a bucket are 0, and small levels are frequent. So a bucket is written as the count
 * of nonzero levels plus 1, then a pair for each nonzero level: the distance from the one before,
 * and the level as a sign bit and a magnitude. Numbers are Elias omega codes: 1 is "0", 2 is
 * "10 0", 4 is "10 100 0" (elias_code.h), most significant bit first.
 *
 * Encoding finds the nonzero levels of 64 at a time as a mask, and takes the code of a pair from a
 * table where distance and magnitude are small, as nearly all are.
 *
 * Decoding keeps at least 56 bits in a register and looks up the next CC_PAIR_BITS of them: the
 * table gives distance, level and length of a whole pair. Pairs with longer codes are read code by
 * code, with a second table for codes of up to 23 bits; still longer codes go through
 * cc_omega_get. Every length is checked against the bits that are left, every position against the
 * bucket, every level against s: any input is either decoded or refused. */
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

static uint8_t *put(const int16_t *levels, size_t n, size_t count, uint8_t *out)
{
    const struct cc_elias_tables *t = cc_elias_tables();
    struct cc_bit_writer w = {.p = out, .buffer = 0, .used = 0};
    struct cc_omega code = cc_omega(count + 1);
    cc_bits_put(&w, code.bits, code.len);
    size_t next = 0; /* one after the last nonzero level */
    for (size_t i = 0; i < n; i += CC_LEVEL_GROUP) {
        uint64_t mask = nonzero_mask(levels + i);
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

static enum cc_elias_fault get_pairs(struct cc_bit_reader *r, uint64_t count, size_t n, int s,
                                     int16_t *levels)
{
    const struct cc_elias_tables *t = cc_elias_tables();
    struct cc_bit_reader b = *r;
    enum cc_elias_fault fault = CC_ELIAS_OK;
    size_t next = 0;
    while (count > 0) {
        /* as many pairs as the buffer surely holds, if all are in the table */
        unsigned left = count < 56 / CC_PAIR_BITS ? (unsigned)count : 56 / CC_PAIR_BITS;
        count -= left;
        cc_bits_fill(&b);
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

static enum cc_elias_fault get(struct cc_bit_reader *in, size_t n, int s, int16_t *levels)
{
    struct cc_bit_reader r = *in;
    uint64_t count;
    memset(levels, 0, n * sizeof *levels);
    enum cc_elias_fault fault = CC_ELIAS_END;
    if (cc_omega_get(&r, &count))
        fault = count - 1 > n ? CC_ELIAS_COUNT : get_pairs(&r, count - 1, n, s, levels);
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
