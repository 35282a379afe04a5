/* Uniform quantization: float32 values as signed bytes times one scale. */
#ifndef CC_SCHEMES_KERNELS_INT8_H
#define CC_SCHEMES_KERNELS_INT8_H

#include <stddef.h>
#include <stdint.h>

#include "core/element.h"
#include "core/isa.h"

struct k_int8 {
    /* By the type of x. out = x / divisor, rounded to the nearest and limited to [-127, 127];
     * divisor > 0. */
    void (*quantize[CC_ELEMENTS])(const void *x, float divisor, uint8_t *out, size_t n);
    /* The same for v = x + r; then r = v - out * scale. */
    void (*quantize_ef[CC_ELEMENTS])(const void *x, float *r, float divisor, float scale,
                                     uint8_t *out, size_t n);
    /* y = in * scale; returns 1 if a byte is -128, which is an error, else 0. */
    int (*load)(const uint8_t *in, float scale, float *y, size_t n);
    /* y += factor * (in * scale); returns the same. */
    int (*add)(const uint8_t *in, float scale, float factor, float *y, size_t n);
};
CC_KERNELS(k_int8)

#endif
