/* The way back from a selection: values one after the other to their places among zeros. */
#ifndef CC_SCHEMES_KERNELS_EXPAND_H
#define CC_SCHEMES_KERNELS_EXPAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/isa.h"

struct k_expand {
    /* How many bits of a bit array are set. */
    size_t (*popcount)(const uint8_t *bits, size_t n);
    /* y[i] = the next of the f32 in values where the bit is set, else 0; returns how many. There
     * are `left` >= that many values. past: write past the cache, where y begins on CC_ALIGN, and
     * follow with k_copy()->fence. */
    size_t (*expand)(const uint8_t *bits, size_t n, const uint8_t *values, size_t left,
                     bool nontemporal, float *y);
    /* y[i] += scale * the next value where the bit is set, likewise. */
    size_t (*expand_add)(const uint8_t *bits, size_t n, const uint8_t *values, size_t left,
                         float scale, float *y);
    /* Whether each of n numbers, u32 `stride` bytes apart, shifted down by `shift` bits, is larger
     * than the one before. Ready-made for strides of 4 and 8. */
    bool (*ascend)(const uint8_t *in, size_t n, size_t stride, unsigned shift);
};
CC_KERNELS(k_expand)

#endif
