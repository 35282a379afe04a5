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

const struct k_residual CC_K(k_residual) = {.widen = widen, .narrow = narrow};
