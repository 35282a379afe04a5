/* Copying float32 values to and from payload bytes at any address, as they are or in a shorter
 * format (half.h). */
#ifndef CC_SCHEMES_KERNELS_STREAM_H
#define CC_SCHEMES_KERNELS_STREAM_H

#include <stddef.h>
#include <stdint.h>

#include "core/element.h"
#include "core/isa.h"

struct k_stream {
    /* By the type of x: out = x; returns the largest bits of |x[i]|, which show values that are not
     * finite. */
    uint32_t (*copy[CC_ELEMENTS])(const void *x, uint8_t *out, size_t n);
    /* y = in; NULL: the payload is the values as they are */
    void (*load)(const uint8_t *in, float *y, size_t n);
    /* y += scale * in */
    void (*add)(const uint8_t *in, float scale, float *y, size_t n);
};
CC_KERNELS(k_stream)

/* In a kernel: the functions of `copy` for each type, NAME_FP32 and so on, of NAME, which takes the
 * type after x; and the member. */
#define CC_STREAM_COPY_OF(name, type)                                                              \
    static uint32_t name##_##type(const void *x, uint8_t *out, size_t n)                           \
    {                                                                                              \
        return name(x, CC_ELEMENT_##type, out, n);                                                 \
    }
#define CC_STREAM_COPIES(name)                                                                     \
    CC_STREAM_COPY_OF(name, FP32) CC_STREAM_COPY_OF(name, BF16) CC_STREAM_COPY_OF(name, FP16)
#define CC_STREAM_COPY(name) .copy = {name##_FP32, name##_BF16, name##_FP16}

#endif
