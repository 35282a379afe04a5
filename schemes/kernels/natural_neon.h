/* Sixteen values at a time, for natural.k.c, which includes this file. No include guard: it is a
 * part of natural.k.c. */
#include "core/neon.h"
#include "schemes/kernels/neon.h"

#define LANES 16
typedef float32x4x4_t lanes;

static inline lanes lanes_load(const float *p)
{
    return (lanes){{vld1q_f32(p), vld1q_f32(p + 4), vld1q_f32(p + 8), vld1q_f32(p + 12)}};
}

static inline void lanes_store(float *p, lanes v)
{
    for (size_t k = 0; k < 4; k++)
        vst1q_f32(p + 4 * k, v.val[k]);
}

static inline void lanes_stream(float *p, lanes v)
{
    for (size_t k = 0; k < 4; k += 2)
        cc_neon_stream(p + 4 * k, vreinterpretq_u8_f32(v.val[k]),
                       vreinterpretq_u8_f32(v.val[k + 1]));
}

static inline lanes lanes_set(float v)
{
    float32x4_t all = vdupq_n_f32(v);
    return (lanes){{all, all, all, all}};
}

static inline lanes lanes_mul(lanes a, lanes b)
{
    for (size_t k = 0; k < 4; k++)
        a.val[k] = vmulq_f32(a.val[k], b.val[k]);
    return a;
}

static inline lanes lanes_add(lanes a, lanes b)
{
    for (size_t k = 0; k < 4; k++)
        a.val[k] = vaddq_f32(a.val[k], b.val[k]);
    return a;
}

/* Sign and exponent make the two upper bytes of a value. */
static inline lanes lanes_value(const uint8_t *signs, const uint8_t *exponents, size_t i)
{
    const uint8x16_t e = vld1q_u8(exponents + i), zero = vdupq_n_u8(0);
    uint8x16_t sign = vcombine_u8(vdup_n_u8(signs[i / 8]), vdup_n_u8(signs[i / 8 + 1]));
    sign = vandq_u8(vtstq_u8(sign, cc_neon_bit_of_byte()), vtstq_u8(e, e));
    const uint8x16_t top = vsriq_n_u8(sign, e, 1), next = vshlq_n_u8(e, 7);
    const uint16x8_t low = vreinterpretq_u16_u8(vzip1q_u8(next, top));
    const uint16x8_t high = vreinterpretq_u16_u8(vzip2q_u8(next, top));
    const uint16x8_t none = vreinterpretq_u16_u8(zero);
    return (lanes){{vreinterpretq_f32_u16(vzip1q_u16(none, low)),
                    vreinterpretq_f32_u16(vzip2q_u16(none, low)),
                    vreinterpretq_f32_u16(vzip1q_u16(none, high)),
                    vreinterpretq_f32_u16(vzip2q_u16(none, high))}};
}
