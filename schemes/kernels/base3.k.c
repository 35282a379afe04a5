#include "schemes/kernels/base3.h"

#include "core/bytes.h"
#include "schemes/scheme.h"

static inline uint8_t append(uint8_t byte, int trit)
{
    return (uint8_t)(3 * byte + (int)CC_DIGIT_ZERO + trit);
}

static void round_plain(const float *restrict x, float half, uint8_t *restrict bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        bytes[i] = append(bytes[i], (x[i] >= half) - (x[i] <= -half));
}

static void round_trits(const float *restrict x, float *restrict r, float m, float half,
                        uint8_t *restrict bytes, size_t n)
{
    if (r == NULL) {
        round_plain(x, half, bytes, n);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        float v = x[i] + r[i];
        int trit = (v >= half) - (v <= -half);
        r[i] = v - m * (float)trit;
        bytes[i] = append(bytes[i], trit);
    }
}

/* Beyond m, which is what clipping leaves, the quotient is over 1 and u never is. With m = 0 it is
 * not a number and the comparison false: every trit is 0. */
static inline int draw_one(float v, float m, struct cc_key key, uint32_t index)
{
    float a = cc_bits_f32(cc_f32_bits(v) & 0x7fffffffu);
    int sent = cc_unit(cc_random(key, index)) < a / m;
    return v < 0 ? -sent : sent;
}

static void draw_plain(const float *restrict x, float m, struct cc_key key, uint32_t index,
                       uint8_t *restrict bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        bytes[i] = append(bytes[i], draw_one(x[i], m, key, index + (uint32_t)i));
}

static void draw_trits(const float *restrict x, float *restrict r, float m, struct cc_key key,
                       uint32_t index, uint8_t *restrict bytes, size_t n)
{
    if (r == NULL) {
        draw_plain(x, m, key, index, bytes, n);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        float v = x[i] + r[i];
        int trit = draw_one(v, m, key, index + (uint32_t)i);
        r[i] = v - m * (float)trit;
        bytes[i] = append(bytes[i], trit);
    }
}

/* The first digit's trit; what follows it, times 3, stays. */
static inline int take(uint8_t *byte)
{
    int digit = (*byte >= 81) + (*byte >= 162);
    *byte = (uint8_t)(3 * (*byte - 81 * digit));
    return digit - (int)CC_DIGIT_ZERO;
}

static void set(uint8_t *restrict bytes, float m, float *restrict y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = m * (float)take(bytes + i);
}

static void add(uint8_t *restrict bytes, float m, float scale, float *restrict y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = cc_add_scaled(y[i], scale, m * (float)take(bytes + i));
}

static unsigned copy(const uint8_t *restrict in, uint8_t *restrict out, size_t n)
{
    uint8_t most = 0;
    for (size_t i = 0; i < n; i++) {
        out[i] = in[i];
        most = in[i] > most ? in[i] : most;
    }
    return most;
}

const struct k_base3 CC_K(k_base3) = {
    .round = round_trits,
    .draw = draw_trits,
    .set = set,
    .add = add,
    .copy = copy,
};
