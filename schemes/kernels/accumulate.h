/* The sum of gradients. */
#ifndef CC_SCHEMES_KERNELS_ACCUMULATE_H
#define CC_SCHEMES_KERNELS_ACCUMULATE_H

#include <stddef.h>

#include "core/isa.h"

struct k_accumulate {
    /* sum += x, up to the first piece with a sum that is not finite; returns where that piece
     * begins, untouched as what follows it, or n. */
    size_t (*add)(const float *x, float *sum, size_t n);
};
CC_KERNELS(k_accumulate)

#endif
