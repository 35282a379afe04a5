/* fp16: IEEE binary16, to the nearest, saturating. */
#include "schemes/floats.h"

CC_FLOATS(&k_half()->fp16, 2)

const struct cc_scheme cc_scheme_fp16 = {
    .id = "fp16",
    .title = "16-bit IEEE floats",
    .reference = "IEEE 754-2008, binary16",
    .layout = "n x u16: binary16, nearest even, saturating at 65504",
    .flags = CC_LOSSY,
    .kind = CC_OPAQUE,
    .params = table,
    .params_bytes = sizeof(struct params),
    .bound = bound,
    .traffic = traffic,
    .encode = encode,
    .decode = decode,
    .decode_add = decode_add,
};
