/* Residuals as bf16, the upper half of a binary32, and moving averages of them as bytes with a
 * scale. */
#ifndef CC_SCHEMES_KERNELS_RESIDUAL_H
#define CC_SCHEMES_KERNELS_RESIDUAL_H

#include <stddef.h>
#include <stdint.h>

#include "core/isa.h"
#include "core/random.h"

struct k_residual {
    void (*widen)(const uint16_t *in, float *out, size_t n);
    /* Rounds up or down at random, so that the expectation is the value; beyond the largest finite
     * number, to that. Value i draws cc_random(key, first + i). */
    void (*narrow)(const float *in, struct cc_key key, uint32_t first, uint16_t *out, size_t n);
    /* out = code * scale, with codes in two's complement. */
    void (*load)(const uint8_t *code, float scale, float *out, size_t n);
    /* Replaces the codes of e by those of 0.8 e + 0.2 rest, which it leaves in `rest`, and returns
     * their scale: the largest magnitude / 127. */
    float (*average)(float *rest, float scale, uint8_t *code, size_t n);
};
CC_KERNELS(k_residual)

#endif
