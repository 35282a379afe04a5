/* Float32 values, as they are or in a shorter format, to and from payload bytes at any address. */
#ifndef CC_SCHEMES_KERNELS_STREAM_H
#define CC_SCHEMES_KERNELS_STREAM_H

#include <stddef.h>
#include <stdint.h>

#include "core/isa.h"

struct k_stream {
    /* out = x; returns the max of the bits of |x[i]|, which shows non-finite values. */
    uint32_t (*copy)(const float *x, uint8_t *out, size_t n);
    /* y = in */
    void (*load)(const uint8_t *in, float *y, size_t n);
    /* y += scale * in */
    void (*add)(const uint8_t *in, float scale, float *y, size_t n);
};
CC_KERNELS(k_stream)

#endif
