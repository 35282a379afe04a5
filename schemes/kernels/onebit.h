/* One bit per value, 1 = not negative, and the sums from which the two decoded values are made
 * (mqe1bit, signsgd, efsign). v[i] is x[i] + r[i], or x[i] if r is NULL. Bits are in a bit array
 * (bitarray.h); pack sets the unused ones to 0. */
#ifndef CC_SCHEMES_KERNELS_ONEBIT_H
#define CC_SCHEMES_KERNELS_ONEBIT_H

#include <stddef.h>
#include <stdint.h>

#include "core/isa.h"

/* Sums of the values below zero, and of the others. */
struct cc_classes {
    double minus, plus; /* over the tree of core/reduce.h; one of them is not finite if and only if
                           some v[i] is not */
    size_t negatives;
};

struct k_onebit {
    void (*classes)(const float *x, const float *r, size_t n, struct cc_classes *out);
    /* The sum of |v[i]| over the tree, finite if and only if every v[i] is. */
    double (*magnitude)(const float *x, const float *r, size_t n);
    /* Writes the bits of v, and unless r is NULL, r = v - (minus or plus). */
    void (*pack)(const float *x, float *r, float minus, float plus, size_t n, uint8_t *bits);
    /* y = minus or plus by the bit; add: y += minus or plus. */
    void (*unpack)(const uint8_t *bits, float minus, float plus, float *y, size_t n);
    void (*add)(const uint8_t *bits, float minus, float plus, float *y, size_t n);
};
CC_KERNELS(k_onebit)

#endif
