/* Float32 values as signed levels of a bucket's norm, and levels as bits. */
#ifndef CC_SCHEMES_KERNELS_QSGD_H
#define CC_SCHEMES_KERNELS_QSGD_H

#include <stddef.h>
#include <stdint.h>

#include "core/isa.h"
#include "core/random.h"

struct k_qsgd {
    /* levels = x / norm * s, rounded at random to one of the two neighbouring integers; x[i] draws
     * the number of index first + i (modulo 2^32). norm > 0, |x[i]| <= norm, s <= 32767. Returns
     * how many are not 0. */
    size_t (*quantize)(const float *x, float norm, int s, struct cc_key key, uint32_t first,
                       int16_t *levels, size_t n);
    /* Two's complement of `width` bits, 2 <= width <= 16, to and from (n * width + 7) / 8 bytes. */
    void (*pack)(const int16_t *levels, unsigned width, uint8_t *out, size_t n);
    void (*unpack)(const uint8_t *in, unsigned width, int16_t *levels, size_t n);
    /* y = norm * (levels / s); returns whether a level is outside [-s, s]. */
    int (*load)(const int16_t *levels, float norm, int s, float *y, size_t n);
    /* y += scale * (norm * (levels / s)); likewise. */
    int (*add)(const int16_t *levels, float norm, int s, float scale, float *y, size_t n);
};
CC_KERNELS(k_qsgd)

#endif
