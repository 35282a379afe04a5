/* How far decoded values are from the gradient, in one pass over both. */
#ifndef CC_BENCH_COMPARE_H
#define CC_BENCH_COMPARE_H

#include <stddef.h>

#include "core/isa.h"

struct cc_compared {
    double error_sq;  /* sum (y - g)^2 */
    double raw_sq;    /* sum g^2 */
    double output_sq; /* sum y^2 */
    double dot;       /* sum y g */
    double max_error; /* max |y - g| */
};

struct k_compare {
    /* Adds the n values' sums to *c (double, in blocks of 4,096 and lanes of 16 as in
     * core/reduce.h), and y - g to cumulative[]. */
    void (*compare)(const float *y, const float *g, float *cumulative, size_t n,
                    struct cc_compared *c);
};
CC_KERNELS(k_compare)

#endif
