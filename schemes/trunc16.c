/* trunc16: the upper half of a binary32, the lower half cut off: bf16 without rounding, biased
 * towards zero. Source: Li et al., Pipe-SGD, NeurIPS 2018, section 3.2. Conversion and payload:
 * floats.h, kernels/half.k.c. */
#include "schemes/floats.h"

CC_FLOATS(&k_half()->trunc16, 2)

const struct cc_scheme cc_scheme_trunc16 = {
    .id = "trunc16",
    .title = "bfloat16, truncated",
    .reference = "Li et al. 2018, Pipe-SGD, section 3.2",
    .layout = "n x u16: upper half of binary32, the lower cut off",
    .flags = CC_LOSSY,
    .kind = CC_OPAQUE,
    CC_FLOATS_MEMBERS,
};
