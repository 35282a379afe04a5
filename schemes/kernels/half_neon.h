/* Eight values at a time, for half.k.c, which includes this file. No include guard: it is a part of
 * half.k.c. */
#include <arm_neon.h>

#define FP16_LANES 8

/* Returns the largest bits of |x| of two values each. */
static inline uint32x4_t fp16_lanes_encode(const float *x, uint8_t *out)
{
    const float32x4_t most = vdupq_n_f32(65504.0f), least = vdupq_n_f32(-65504.0f);
    float32x4_t a = vld1q_f32(x), b = vld1q_f32(x + 4);
    float16x4_t low = vcvt_f16_f32(vmaxnmq_f32(vminnmq_f32(a, most), least));
    float16x8_t all = vcvt_high_f16_f32(low, vmaxnmq_f32(vminnmq_f32(b, most), least));
    vst1q_u8(out, vreinterpretq_u8_f16(all));
    return vmaxq_u32(vreinterpretq_u32_f32(vabsq_f32(a)), vreinterpretq_u32_f32(vabsq_f32(b)));
}

static inline float32x4x2_t fp16_lanes_decode(const uint8_t *in)
{
    float16x8_t all = vreinterpretq_f16_u8(vld1q_u8(in));
    return (float32x4x2_t){{vcvt_f32_f16(vget_low_f16(all)), vcvt_high_f32_f16(all)}};
}
