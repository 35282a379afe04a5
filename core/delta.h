/* Values beside those of a base: a model beside the one that it was trained from. Each word is
 * replaced by its difference from the base's: the exponent's plus the middle of its range, modulo
 * the number of finite exponents, and sign and mantissa bit by bit. Equal words become 0. Where the
 * base is known this can be undone, to the last bit; lossless schemes find more to save then. */
#ifndef CC_CORE_DELTA_H
#define CC_CORE_DELTA_H

#include <stddef.h>

#include "core/number.h"

/* Replaces x[0, n), values of the format, by their differences, which are such values, too.
 * Infinity and NaN stay, but in E4M3, which has no exponent for them alone. `base` may have any
 * values: what counts are their words in the format, FP32 and BF16 cut off, the others rounded. */
void cc_delta_make(enum cc_number format, const float *base, size_t n, float *x);

/* The reverse, with the same base. */
void cc_delta_undo(enum cc_number format, const float *base, size_t n, float *x);

#endif
