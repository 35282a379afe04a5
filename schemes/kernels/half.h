/* Conversion of float32 to 16-bit formats and back; payload bytes may have any address. */
#ifndef CC_SCHEMES_KERNELS_HALF_H
#define CC_SCHEMES_KERNELS_HALF_H

#include "core/element.h"
#include "schemes/kernels/stream.h"

struct k_half {
    struct k_stream fp16;    /* binary16, rounded to the nearest, saturating */
    struct k_stream bf16;    /* upper half of binary32, rounded to the nearest, saturating */
    struct k_stream trunc16; /* upper half of binary32, truncated; read back as bf16 is */
};
CC_KERNELS(k_half)

#endif
