/* Copying float32 values to and from payload bytes at any address, as they are or in a shorter
 * format (half.h). */
#ifndef CC_SCHEMES_KERNELS_STREAM_H
#define CC_SCHEMES_KERNELS_STREAM_H

#include <stddef.h>
#include <stdint.h>

#include "core/isa.h"

struct k_stream {
    /* out = x; returns the largest bits of |x[i]|, which show values that are not finite. */
    uint32_t (*copy)(const float *x, uint8_t *out, size_t n);
    /* y = in; NULL: the payload is the values as they are */
    void (*load)(const uint8_t *in, float *y, size_t n);
    /* y += scale * in */
    void (*add)(const uint8_t *in, float scale, float *y, size_t n);
};
CC_KERNELS(k_stream)

#endif
