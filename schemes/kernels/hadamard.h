/* The Hadamard rotation of groups of values: v = H x / sqrt h, H the matrix of Sylvester's
 * construction with h rows. It is its own inverse but for rounding.
 *
 * A value is first multiplied by the float next to 1 / sqrt h. Then, for s = 1, 2, 4, .. h / 2,
 * values a and b that are s apart become a + b and a - b.
 *
 * With signs, v = H D x / sqrt h, D a diagonal of 1 and -1: a group that is constant, or alike in
 * another way to a row of H, does not become one large value. Its inverse is D H v / sqrt h. */
#ifndef CC_SCHEMES_KERNELS_HADAMARD_H
#define CC_SCHEMES_KERNELS_HADAMARD_H

#include <stddef.h>

#include "core/isa.h"

/* Values of a group: powers of two. */
enum { K_HADAMARD_LEAST = 16, K_HADAMARD_MOST = 512 };

struct k_hadamard {
    /* Rotates each whole group of h values of x to y, which may be x; those behind the last one
     * stay as they are. */
    void (*rotate)(const float *x, float *y, size_t n, size_t h);
    /* The same with the n signs, each 1 or -1, and its inverse. Values behind the last whole group
     * stay without signs. */
    void (*rotate_signed)(const float *x, float *y, size_t n, size_t h, const float *sign);
    void (*rotate_back)(const float *x, float *y, size_t n, size_t h, const float *sign);
};
CC_KERNELS(k_hadamard)

#endif
