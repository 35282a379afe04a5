/* mxfp4: floats of 4 bits, e2m1, in blocks of 32 with a power of two as scale.
 *
 * A code has a sign, 2 bits of exponent and 1 of fraction: 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their
 * negatives. A scale is a byte, E8M0: 2^(b - 127). Rounded at random, the expectation is the value;
 * the scale is then the least one by which no value exceeds 6. Rounded to the nearest, it is that
 * of the specification's section 6.3, by which values between 6 and 8 become 6.
 *
 * Source: OCP Microscaling Formats (MX) Specification, version 1.0, 2023; random rounding: Tseng et
 * al., Training LLMs with MXFP4, 2025. */
#include "core/memory.h"
#include "schemes/blocks.h"
#include "schemes/residual.h"

static struct cc_block_form form(const struct cc_block_params *p)
{
    return (struct cc_block_form){.codes = &k_blocks()->e2m1,
                                  .scale = CC_SCALE_E8M0,
                                  .bits = 4,
                                  .largest = 6.0f,
                                  .most_scale = 0x1p125f,
                                  .block = 32,
                                  .hadamard = (size_t)p->hadamard,
                                  .flip = (uint32_t)p->flip,
                                  .random = p->rounding == 1};
}

static int check(const void *params, struct cc_error *e)
{
    const struct cc_block_params *p = params;
    return cc_blocks_check(32, 32, false, p->hadamard, p->flip, e);
}

CC_BLOCKS(form)

const struct cc_scheme cc_scheme_mxfp4 = {
    .id = "mxfp4",
    .title = "4-bit floats with a power of two for each 32",
    .reference = "OCP Microscaling Formats (MX) Specification, version 1.0; Tseng et al. 2025",
    .layout = "u8 exponent of each 32 values, n x 4-bit e2m1",
    .flags = CC_LOSSY | CC_STOCHASTIC | CC_FEEDBACK | CC_UNBIASED,
    .kind = CC_OPAQUE,
    .params = cc_block_params,
    .params_bytes = sizeof(struct cc_block_params),
    .check = check,
    CC_BLOCKS_MEMBERS,
};
