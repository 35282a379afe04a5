/* NEON: masks of lanes as bits and back, packing and unpacking of lanes, random numbers. */
#ifndef CC_SCHEMES_KERNELS_NEON_H
#define CC_SCHEMES_KERNELS_NEON_H

#if defined(__ARM_NEON)
#include <arm_neon.h>
#include <stddef.h>
#include <stdint.h>

#include "core/random.h"

/* The lowest bytes of the lanes of four vectors, in order. */
static inline uint8x16_t cc_neon_low_bytes(uint32x4_t a, uint32x4_t b, uint32x4_t c, uint32x4_t d)
{
    uint16x8_t low = vuzp1q_u16(vreinterpretq_u16_u32(a), vreinterpretq_u16_u32(b));
    uint16x8_t high = vuzp1q_u16(vreinterpretq_u16_u32(c), vreinterpretq_u16_u32(d));
    return vuzp1q_u8(vreinterpretq_u8_u16(low), vreinterpretq_u8_u16(high));
}

/* The bit that stands for each of 16 bytes in the two bytes of a mask. */
static inline uint8x16_t cc_neon_bit_of_byte(void)
{
    return vreinterpretq_u8_u64(vdupq_n_u64(UINT64_C(0x8040201008040201)));
}

/* A bit for each of 64 bytes, which are 0 or 255. */
static inline uint64_t cc_neon_bits64(const uint8x16_t v[4])
{
    const uint8x16_t bit = cc_neon_bit_of_byte();
    uint8x16_t low = vpaddq_u8(vandq_u8(v[0], bit), vandq_u8(v[1], bit));
    uint8x16_t high = vpaddq_u8(vandq_u8(v[2], bit), vandq_u8(v[3], bit));
    low = vpaddq_u8(low, high);
    return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(low, low)), 0);
}

/* The same of 16 bytes. */
static inline uint16_t cc_neon_bits16(uint8x16_t v)
{
    uint8x16_t bits = vandq_u8(v, cc_neon_bit_of_byte());
    bits = vpaddq_u8(bits, bits);
    bits = vpaddq_u8(bits, bits);
    return vgetq_lane_u16(vreinterpretq_u16_u8(vpaddq_u8(bits, bits)), 0);
}

/* A lane of ones for each of the four lowest bits of k. */
static inline uint32x4_t cc_neon_lanes(uint32_t k)
{
    static const uint32_t bit[4] = {1, 2, 4, 8};
    return vtstq_u32(vdupq_n_u32(k), vld1q_u32(bit));
}

/* The places of the bits of a word among those that are set: `counts` has the number of each half
 * byte, `before` of all bytes below each byte. */
struct cc_neon_places {
    uint64_t counts, before;
};

static inline struct cc_neon_places cc_neon_places(uint64_t w)
{
    const uint64_t twos = w - (w >> 1 & UINT64_C(0x5555555555555555));
    const uint64_t counts =
        (twos & UINT64_C(0x3333333333333333)) + (twos >> 2 & UINT64_C(0x3333333333333333));
    const uint64_t bytes = (counts + (counts >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return (struct cc_neon_places){counts, bytes * UINT64_C(0x0101010101010101) - bytes};
}

/* The number of bits set below bit i, a multiple of 4. None waits for the one before. */
static inline size_t cc_neon_place(const struct cc_neon_places *p, unsigned i)
{
    const size_t before = p->before >> i / 8 * 8 & 255;
    return i % 8 == 0 ? before : before + (p->counts >> (i - 4) & 15);
}

#define CC_NEON_LANE(n) 4 * (n), 4 * (n) + 1, 4 * (n) + 2, 4 * (n) + 3
#define CC_NEON_NONE    255, 255, 255, 255
#define CC_NEON_L0      CC_NEON_LANE(0)
#define CC_NEON_L1      CC_NEON_LANE(1)
#define CC_NEON_L2      CC_NEON_LANE(2)
#define CC_NEON_L3      CC_NEON_LANE(3)

/* The lanes of v that are in k, packed to the front, then zeros. */
static inline uint32x4_t cc_neon_compress(uint64_t k, uint32x4_t v)
{
    static const uint8_t order[16][16] = {
        {CC_NEON_NONE, CC_NEON_NONE, CC_NEON_NONE, CC_NEON_NONE},
        {CC_NEON_L0, CC_NEON_NONE, CC_NEON_NONE, CC_NEON_NONE},
        {CC_NEON_L1, CC_NEON_NONE, CC_NEON_NONE, CC_NEON_NONE},
        {CC_NEON_L0, CC_NEON_L1, CC_NEON_NONE, CC_NEON_NONE},
        {CC_NEON_L2, CC_NEON_NONE, CC_NEON_NONE, CC_NEON_NONE},
        {CC_NEON_L0, CC_NEON_L2, CC_NEON_NONE, CC_NEON_NONE},
        {CC_NEON_L1, CC_NEON_L2, CC_NEON_NONE, CC_NEON_NONE},
        {CC_NEON_L0, CC_NEON_L1, CC_NEON_L2, CC_NEON_NONE},
        {CC_NEON_L3, CC_NEON_NONE, CC_NEON_NONE, CC_NEON_NONE},
        {CC_NEON_L0, CC_NEON_L3, CC_NEON_NONE, CC_NEON_NONE},
        {CC_NEON_L1, CC_NEON_L3, CC_NEON_NONE, CC_NEON_NONE},
        {CC_NEON_L0, CC_NEON_L1, CC_NEON_L3, CC_NEON_NONE},
        {CC_NEON_L2, CC_NEON_L3, CC_NEON_NONE, CC_NEON_NONE},
        {CC_NEON_L0, CC_NEON_L2, CC_NEON_L3, CC_NEON_NONE},
        {CC_NEON_L1, CC_NEON_L2, CC_NEON_L3, CC_NEON_NONE},
        {CC_NEON_L0, CC_NEON_L1, CC_NEON_L2, CC_NEON_L3},
    };
    return vreinterpretq_u32_u8(vqtbl1q_u8(vreinterpretq_u8_u32(v), vld1q_u8(order[k])));
}

/* The first lanes of v, each in the next lane of k; 0 in the others. */
static inline uint32x4_t cc_neon_expand(uint64_t k, uint32x4_t v)
{
    static const uint8_t order[16][16] = {
        {CC_NEON_NONE, CC_NEON_NONE, CC_NEON_NONE, CC_NEON_NONE},
        {CC_NEON_L0, CC_NEON_NONE, CC_NEON_NONE, CC_NEON_NONE},
        {CC_NEON_NONE, CC_NEON_L0, CC_NEON_NONE, CC_NEON_NONE},
        {CC_NEON_L0, CC_NEON_L1, CC_NEON_NONE, CC_NEON_NONE},
        {CC_NEON_NONE, CC_NEON_NONE, CC_NEON_L0, CC_NEON_NONE},
        {CC_NEON_L0, CC_NEON_NONE, CC_NEON_L1, CC_NEON_NONE},
        {CC_NEON_NONE, CC_NEON_L0, CC_NEON_L1, CC_NEON_NONE},
        {CC_NEON_L0, CC_NEON_L1, CC_NEON_L2, CC_NEON_NONE},
        {CC_NEON_NONE, CC_NEON_NONE, CC_NEON_NONE, CC_NEON_L0},
        {CC_NEON_L0, CC_NEON_NONE, CC_NEON_NONE, CC_NEON_L1},
        {CC_NEON_NONE, CC_NEON_L0, CC_NEON_NONE, CC_NEON_L1},
        {CC_NEON_L0, CC_NEON_L1, CC_NEON_NONE, CC_NEON_L2},
        {CC_NEON_NONE, CC_NEON_NONE, CC_NEON_L0, CC_NEON_L1},
        {CC_NEON_L0, CC_NEON_NONE, CC_NEON_L1, CC_NEON_L2},
        {CC_NEON_NONE, CC_NEON_L0, CC_NEON_L1, CC_NEON_L2},
        {CC_NEON_L0, CC_NEON_L1, CC_NEON_L2, CC_NEON_L3},
    };
    return vreinterpretq_u32_u8(vqtbl1q_u8(vreinterpretq_u8_u32(v), vld1q_u8(order[k])));
}

/* The indices first .. first + 3 combined with a key, as cc_neon_random takes them. */
static inline uint32x4_t cc_neon_index(struct cc_key k, uint32_t first)
{
    static const uint32_t lane[4] = {0, 1, 2, 3};
    return vaddq_u32(vdupq_n_u32(first + k.a), vld1q_u32(lane));
}

/* cc_random of four indices. b: the key's b, in every lane. */
static inline uint32x4_t cc_neon_random(uint32x4_t index, uint32x4_t b)
{
    uint32x4_t x = veorq_u32(index, vshrq_n_u32(index, 16));
    x = vmulq_u32(x, vdupq_n_u32(0x21f0aaad));
    x = veorq_u32(veorq_u32(x, vshrq_n_u32(x, 15)), b);
    x = vmulq_u32(x, vdupq_n_u32(0xd35a2d97));
    return veorq_u32(x, vshrq_n_u32(x, 15));
}
#endif

#endif
