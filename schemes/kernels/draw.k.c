/* A keyed permutation of [0, n), by which both sides of randk draw the same distinct indices.
 *
 * It begins with a permutation of [0, 4^b), a Feistel network: a number v is cut into two halves of
 * b bits (l, r), and each of 8 rounds xors one half with a random number that is a function of the
 * round's key and the other half. Any such network is a bijection, whatever its round function, so
 * no index is drawn twice and no list of used ones is kept. Two rounds follow one another without
 * exchanging the halves.
 *
 * Images beyond the tensor are permuted again until they are below n, up to four times on average.
 * Such numbers and new ones share a pool, so that vectors are full whatever their share; indices
 * are listed in the order in which they are found.
 *
 * The values at these indices are spread over the whole tensor. They are prefetched while the next
 * indices are computed, a few between two rounds, as a core stalls when too many are on their way;
 * and into the second-level cache, since more can be on their way there than to the first. Measured
 * on Zen 4, out of cache: updating such a value takes 19 cycles if it is prefetched into the second
 * level and 40 if into the first. Computing an index takes 15 (2.7 permutations), and both together
 * 31; 39 if the prefetches of a batch are not spread out. */
#include "schemes/kernels/draw.h"

#include <stdbool.h>
#include <string.h>

#include "schemes/kernels/masks.h"

/* Four vectors are permuted together, as each round has to wait for the one before. */
enum { LANES = 4 * CC_VECTOR, STEPS = CC_DRAW_ROUNDS / 2 };

/* permute: each of n numbers v[i] < 4^b becomes its image. In 32 bits, up to LANES - 1 elements
 * beyond n are permuted as well: doing the last ones one by one would take longer than all before.
 * Pending values are prefetched meanwhile. */
static void permute_wide(struct cc_drawing *d, uint64_t *v, size_t n)
{
    const unsigned b = d->b;
    const uint32_t mask = (UINT32_C(1) << b) - 1;
    for (size_t i = 0; i < n; i++) {
        uint32_t l = (uint32_t)(v[i] >> b), r = (uint32_t)v[i] & mask;
        for (unsigned t = 0; t < CC_DRAW_ROUNDS; t += 2) { /* the halves change their roles */
            l ^= cc_random(d->key[t], r) & mask;
            r ^= cc_random(d->key[t + 1], l) & mask;
        }
        v[i] = (uint64_t)l << b | r;
    }
}

static inline cc_vu32 random_lanes(struct cc_key k, cc_vu32 x)
{
    return cc_vu32_random(x + k.a, k.b);
}

static void permute(struct cc_drawing *d, uint32_t *v, size_t n)
{
    const unsigned b = d->b;
    const uint32_t mask = (UINT32_C(1) << b) - 1;
    const size_t steps = (n + LANES - 1) / LANES * STEPS;
    const size_t each = (d->pending + steps - 1) / steps; /* prefetches in a step */
    const uint32_t *index = d->pool.small.pending, *end = index + d->pending;
    for (size_t i = 0; i < n; i += LANES, v += LANES) {
        cc_vu32 r0 = cc_vu32_load(v);
        cc_vu32 r1 = cc_vu32_load(v + LANES / 4);
        cc_vu32 r2 = cc_vu32_load(v + LANES / 2);
        cc_vu32 r3 = cc_vu32_load(v + LANES / 4 * 3);
        cc_vu32 l0 = r0 >> b, l1 = r1 >> b, l2 = r2 >> b, l3 = r3 >> b;
        r0 &= mask;
        r1 &= mask;
        r2 &= mask;
        r3 &= mask;
        for (unsigned t = 0; t < CC_DRAW_ROUNDS; t += 2) {
            for (size_t j = 0; j < each && index < end; j++)
                __builtin_prefetch(d->values + *index++, 0, 2);
            l0 ^= random_lanes(d->key[t], r0) & mask;
            l1 ^= random_lanes(d->key[t], r1) & mask;
            l2 ^= random_lanes(d->key[t], r2) & mask;
            l3 ^= random_lanes(d->key[t], r3) & mask;
            r0 ^= random_lanes(d->key[t + 1], l0) & mask;
            r1 ^= random_lanes(d->key[t + 1], l1) & mask;
            r2 ^= random_lanes(d->key[t + 1], l2) & mask;
            r3 ^= random_lanes(d->key[t + 1], l3) & mask;
        }
        r0 |= l0 << b;
        r1 |= l1 << b;
        r2 |= l2 << b;
        r3 |= l3 << b;
        cc_vu32_store(v, r0);
        cc_vu32_store(v + LANES / 4, r1);
        cc_vu32_store(v + LANES / 2, r2);
        cc_vu32_store(v + LANES / 4 * 3, r3);
    }
}

/* split: lists each of n images v[i] <= most, and beside it at[i], in index and number, which have
 * room for CC_DRAW_POOL. Packs the others to the front of v and at, and returns how many these are.
 * Whole vectors are stored, but none beyond that room. */
#define SPLIT_REST(i, still)                                                                       \
    for (size_t done = (i) - (still); (i) < n; (i)++) {                                            \
        index[done] = v[still] = v[i];                                                             \
        number[done] = at[still] = at[i];                                                          \
        const size_t is_done = index[done] <= most;                                                \
        done += is_done;                                                                           \
        still += 1 - is_done;                                                                      \
    }

static size_t split_wide(uint64_t most, uint64_t *v, uint64_t *at, size_t n, uint64_t *index,
                         uint64_t *number)
{
    size_t still = 0, i = 0;
    SPLIT_REST(i, still)
    return still;
}

#ifdef CC_VECTORS
/* A bit for each number that is at most `most`. */
static inline uint64_t bits_up_to(cc_vu32 v, uint32_t most)
{
#if defined(__AVX512F__)
    return _mm512_cmple_epu32_mask((__m512i)v, _mm512_set1_epi32((int)most));
#elif defined(__AVX2__)
    const __m256i least = _mm256_min_epu32((__m256i)v, _mm256_set1_epi32((int)most));
    return (unsigned)_mm256_movemask_ps((__m256)((cc_vi32)least == (cc_vi32)v));
#else
    return vaddvq_u32((cc_vu32)(v <= most) & (cc_vu32){1, 2, 4, 8});
#endif
}
#endif

static size_t split(uint32_t most, uint32_t *v, uint32_t *at, size_t n, uint32_t *index,
                    uint32_t *number)
{
    size_t still = 0, i = 0;
#ifdef CC_VECTORS
    for (size_t done = 0; i + CC_VECTOR <= n; i += CC_VECTOR, still = i - done) {
        const cc_vu32 a = cc_vu32_load(v + i), b = cc_vu32_load(at + i);
        const uint64_t in = bits_up_to(a, most), out = in ^ ((1u << CC_VECTOR) - 1);
        cc_vu32_store(index + done, packed_lanes(in, a));
        cc_vu32_store(number + done, packed_lanes(in, b));
        cc_vu32_store(v + still, packed_lanes(out, a));
        cc_vu32_store(at + still, packed_lanes(out, b));
        done += (size_t)__builtin_popcountll(in);
    }
#endif
    SPLIT_REST(i, still)
    return still;
}

/* Lists what one pass through the pool finds; returns how many these are. */
#define DRAW_STEP(type, pool, permute, split, index, number)                                       \
    do {                                                                                           \
        const uint64_t left = d->end - d->next;                                                    \
        size_t i = d->walking;                                                                     \
        size_t n = left < CC_DRAW_POOL - i ? i + (size_t)left : CC_DRAW_POOL;                      \
        for (; i < n; i++, d->next++)                                                              \
            (pool)->v[i] = (pool)->number[i] = (type)d->next;                                      \
        (permute)(d, (pool)->v, n);                                                                \
        d->walking = (split)((type)(d->n - 1), (pool)->v, (pool)->number, n, index, number);       \
        return n - d->walking;                                                                     \
    } while (0)

static size_t step_wide(struct cc_drawing *d, uint64_t *index, uint64_t *number)
{
    DRAW_STEP(uint64_t, &d->pool.wide, permute_wide, split_wide, index, number);
}

static size_t step(struct cc_drawing *d, uint32_t *index, uint32_t *number)
{
    DRAW_STEP(uint32_t, &d->pool.small, permute, split, index, number);
}

static size_t draw(struct cc_drawing *d, uint64_t *index, uint64_t *number)
{
    size_t count = 0;
    while (count == 0 && (d->next < d->end || d->walking > 0)) {
        if (d->b > 16) {
            count = step_wide(d, index, number);
        } else {
            uint32_t numbers[CC_DRAW_POOL], *indices = d->pool.small.pending;
            count = step(d, indices, numbers);
            for (size_t i = 0; i < count; i++) {
                index[i] = indices[i];
                number[i] = numbers[i];
            }
        }
        const bool more = d->b <= 16 && (d->next < d->end || d->walking > 0);
        d->pending = more && d->values != NULL ? count : 0;
        for (size_t i = 0; i < count && d->values != NULL && !more; i++)
            __builtin_prefetch(d->values + index[i], 0, 2);
    }
    return count;
}

#ifdef CC_VECTORS
/* The upper half of each product. */
static inline cc_vu32 product_above(cc_vu32 a, cc_vu32 b)
{
#if defined(__AVX512F__)
    const __m512i even = _mm512_mul_epu32((__m512i)a, (__m512i)b);
    const __m512i odd =
        _mm512_mul_epu32(_mm512_srli_epi64((__m512i)a, 32), _mm512_srli_epi64((__m512i)b, 32));
    return (cc_vu32)_mm512_mask_blend_epi32(0xaaaa, _mm512_srli_epi64(even, 32), odd);
#elif defined(__AVX2__)
    const __m256i even = _mm256_mul_epu32((__m256i)a, (__m256i)b);
    const __m256i odd =
        _mm256_mul_epu32(_mm256_srli_epi64((__m256i)a, 32), _mm256_srli_epi64((__m256i)b, 32));
    return (cc_vu32)_mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa);
#else
    const uint64x2_t low = vmull_u32(vget_low_u32(a), vget_low_u32(b));
    return vuzp2q_u32(vreinterpretq_u32_u64(low), vreinterpretq_u32_u64(vmull_high_u32(a, b)));
#endif
}

static inline cc_vu32 smaller(cc_vu32 a, cc_vu32 b)
{
#if defined(__AVX512F__)
    return (cc_vu32)_mm512_min_epu32((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
    return (cc_vu32)_mm256_min_epu32((__m256i)a, (__m256i)b);
#else
    return vminq_u32(a, b);
#endif
}
#endif

static uint64_t stratum_index(const struct cc_strata *s, uint64_t j)
{
    const uint64_t more = j < s->longer, draw = cc_random(s->key, (uint32_t)j);
    const uint64_t in = draw * (s->length + more) >> 32; /* strata have fewer than 2^32 values */
    const uint64_t at = j * s->length + (more ? j : s->longer) + in + s->shift;
    return at >= s->n ? at - s->n : at;
}

static void strata_small(const struct cc_strata *s, uint32_t first, size_t count, uint32_t *index)
{
    size_t i = 0;
#ifdef CC_VECTORS
    const uint32_t n = (uint32_t)s->n, length = (uint32_t)s->length, longer = (uint32_t)s->longer;
    cc_vu32 j = cc_vu32_index((struct cc_key){0, 0}, first);
    cc_vu32 from = j * length + (uint32_t)s->shift;
    const cc_vu32 most = (cc_vu32){0} + longer;
    for (; i + CC_VECTOR <= count; i += CC_VECTOR) {
        const cc_vu32 draw = cc_vu32_random(j + s->key.a, s->key.b);
        const cc_vu32 more = smaller(most - smaller(j, most), (cc_vu32){0} + 1u);
        const cc_vu32 at = from + smaller(j, most) + product_above(draw, length + more);
        cc_vu32_store(index + i, smaller(at, at - n)); /* at - n wraps if at is the smaller */
        j += CC_VECTOR;
        from += CC_VECTOR * length;
    }
#endif
    for (; i < count; i++)
        index[i] = (uint32_t)stratum_index(s, first + (uint32_t)i);
}

static void strata(const struct cc_strata *s, uint64_t first, size_t count, const float *values,
                   uint64_t *restrict index)
{
    uint32_t small[CC_DRAW_POOL];
    if (s->n <= CC_STRATA_SMALL && count <= CC_DRAW_POOL) {
        strata_small(s, (uint32_t)first, count, small);
        for (size_t i = 0; i < count; i++)
            index[i] = small[i];
    } else {
        for (size_t i = 0; i < count; i++)
            index[i] = stratum_index(s, first + i);
    }
    for (size_t i = 0; values != NULL && i < count; i++)
        __builtin_prefetch(values + index[i], 0, 2);
}

const struct k_draw CC_K(k_draw) = {.draw = draw, .strata = strata, .strata_small = strata_small};
