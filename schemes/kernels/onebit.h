/* One bit a value: 1 = not negative. v[i] is x[i] + r[i], or x[i] where r is NULL. Bits are least
 * significant bit first, at any address; unused ones are 0 in what pack writes. */
#ifndef CC_SCHEMES_KERNELS_ONEBIT_H
#define CC_SCHEMES_KERNELS_ONEBIT_H

#include <stddef.h>
#include <stdint.h>

#include "core/isa.h"

/* The values below zero and the others. */
struct cc_classes {
    double minus, plus; /* sums over the tree of core/reduce.h; one of them is not finite if and
                           only if some v[i] is not */
    size_t negatives;
};

struct k_onebit {
    void (*classes)(const float *x, const float *r, size_t n, struct cc_classes *out);
    /* The sum of |v[i]| over the tree, finite if and only if every v[i] is. */
    double (*magnitude)(const float *x, const float *r, size_t n);
    /* Writes the bits of the v[i], and r = v - (minus or plus) where r is not NULL. */
    void (*pack)(const float *x, float *r, float minus, float plus, size_t n, uint8_t *bits);
    /* y = minus or plus; y += minus or plus. */
    void (*unpack)(const uint8_t *bits, float minus, float plus, float *y, size_t n);
    void (*add)(const uint8_t *bits, float minus, float plus, float *y, size_t n);
};
CC_KERNELS(k_onebit)

#endif
