/* 64 values at a time, for expand.k.c, which includes this file: four at a time are moved to their
 * lanes by a table of permutations. No include guard: it is a part of expand.k.c. */
#include "core/neon.h"
#include "schemes/kernels/neon.h"

#define EXPAND_READS 4

/* The values for bits i to i + 3, each in the lane of its set bit; 0 in the others. */
static inline float32x4_t next4(uint64_t w, const struct cc_neon_places *places, unsigned i,
                                const uint8_t *values)
{
    uint8x16_t next = vld1q_u8(values + 4 * cc_neon_place(places, i));
    return vreinterpretq_f32_u32(cc_neon_expand(w >> i & 15, vreinterpretq_u32_u8(next)));
}

/* With at most this many bits of 64 set, going from bit to bit takes fewer instructions: FEW_SET
 * where values are set, FEW_ADD where they are added. */
#define FEW_SET 4
#define FEW_ADD 16

static inline size_t expand64(uint64_t w, const uint8_t *values, bool nontemporal, float *y)
{
    const size_t count = (size_t)__builtin_popcountll(w);
    if (count <= FEW_SET && !nontemporal)
        return expand_few(w, 64, values, y);
    const struct cc_neon_places places = cc_neon_places(w);
    for (unsigned i = 0; i < 64; i += 8) {
        float32x4_t a = next4(w, &places, i, values), b = next4(w, &places, i + 4, values);
        if (nontemporal) {
            cc_neon_stream(y + i, vreinterpretq_u8_f32(a), vreinterpretq_u8_f32(b));
        } else {
            vst1q_f32(y + i, a);
            vst1q_f32(y + i + 4, b);
        }
    }
    return count;
}

static inline size_t expand_add64(uint64_t w, const uint8_t *values, float scale, float *y)
{
    const size_t count = (size_t)__builtin_popcountll(w);
    if (count <= FEW_ADD)
        return expand_add_few(w, values, scale, y);
    const struct cc_neon_places places = cc_neon_places(w);
    for (unsigned i = 0; i < 64; i += 4) {
        float32x4_t old = vld1q_f32(y + i), v = next4(w, &places, i, values);
        float32x4_t sum = vaddq_f32(old, vmulq_f32(vdupq_n_f32(scale), v));
        vst1q_f32(y + i, vbslq_f32(cc_neon_lanes((uint32_t)(w >> i)), sum, old));
    }
    return count;
}
