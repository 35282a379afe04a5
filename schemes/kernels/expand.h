/* Expansion of a selection: puts packed values back to their places among zeros. */
#ifndef CC_SCHEMES_KERNELS_EXPAND_H
#define CC_SCHEMES_KERNELS_EXPAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/isa.h"

struct k_expand {
    /* The number of set bits of a bit array. */
    size_t (*popcount)(const uint8_t *bits, size_t n);
    /* y[i] = the next f32 of `values` where the bit is set, else 0; returns the number of set bits.
     * `left`: the values that may be read; SIZE_MAX is returned if there are more set bits, as
     * there may be in an array that changes after they were counted. nontemporal: writes around the
     * cache; y must begin on CC_ALIGN, and the caller follows with k_copy()->fence. */
    size_t (*expand)(const uint8_t *bits, size_t n, const uint8_t *values, size_t left,
                     bool nontemporal, float *y);
    /* y[i] += scale * the next value where the bit is set; other values are not touched. */
    size_t (*expand_add)(const uint8_t *bits, size_t n, const uint8_t *values, size_t left,
                         float scale, float *y);
    /* Whether n numbers ascend strictly: u32 that are `stride` bytes apart, shifted right by
     * `shift`. Fast for strides of 4 and 8. */
    bool (*ascend)(const uint8_t *in, size_t n, size_t stride, unsigned shift);
    /* Whether n numbers ascend strictly. */
    bool (*ascend16)(const uint16_t *in, size_t n);
};
CC_KERNELS(k_expand)

#endif
