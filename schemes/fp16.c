/* fp16: IEEE binary16 (5 bits of exponent, 10 of fraction), rounded to the nearest, ties to even,
 * subnormals kept, saturating at 65504. More precise than bf16, but values below 2^-25 become 0.
 * Conversion and payload: floats.h, kernels/half.k.c. */
#include "schemes/floats.h"

CC_FLOATS(&k_half()->fp16, 2)

const struct cc_scheme cc_scheme_fp16 = {
    .id = "fp16",
    .title = "16-bit IEEE floats",
    .reference = "IEEE 754-2008, binary16",
    .layout = "n x u16: binary16, nearest even, saturating at 65504",
    .flags = CC_LOSSY,
    .kind = CC_OPAQUE,
    CC_FLOATS_MEMBERS,
};
