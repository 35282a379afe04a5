/* fp32: the values as they are, the baseline that every speedup refers to (CC_RAW_SCHEME). */
#include "schemes/floats.h"

CC_FLOATS(k_stream(), 4)

const struct cc_scheme cc_scheme_fp32 = {
    .id = "fp32",
    .title = "32-bit floats",
    .reference = "the baseline",
    .layout = "n x f32",
    .flags = CC_VERBATIM,
    .kind = CC_SUM_F32,
    CC_FLOATS_MEMBERS,
};
