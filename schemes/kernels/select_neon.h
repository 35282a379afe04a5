/* 64 values at a time, for select.k.c, which includes this file: four at a time are packed by a
 * table of permutations. No include guard: it is a part of select.k.c. */
#include "schemes/kernels/neon.h"

static inline uint64_t mark64(const float *x, uint32_t t)
{
    const uint32x4_t abs = vdupq_n_u32(0x7fffffff), least = vdupq_n_u32(t);
    uint8x16_t bytes[4];
    for (size_t j = 0; j < 4; j++) {
        uint32x4_t m[4];
        for (size_t k = 0; k < 4; k++) {
            uint32x4_t v = vreinterpretq_u32_f32(vld1q_f32(x + 16 * j + 4 * k));
            m[k] = vcgeq_u32(vandq_u32(v, abs), least);
        }
        bytes[j] = cc_neon_low_bytes(m[0], m[1], m[2], m[3]);
    }
    return cc_neon_bits64(bytes);
}

static inline size_t pack64(const uint8_t *x, uint64_t w, uint8_t *out)
{
    const struct cc_neon_places places = cc_neon_places(w);
    for (unsigned i = 0; i < 64; i += 4) {
        uint32x4_t v = vreinterpretq_u32_u8(vld1q_u8(x + 4 * i));
        vst1q_u8(out + 4 * cc_neon_place(&places, i),
                 vreinterpretq_u8_u32(cc_neon_compress(w >> i & 15, v)));
    }
    return (size_t)__builtin_popcountll(w);
}

static inline size_t indices64(uint64_t w, uint32_t base, uint32_t *out)
{
    static const uint32_t iota[4] = {0, 1, 2, 3};
    const struct cc_neon_places places = cc_neon_places(w);
    for (unsigned i = 0; i < 64; i += 4) {
        uint32x4_t v = vaddq_u32(vld1q_u32(iota), vdupq_n_u32(base + i));
        vst1q_u32(out + cc_neon_place(&places, i), cc_neon_compress(w >> i & 15, v));
    }
    return (size_t)__builtin_popcountll(w);
}

static inline void clear64(uint64_t w, float *x)
{
    for (unsigned i = 0; i < 64; i += 4) {
        uint32x4_t v = vreinterpretq_u32_f32(vld1q_f32(x + i));
        v = vbicq_u32(v, cc_neon_lanes((uint32_t)(w >> i)));
        vst1q_f32(x + i, vreinterpretq_f32_u32(v));
    }
}
