/* The loops of base3.k.c over whole vectors, for NEON. Each returns the number of values it did. No
 * include guard: it is a part of base3.k.c, which includes it after its own definitions. */
#include "core/neon.h"
#include "schemes/kernels/neon.h"

/* v - m * trit */
static inline float32x4_t left_over(float32x4_t v, float32x4_t m, uint32x4_t plus, uint32x4_t minus)
{
    float32x4_t negative =
        vreinterpretq_f32_u32(vandq_u32(minus, vreinterpretq_u32_f32(vnegq_f32(m))));
    return vsubq_f32(v, vbslq_f32(plus, m, negative));
}

/* bytes += weight * trit, for 16 bytes. t: 1, 0 or -1 in each lane. */
static inline void trits_add(const uint32x4_t t[4], uint8_t weight, uint8_t *bytes)
{
    uint8x16_t trit = cc_neon_low_bytes(t[0], t[1], t[2], t[3]);
    vst1q_u8(bytes, vmlaq_u8(vld1q_u8(bytes), trit, vdupq_n_u8(weight)));
}

/* x + r, or x where r is NULL. */
static inline float32x4_t load_sum(const float *x, const float *r)
{
    float32x4_t v = vld1q_f32(x);
    return r != NULL ? vaddq_f32(v, vld1q_f32(r)) : v;
}

static inline size_t round_vectors(const float *restrict x, float *restrict r, float m, float half,
                                   uint8_t weight, uint8_t *restrict bytes, size_t n)
{
    const float32x4_t scale = vdupq_n_f32(m), least = vdupq_n_f32(half);
    const float32x4_t most = vdupq_n_f32(-half);
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        uint32x4_t t[4];
        prefetch(x + i, AHEAD);
        if (r != NULL)
            prefetch(r + i, AHEAD);
        for (size_t k = 0; k < 4; k++) {
            size_t at = i + 4 * k;
            float32x4_t v = load_sum(x + at, r != NULL ? r + at : NULL);
            uint32x4_t plus = vcgeq_f32(v, least), minus = vcleq_f32(v, most);
            t[k] = vsubq_u32(minus, plus);
            if (r != NULL)
                vst1q_f32(r + at, left_over(v, scale, plus, minus));
        }
        trits_add(t, weight, bytes + i);
    }
    return i;
}

/* Where k * unit < a without rounding: where the rounded product equals a, the rounding error
 * decides. */
static inline uint32x4_t below(uint32x4_t k, float32x4_t unit, float32x4_t a)
{
    float32x4_t number = vcvtq_f32_u32(k), product = vmulq_f32(number, unit);
    float32x4_t lost = vfmaq_f32(vnegq_f32(product), number, unit);
    uint32x4_t equal = vandq_u32(vceqq_f32(product, a), vcltzq_f32(lost));
    return vorrq_u32(equal, vcltq_f32(product, a));
}

static inline size_t draw_vectors(const float *restrict x, float *restrict r, float m,
                                  struct cc_key key, uint32_t index, uint8_t weight,
                                  uint8_t *restrict bytes, size_t n)
{
    const float32x4_t scale = vdupq_n_f32(m), unit = vdupq_n_f32(m * 0x1p-24f);
    const uint32x4_t second = vdupq_n_u32(key.b);
    uint32x4_t lane = cc_neon_index(key, index);
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        uint32x4_t t[4];
        prefetch(x + i, r == NULL ? AHEAD_DRAW : AHEAD);
        if (r != NULL)
            prefetch(r + i, AHEAD);
        for (size_t k = 0; k < 4; k++) {
            size_t at = i + 4 * k;
            float32x4_t v = load_sum(x + at, r != NULL ? r + at : NULL);
            uint32x4_t random = vshrq_n_u32(cc_neon_random(lane, second), 8);
            lane = vaddq_u32(lane, vdupq_n_u32(4));
            uint32x4_t sent = below(random, unit, vabsq_f32(v));
            uint32x4_t negative = vreinterpretq_u32_s32(vshrq_n_s32(vreinterpretq_s32_f32(v), 31));
            uint32x4_t plus = vbicq_u32(sent, negative), minus = vandq_u32(sent, negative);
            t[k] = vsubq_u32(minus, plus);
            if (r != NULL)
                vst1q_f32(r + at, left_over(v, scale, plus, minus));
        }
        trits_add(t, weight, bytes + i);
    }
    return i;
}

static inline size_t split_vectors(const uint8_t *restrict bytes,
                                   uint8_t *const digits[CC_DIGIT_ARRAYS], size_t n, unsigned *most)
{
    const uint8x16x4_t low = vld1q_u8_x4(last_four);
    const uint8x16x2_t high = vld1q_u8_x2(last_four + 64);
    uint8x16_t all = vdupq_n_u8(0);
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        uint8x16_t b = vld1q_u8(bytes + i);
        all = vmaxq_u8(all, b);
        uint8x16_t minus = vaddq_u8(vcgeq_u8(b, vdupq_n_u8(81)), vcgeq_u8(b, vdupq_n_u8(162)));
        b = vmlaq_u8(b, minus, vdupq_n_u8(81));
        uint8x16_t others = vqtbl4q_u8(low, b);
        others = vqtbx2q_u8(others, high, vsubq_u8(b, vdupq_n_u8(64)));
        vst1q_u8(digits[0] + i, vsubq_u8(vdupq_n_u8(0), minus));
        vst1q_u8(digits[1] + i, others);
        vst1q_u8(digits[2] + i, vshrq_n_u8(others, 4));
    }
    *most = vmaxvq_u8(all);
    return i;
}

/* The values of four digits are looked up byte by byte: byte b of value d is byte 4 d + b. */
struct value_table {
    uint8x16_t value, within; /* within: the b above */
};

static inline struct value_table value_table(const float value[3])
{
    const float all[4] = {value[0], value[1], value[2], 0};
    return (struct value_table){vreinterpretq_u8_f32(vld1q_f32(all)),
                                vreinterpretq_u8_u32(vdupq_n_u32(0x03020100))};
}

/* The values of digits 4 k .. 4 k + 3, given as 4 * digit. */
static inline float32x4_t values(uint8x16_t digits4, unsigned k, const struct value_table *t)
{
    static const uint8_t each[16] = {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3};
    uint8x16_t which = vaddq_u8(vld1q_u8(each), vdupq_n_u8((uint8_t)(4 * k)));
    uint8x16_t byte = vaddq_u8(vqtbl1q_u8(digits4, which), t->within);
    return vreinterpretq_f32_u8(vqtbl1q_u8(t->value, byte));
}

/* 4 * digit for 16 digits in bits `shift` and above. */
static inline uint8x16_t digits_times4(const uint8_t *digits, unsigned shift)
{
    uint8x16_t d = vld1q_u8(digits);
    return vandq_u8(shift == 0 ? vshlq_n_u8(d, 2) : d, vdupq_n_u8(12));
}

static inline size_t set_vectors(const uint8_t *restrict digits, unsigned shift,
                                 const float value[3], float *restrict y, size_t n,
                                 bool nontemporal)
{
    const struct value_table t = value_table(value);
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        uint8x16_t digits4 = digits_times4(digits + i, shift);
        for (unsigned k = 0; k < 4; k += 2) {
            float32x4_t a = values(digits4, k, &t), b = values(digits4, k + 1, &t);
            float *to = y + i + 4 * k;
            if (nontemporal) {
                cc_neon_stream(to, vreinterpretq_u8_f32(a), vreinterpretq_u8_f32(b));
            } else {
                vst1q_f32(to, a);
                vst1q_f32(to + 4, b);
            }
        }
    }
    return i;
}

static inline size_t add_vectors(const uint8_t *restrict digits, unsigned shift,
                                 const float value[3], float *restrict y, size_t n)
{
    const struct value_table t = value_table(value);
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        uint8x16_t digits4 = digits_times4(digits + i, shift);
        prefetch(y + i, AHEAD);
        for (unsigned k = 0; k < 4; k++) {
            float *at = y + i + 4 * k;
            vst1q_f32(at, vaddq_f32(vld1q_f32(at), values(digits4, k, &t)));
        }
    }
    return i;
}
