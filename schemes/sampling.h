/* Random samples of a tensor from which values are selected. */
#ifndef CC_SCHEMES_SAMPLING_H
#define CC_SCHEMES_SAMPLING_H

#include <stddef.h>

#include "schemes/selection.h"

/* Writes `count` values, 0 < count <= n, to out: one from each of as many equal ranges of x, as it
 * will be once sum and momentum are updated. docs/payloads.md (sparse) defines the places. */
void cc_sample(const struct cc_selection_input *from, size_t count, int threads,
               const struct cc_context *ctx, float *out);

#endif
