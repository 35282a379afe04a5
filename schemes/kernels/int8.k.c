#include "schemes/kernels/int8.h"

#include "core/bytes.h"

/* Adding this rounds a float of small magnitude to an integer, ties to even, and leaves that
 * integer in the low bits of the sum. */
#define ROUNDER 0x1.8p23f

static inline float rounded_sum(float x, float divisor)
{
    float v = x / divisor;
    v = v < 127.0f ? v : 127.0f;
    v = v > -127.0f ? v : -127.0f;
    return v + ROUNDER;
}

static void quantize(const float *restrict x, float divisor, uint8_t *restrict out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (uint8_t)cc_f32_bits(rounded_sum(x[i], divisor));
}

static void quantize_ef(const float *restrict x, float *restrict r, float divisor, float scale,
                        uint8_t *restrict out, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        float v = x[i] + r[i];
        float sum = rounded_sum(v, divisor);
        float decoded = (sum - ROUNDER) * scale;
        out[i] = (uint8_t)cc_f32_bits(sum);
        r[i] = v - decoded;
    }
}

static int load(const uint8_t *restrict in, float scale, float *restrict y, size_t n)
{
    uint8_t bad = 0;
    for (size_t i = 0; i < n; i++) {
        bad |= in[i] == 0x80;
        y[i] = (float)(int8_t)in[i] * scale;
    }
    return bad;
}

static int add(const uint8_t *restrict in, float scale, float factor, float *restrict y, size_t n)
{
    uint8_t bad = 0;
    for (size_t i = 0; i < n; i++) {
        bad |= in[i] == 0x80;
        float decoded = (float)(int8_t)in[i] * scale;
        float product = factor * decoded;
        y[i] += product;
    }
    return bad;
}

const struct k_int8 CC_K(k_int8) = {
    .quantize = quantize,
    .quantize_ef = quantize_ef,
    .load = load,
    .add = add,
};
