/* bf16: the upper half of a binary32 (8 bits of exponent, 7 of fraction), rounded to the nearest,
 * ties to even, saturating at the largest finite value. Same range as fp32, no scale needed.
 * Conversion and payload: floats.h, kernels/half.k.c. */
#include "schemes/floats.h"

CC_FLOATS(&k_half()->bf16, 2)

const struct cc_scheme cc_scheme_bf16 = {
    .id = "bf16",
    .title = "bfloat16, rounded",
    .reference = "Wang and Kanwar 2019, bfloat16",
    .layout = "n x u16: upper half of binary32, nearest even, saturating",
    .flags = CC_LOSSY,
    .kind = CC_OPAQUE,
    CC_FLOATS_MEMBERS,
};
