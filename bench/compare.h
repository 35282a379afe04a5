/* The error of decoded values y against the gradient g, in one pass over both. */
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
    /* Adds the sums over n values to *c, and y - g to cumulative[]. Sums are in double, over the
     * tree of core/reduce.h. */
    void (*compare)(const float *y, const float *g, float *cumulative, size_t n,
                    struct cc_compared *c);
};
CC_KERNELS(k_compare)

#endif
