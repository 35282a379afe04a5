/* Float32 values as 16 bits each, to and from payload bytes at any address. */
#ifndef CC_SCHEMES_KERNELS_HALF_H
#define CC_SCHEMES_KERNELS_HALF_H

#include <stddef.h>
#include <stdint.h>

#include "core/isa.h"

struct cc_half_format {
    /* out = x; returns the max of the bits of |x[i]|, which shows non-finite values. */
    uint32_t (*encode)(const float *x, uint8_t *out, size_t n);
    /* y = in */
    void (*load)(const uint8_t *in, float *y, size_t n);
    /* y += scale * in */
    void (*add)(const uint8_t *in, float scale, float *y, size_t n);
};

struct k_half {
    struct cc_half_format fp16;    /* binary16, to the nearest, saturating */
    struct cc_half_format bf16;    /* upper half of binary32, to the nearest, saturating */
    struct cc_half_format trunc16; /* upper half of binary32, cut off; read back as bf16 is */
};
CC_KERNELS(k_half)

#endif
