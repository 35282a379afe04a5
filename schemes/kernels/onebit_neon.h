/* 16 values at a time, for onebit.k.c, which includes this file. No include guard: it is a part of
 * onebit.k.c. */
#include "schemes/kernels/neon.h"

static inline float32x4_t load_sum(const float *x, const float *r)
{
    float32x4_t v = vld1q_f32(x);
    return r != NULL ? vaddq_f32(v, vld1q_f32(r)) : v;
}

static inline void add_wide(float64x2_t sum[2], uint32x4_t bits)
{
    float32x4_t v = vreinterpretq_f32_u32(bits);
    sum[0] = vaddq_f64(sum[0], vcvt_f64_f32(vget_low_f32(v)));
    sum[1] = vaddq_f64(sum[1], vcvt_high_f64_f32(v));
}

static inline void classify_rows(struct lanes *t, const float *x, const float *r, size_t rows)
{
    float64x2_t minus[8], plus[8];
    uint32x4_t negatives = vdupq_n_u32(0);
    for (size_t k = 0; k < 8; k++)
        minus[k] = plus[k] = vdupq_n_f64(0);
    for (size_t i = 0; i < CC_SUM_LANES * rows; i += CC_SUM_LANES) {
        next_page(x, r, i);
        for (size_t k = 0; k < 4; k++) {
            float32x4_t v = load_sum(x + i + 4 * k, r != NULL ? r + i + 4 * k : NULL);
            uint32x4_t bits = vreinterpretq_u32_f32(v);
            uint32x4_t sign = vreinterpretq_u32_s32(vshrq_n_s32(vreinterpretq_s32_f32(v), 31));
            add_wide(minus + 2 * k, vandq_u32(bits, sign));
            add_wide(plus + 2 * k, vbicq_u32(bits, sign));
            negatives = vsubq_u32(negatives, vcltzq_f32(v));
        }
    }
    for (size_t k = 0; k < 8; k++) {
        vst1q_f64(t->minus + 2 * k, minus[k]);
        vst1q_f64(t->plus + 2 * k, plus[k]);
    }
    t->negatives += vaddvq_u32(negatives);
}

#define STEP 16
static inline void pack_step(const float *x, float *r, float minus, float plus, uint8_t *bits)
{
    uint32x4_t m[4];
    for (size_t k = 0; k < 4; k++) {
        float32x4_t v = load_sum(x + 4 * k, r != NULL ? r + 4 * k : NULL);
        m[k] = vcgezq_f32(v);
        if (r != NULL)
            vst1q_f32(r + 4 * k,
                      vsubq_f32(v, vbslq_f32(m[k], vdupq_n_f32(plus), vdupq_n_f32(minus))));
    }
    cc_put_u16(bits, cc_neon_bits16(cc_neon_low_bytes(m[0], m[1], m[2], m[3])));
}

static inline void unpack_step(const uint8_t *bits, float minus, float plus, float *y, int add)
{
    static const uint32_t select[4] = {1, 2, 4, 8};
    const uint32x4_t all = vdupq_n_u32(cc_get_u16(bits)), first = vld1q_u32(select);
    for (int k = 0; k < 4; k++) {
        uint32x4_t m = vtstq_u32(all, vshlq_u32(first, vdupq_n_s32(4 * k)));
        float32x4_t v = vbslq_f32(m, vdupq_n_f32(plus), vdupq_n_f32(minus));
        vst1q_f32(y + 4 * k, add ? vaddq_f32(vld1q_f32(y + 4 * k), v) : v);
    }
}
