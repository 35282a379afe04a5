/* Residuals as bf16, the upper half of a binary32. */
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
};
CC_KERNELS(k_residual)

#endif
