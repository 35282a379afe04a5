/* Packing of levels into codes for qsgd_put.k.c, which includes this file. No include guard: it is
 * a part of qsgd_put.k.c. */
#include <arm_neon.h>

/* The lower halves of the lanes of v beside each other: of pairs of `bits` bits, the upper one is
 * moved down by the lane's half less `bits`. */
#define MERGE(lane, half, v, bits)                                                                 \
    vorrq_u##lane(vandq_u##lane(v, vdupq_n_u##lane(((uint##lane##_t)1 << (half)) - 1)),            \
                  vshlq_u##lane(vshrq_n_u##lane(v, half), vdupq_n_s##lane(bits)))

/* Writes 16 levels, a byte each, as codes: 2 * width bytes and up to 8 more. */
static inline void put_codes(const uint8_t *levels, unsigned width, uint8_t *out)
{
    const uint8_t mask = (uint8_t)((1u << width) - 1);
    uint16x8_t pairs = vreinterpretq_u16_u8(vandq_u8(vld1q_u8(levels), vdupq_n_u8(mask)));
    uint32x4_t fours = vreinterpretq_u32_u16(MERGE(16, 8, pairs, (int16_t)width));
    uint64x2_t eights = vreinterpretq_u64_u32(MERGE(32, 16, fours, (int32_t)(2 * width)));
    eights = MERGE(64, 32, eights, (int64_t)(4 * width));
    cc_put_u64(out, vgetq_lane_u64(eights, 0));
    cc_put_u64(out + width, vgetq_lane_u64(eights, 1));
}
#undef MERGE
