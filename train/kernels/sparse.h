/* Products and sums of a sparse row with a dense vector. */
#ifndef CC_TRAIN_KERNELS_SPARSE_H
#define CC_TRAIN_KERNELS_SPARSE_H

#include <stddef.h>
#include <stdint.h>

#include "core/isa.h"

struct k_sparse {
    /* The row's product with w: sixteen chains of sums in double, of which chain c has the
     * non-zeros c, c + 16, ...; a product of two floats is exact in double. Indices are below 2^31.
     */
    double (*dot)(const uint32_t *index, const float *value, size_t n, const float *w);
    /* w += by x the row; the product and the sum round by themselves. */
    void (*add)(const uint32_t *index, const float *value, size_t n, float by, float *w);
};
CC_KERNELS(k_sparse)

#endif
