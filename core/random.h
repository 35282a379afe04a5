/* Counter-based random numbers. A number is a function of (seed, rank, direction, step, tensor,
 * stream, index) only: neither of the thread, nor of how a tensor is cut, nor of the instruction
 * set. cc_key hashes all but the index into a key; cc_random mixes key and index with a few 32-bit
 * operations, so a plain loop over it vectorizes: on a Zen 5, 0.73 ns a number in scalar code, 0.10
 * with AVX2, 0.05 with AVX-512. docs/payloads.md gives the formulas for readers of payloads. Not
 * for cryptography. */
#ifndef CC_CORE_RANDOM_H
#define CC_CORE_RANDOM_H

#include <stdint.h>

/* The key of up to 2^32 elements of one tensor at one step. */
struct cc_key {
    uint32_t a, b;
};

/* The place of a draw. */
struct cc_random_id {
    uint64_t seed;
    int64_t rank;       /* -1: the server, or a draw that all ranks share */
    uint64_t direction; /* 0 push, 1 pull */
    uint64_t step;
    uint64_t tensor;
    uint64_t stream; /* tells independent draws of one scheme apart, from 0 */
};

/* The finalizer of SplitMix64: a bijection whose output bits depend on all input bits. */
static inline uint64_t cc_mix64(uint64_t z)
{
    z ^= z >> 30;
    z *= UINT64_C(0xbf58476d1ce4e5b9);
    z ^= z >> 27;
    z *= UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* The key of all elements whose index has the same upper 32 bits as `index`. */
static inline struct cc_key cc_key(const struct cc_random_id *id, uint64_t index)
{
    const uint64_t golden = UINT64_C(0x9e3779b97f4a7c15);
    const uint64_t fields[] = {(uint64_t)id->rank, id->direction, id->step,
                               id->tensor,         id->stream,    index >> 32};
    uint64_t h = cc_mix64(id->seed + golden);
    for (unsigned i = 0; i < sizeof fields / sizeof fields[0]; i++)
        h = cc_mix64(h ^ (fields[i] * golden + UINT64_C(0xd1b54a32d192ed03)));
    return (struct cc_key){(uint32_t)h, (uint32_t)(h >> 32)};
}

/* The number of elements from `index` on that have the same key, itself included. */
static inline uint64_t cc_same_key(uint64_t index)
{
    return (UINT64_C(1) << 32) - (uint32_t)index;
}

/* 32 random bits for the element whose index has these lower 32 bits. */
static inline uint32_t cc_random(struct cc_key k, uint32_t index)
{
    uint32_t x = index + k.a;
    x ^= x >> 16;
    x *= 0x21f0aaadu;
    x ^= x >> 15;
    x ^= k.b;
    x *= 0xd35a2d97u;
    return x ^ x >> 15;
}

/* The upper 24 of 32 random bits as a uniform float in [0, 1); all stochastic rounding compares
 * with it. */
static inline float cc_unit(uint32_t r)
{
    return (float)(int32_t)(r >> 8) * 0x1p-24f;
}

/* About normal, with mean 0 and standard deviation 1: the sum of the uniform numbers of the
 * elements `first` to `first` + 3, which needs no function that differs between C libraries. */
static inline float cc_about_normal(struct cc_key k, uint32_t first)
{
    float sum = 0;
    for (uint32_t i = 0; i < 4; i++)
        sum += cc_unit(cc_random(k, first + i));
    return (sum - 2) * 1.7320508f;
}

#endif
