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
#include "schemes/kernels/neon.h"

/* A vector of the instruction set. Four are permuted together, as each round has to wait for the
 * one before. */
#if defined(__AVX512F__)
typedef uint32_t vector __attribute__((vector_size(64)));
#elif defined(__AVX2__)
typedef uint32_t vector __attribute__((vector_size(32)));
#else
typedef uint32_t vector __attribute__((vector_size(16)));
#endif

enum { LANES = 4 * sizeof(vector) / sizeof(uint32_t), STEPS = CC_DRAW_ROUNDS / 2 };

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

static inline vector random_lanes(struct cc_key k, vector x) /* cc_random */
{
    x += k.a;
    x ^= x >> 16;
    x *= 0x21f0aaadu;
    x ^= x >> 15;
    x ^= k.b;
    x *= 0xd35a2d97u;
    return x ^ x >> 15;
}

static void permute(struct cc_drawing *d, uint32_t *v, size_t n)
{
    const unsigned b = d->b;
    const uint32_t mask = (UINT32_C(1) << b) - 1;
    const size_t steps = (n + LANES - 1) / LANES * STEPS;
    const size_t each = (d->pending + steps - 1) / steps; /* prefetches in a step */
    const uint32_t *index = d->pool.small.pending, *end = index + d->pending;
    for (size_t i = 0; i < n; i += LANES, v += LANES) {
        vector r0, r1, r2, r3;
        memcpy(&r0, v, sizeof r0);
        memcpy(&r1, v + LANES / 4, sizeof r1);
        memcpy(&r2, v + LANES / 2, sizeof r2);
        memcpy(&r3, v + LANES / 4 * 3, sizeof r3);
        vector l0 = r0 >> b, l1 = r1 >> b, l2 = r2 >> b, l3 = r3 >> b;
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
        memcpy(v, &r0, sizeof r0);
        memcpy(v + LANES / 4, &r1, sizeof r1);
        memcpy(v + LANES / 2, &r2, sizeof r2);
        memcpy(v + LANES / 4 * 3, &r3, sizeof r3);
    }
}

/* split: lists each of n images v[i] <= most, and beside it at[i], in index and number, which have
 * room for CC_DRAW_POOL. Packs the others to the front of v and at, and returns how many these are.
 * Whole vectors are stored, but none beyond that room. */
#define SPLIT_REST(i)                                                                              \
    for (; i < n; i++) {                                                                           \
        index[done] = v[still] = v[i];                                                             \
        number[done] = at[still] = at[i];                                                          \
        const size_t is_done = index[done] <= most;                                                \
        done += is_done;                                                                           \
        still += 1 - is_done;                                                                      \
    }

static size_t split_wide(uint64_t most, uint64_t *v, uint64_t *at, size_t n, uint64_t *index,
                         uint64_t *number)
{
    size_t done = 0, still = 0, i = 0;
    SPLIT_REST(i)
    return still;
}

#if defined(__AVX512F__)

static size_t split(uint32_t most, uint32_t *v, uint32_t *at, size_t n, uint32_t *index,
                    uint32_t *number)
{
    const __m512i limit = _mm512_set1_epi32((int)most);
    size_t done = 0, still = 0;
    for (size_t i = 0; i < n; i += 16) {
        const __m512i a = _mm512_loadu_si512(v + i), b = _mm512_loadu_si512(at + i);
        const __mmask16 all = first16(n - i);
        const __mmask16 in = _mm512_mask_cmple_epu32_mask(all, a, limit);
        const __mmask16 out = _kandn_mask16(in, all);
        _mm512_storeu_si512(index + done, compress16(in, a));
        _mm512_storeu_si512(number + done, compress16(in, b));
        _mm512_storeu_si512(v + still, compress16(out, a));
        _mm512_storeu_si512(at + still, compress16(out, b));
        done += (size_t)__builtin_popcount(in);
        still += (size_t)__builtin_popcount(out);
    }
    return still;
}

#elif defined(__AVX2__)

static size_t split(uint32_t most, uint32_t *v, uint32_t *at, size_t n, uint32_t *index,
                    uint32_t *number)
{
    const __m256i limit = _mm256_set1_epi32((int)most);
    size_t done = 0, still = 0, i = 0;
    for (; i + 8 <= n; i += 8) {
        const __m256i a = _mm256_loadu_si256((const void *)(v + i));
        const __m256i b = _mm256_loadu_si256((const void *)(at + i));
        const __m256i le = _mm256_cmpeq_epi32(_mm256_min_epu32(a, limit), a);
        const uint64_t in = (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(le)), out = in ^ 0xff;
        (void)store_packed8(in, b, number + done);
        done += store_packed8(in, a, index + done);
        (void)store_packed8(out, b, at + still);
        still += store_packed8(out, a, v + still);
    }
    SPLIT_REST(i)
    return still;
}

#elif defined(__ARM_NEON)

static size_t split(uint32_t most, uint32_t *v, uint32_t *at, size_t n, uint32_t *index,
                    uint32_t *number)
{
    static const uint32_t bit[4] = {1, 2, 4, 8};
    size_t done = 0, still = 0, i = 0;
    for (; i + 4 <= n; i += 4) {
        const uint32x4_t a = vld1q_u32(v + i), b = vld1q_u32(at + i);
        const uint32x4_t le = vcleq_u32(a, vdupq_n_u32(most));
        const uint64_t in = vaddvq_u32(vandq_u32(le, vld1q_u32(bit))), out = in ^ 15;
        vst1q_u32(index + done, cc_neon_compress(in, a));
        vst1q_u32(number + done, cc_neon_compress(in, b));
        vst1q_u32(v + still, cc_neon_compress(out, a));
        vst1q_u32(at + still, cc_neon_compress(out, b));
        done += (size_t)__builtin_popcountll(in);
        still = i + 4 - done;
    }
    SPLIT_REST(i)
    return still;
}

#else

static size_t split(uint32_t most, uint32_t *v, uint32_t *at, size_t n, uint32_t *index,
                    uint32_t *number)
{
    size_t done = 0, still = 0, i = 0;
    SPLIT_REST(i)
    return still;
}

#endif

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

const struct k_draw CC_K(k_draw) = {.draw = draw};
