/* Conversion of float32 to 16-bit formats and back; payload bytes may have any address. */
#ifndef CC_SCHEMES_KERNELS_HALF_H
#define CC_SCHEMES_KERNELS_HALF_H

#include "schemes/kernels/stream.h"

/* The bits of the bf16 nearest to the number with these bits, ties to even; beyond the largest
 * finite one, that. */
static inline uint16_t cc_nearest_bf16(uint32_t bits)
{
    const uint32_t mag = bits & 0x7fffffffu;
    uint32_t upper = (mag + 0x7fffu + (mag >> 16 & 1u)) >> 16;
    upper = upper < 0x7f7fu ? upper : 0x7f7fu;
    return (uint16_t)(upper | (bits >> 16 & 0x8000u));
}

struct k_half {
    struct k_stream fp16;    /* binary16, rounded to the nearest, saturating */
    struct k_stream bf16;    /* upper half of binary32, rounded to the nearest, saturating */
    struct k_stream trunc16; /* upper half of binary32, truncated; read back as bf16 is */
};
CC_KERNELS(k_half)

#endif
