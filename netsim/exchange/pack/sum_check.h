/* Comparison of an exchange's result with the sum that it should be. */
#ifndef CC_NETSIM_EXCHANGE_PACK_SUM_CHECK_H
#define CC_NETSIM_EXCHANGE_PACK_SUM_CHECK_H

#include <stdbool.h>
#include <stddef.h>

#include "core/element.h"

/* For each of n values x_1 .. x_P of the P workers: their sum, by any order of float additions, and
 * the sum of their magnitudes. */
struct cc_sum_check {
    const float *sum, *magnitude;
    size_t n;
    int workers;
    /* Partial sums are rounded to this type on their way, once for each worker at most, and the
     * result once more. */
    enum cc_element type;
};

/* Whether each mean[i] is as close to sum / P as rounding explains: two sums in different orders
 * differ by at most 2 (P - 1) 2^-24 sum|x|, and dividing each by P, by multiplication, adds 2^-24
 * of the sum. Rounding to bf16 adds up to 2^-8 sum|x| each time, to fp16 2^-11. If not, writes
 * which value differs most, in units of what is allowed, to text[0, cap). */
bool cc_sum_check(const struct cc_sum_check *c, const float *mean, char *text, size_t cap);

#endif
