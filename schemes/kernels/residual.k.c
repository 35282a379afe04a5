/* Adding 16 random bits below the upper half and cutting it off rounds at random: the carry comes
 * with the probability of the fraction that is cut off. */
#include "schemes/kernels/residual.h"

#include "core/bytes.h"

static void widen(const uint16_t *restrict in, float *restrict out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = cc_bits_f32((uint32_t)in[i] << 16);
}

static void narrow(const float *restrict in, struct cc_key key, uint32_t first,
                   uint16_t *restrict out, size_t n)
{
    uint32_t index = first; /* as wide as the values, for vectors */
    for (size_t i = 0; i < n; i++, index++) {
        const uint32_t bits = cc_f32_bits(in[i]);
        uint32_t upper = ((bits & 0x7fffffffu) + (cc_random(key, index) >> 16)) >> 16;
        upper = upper < 0x7f7fu ? upper : 0x7f7fu;
        out[i] = (uint16_t)(upper | (bits >> 16 & 0x8000u));
    }
}

static void load(const uint8_t *restrict code, float scale, float *restrict out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (float)(int8_t)code[i] * scale;
}

static float average(float *restrict rest, float scale, uint8_t *restrict code, size_t n)
{
    const float rounder = 0x1.8p23f;
    uint32_t most = 0;
    for (size_t i = 0; i < n; i++) {
        const float kept = 0.8f * ((float)(int8_t)code[i] * scale), taken = 0.2f * rest[i];
        rest[i] = kept + taken;
        const uint32_t mag = cc_f32_bits(rest[i]) & 0x7fffffffu;
        most = mag > most ? mag : most;
    }
    const float by = cc_bits_f32(most) / 127.0f, divisor = by > 0 ? by : 1;
    for (size_t i = 0; i < n; i++) {
        const float v = rest[i] / divisor;
        const int32_t q = (int32_t)(cc_f32_bits(v + rounder) - cc_f32_bits(rounder));
        /* A subnormal scale may be rounded down by a third. */
        code[i] = (uint8_t)(q < -127 ? -127 : q > 127 ? 127 : q);
    }
    return by;
}

const struct k_residual CC_K(k_residual) = {
    .widen = widen, .narrow = narrow, .load = load, .average = average};
