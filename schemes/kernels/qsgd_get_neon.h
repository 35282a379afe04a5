/* Sixteen codes at a time, for qsgd_get.k.c, which includes this file. Four codes lie in at most
 * eight bytes; a permutation moves the bytes of each to a lane of 32 bits, a shift brings the code
 * to the lane's upper bits, which makes it a level times a power of two. s is multiplied by the
 * same power, so the fractions are the same. No include guard: it is a part of qsgd_get.k.c. */
#include "core/neon.h"
#include "schemes/kernels/neon.h"

struct reader {
    const struct cc_qsgd_form *form;
    const uint8_t *end; /* the end of the bytes that may be read */
    /* For four codes from bit 0 of a byte on, and from bit 4. */
    uint8x16_t bytes[2];
    int32x4_t shifts[2];
    int32x4_t mask; /* selects a lane's upper bits */
    int32x4_t top;  /* s times that power */
    float32x4_t inverse, rest;
};

static struct reader reader_of(const struct cc_qsgd_form *f, const uint8_t *end)
{
    const int32_t top = f->s << (32 - f->width);
    const struct divisor d = divisor_of(top);
    struct reader r = {.form = f,
                       .end = end,
                       .mask = vdupq_n_s32((int32_t)(UINT32_MAX << (32 - f->width))),
                       .top = vdupq_n_s32(top),
                       .inverse = vdupq_n_f32(d.inverse),
                       .rest = vdupq_n_f32(d.rest)};
    for (unsigned k = 0; k < 2; k++) {
        uint8_t bytes[16];
        int32_t shifts[4];
        for (unsigned i = 0; i < 16; i++) {
            const unsigned bit = 4 * k + i / 4 * f->width;
            bytes[i] = (uint8_t)(bit / 8 + i % 4);
            shifts[i / 4] = (int32_t)(32 - f->width - bit % 8);
        }
        r.bytes[k] = vld1q_u8(bytes);
        r.shifts[k] = vld1q_s32(shifts);
    }
    return r;
}

/* Reads four codes: those from code 4 k on. */
static inline int32x4_t read_levels(const struct reader *r, const uint8_t *in, unsigned k)
{
    const unsigned bit = 4 * k * r->form->width, odd = bit / 4 % 2;
    uint8x16_t code = vqtbl1q_u8(vld1q_u8(in + bit / 8), r->bytes[odd]);
    return vandq_s32(vshlq_s32(vreinterpretq_s32_u8(code), r->shifts[odd]), r->mask);
}

static ALWAYS_INLINE bool codes_lanes(const struct reader *r, const uint8_t *in, float norm,
                                      const struct cc_qsgd_use *use, bool add, bool nontemporal,
                                      float *y, size_t n)
{
    const float32x4_t norms = vdupq_n_f32(norm), scales = vdupq_n_f32(use->scale);
    int32x4_t most = vdupq_n_s32(0);
    size_t i = 0;
    for (; i + 16 <= n; i += 16, in += 2 * r->form->width) {
        uint8_t last[48];
        const uint8_t *from = in;
        float32x4_t v[4];
        if (r->end - in < (ptrdiff_t)sizeof last) {
            memcpy(last, in, (size_t)(r->end - in));
            from = last;
        }
        if (add)
            __builtin_prefetch(y + i + AHEAD_OF_Y, 1, 3);
        for (unsigned k = 0; k < 4; k++) {
            int32x4_t level = read_levels(r, from, k);
            most = vmaxq_s32(most, vqabsq_s32(level));
            float32x4_t a = vcvtq_f32_s32(level);
            float32x4_t q = vfmaq_f32(vmulq_f32(a, r->rest), a, r->inverse); /* as `quotient` */
            v[k] = vmulq_f32(norms, q);
            if (add)
                v[k] = vaddq_f32(vld1q_f32(y + i + 4 * k), vmulq_f32(scales, v[k]));
        }
        for (unsigned k = 0; k < 4; k += 2) {
            float *to = y + i + 4 * k;
            if (nontemporal) {
                cc_neon_stream(to, vreinterpretq_u8_f32(v[k]), vreinterpretq_u8_f32(v[k + 1]));
            } else {
                vst1q_f32(to, v[k]);
                vst1q_f32(to + 4, v[k + 1]);
            }
        }
    }
    return (i == n || codes_tail(r->form, in, norm, use, y + i, n - i)) &&
           vmaxvq_u32(vcgtq_s32(most, r->top)) == 0;
}
