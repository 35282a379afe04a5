/* 64 values at a time, for pair_kernels.k.c, which includes this file. No include guard: it is a
 * part of pair_kernels.k.c. */
#include "schemes/kernels/neon.h"

/* A byte of ones for each of 16 values that is not ABSENT. */
static inline uint8x16_t present16(const float *acc)
{
    uint32x4_t absent[4];
    for (size_t k = 0; k < 4; k++)
        absent[k] = vceqq_u32(vreinterpretq_u32_f32(vld1q_f32(acc + 4 * k)), vdupq_n_u32(ABSENT));
    return vmvnq_u8(cc_neon_low_bytes(absent[0], absent[1], absent[2], absent[3]));
}

static inline uint64_t present64(const float *acc)
{
    const uint8x16_t v[4] = {present16(acc), present16(acc + 16), present16(acc + 32),
                             present16(acc + 48)};
    return cc_neon_bits64(v);
}

static inline size_t list16(const float *acc, uint32_t base, struct cc_index_value *out)
{
    static const uint32_t lane[4] = {0, 1, 2, 3};
    const uint64_t w = cc_neon_bits16(present16(acc));
    const struct cc_neon_places places = cc_neon_places(w);
    for (unsigned i = 0; i < CC_GROUP; i += 4) {
        uint32x4x2_t pairs = {
            {cc_neon_compress(w >> i & 15, vaddq_u32(vld1q_u32(lane), vdupq_n_u32(base + i))),
             cc_neon_compress(w >> i & 15, vreinterpretq_u32_f32(vld1q_f32(acc + i)))}};
        vst2q_u32((uint32_t *)(void *)(out + cc_neon_place(&places, i)), pairs);
    }
    return (size_t)__builtin_popcountll(w);
}

/* The marks of 64 groups as bits. */
static inline uint64_t marked64(const uint8_t *mark)
{
    uint8x16_t v[4];
    for (size_t k = 0; k < 4; k++)
        v[k] = vceqq_u8(vld1q_u8(mark + 16 * k), vdupq_n_u8(1));
    return cc_neon_bits64(v);
}

/* Packs the values of the bits of w; up to CC_PAIR_SLACK more are written. */
static inline void pack64(const float *acc, uint64_t w, uint8_t *value)
{
    const struct cc_neon_places places = cc_neon_places(w);
    for (unsigned i = 0; i < 64; i += 4) {
        uint32x4_t v = cc_neon_compress(w >> i & 15, vreinterpretq_u32_f32(vld1q_f32(acc + i)));
        vst1q_u8(value + 4 * cc_neon_place(&places, i), vreinterpretq_u8_u32(v));
    }
}
