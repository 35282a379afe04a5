/* fp4: floats of 4 bits in blocks with a power of two as scale.
 *
 * e2m1 are the numbers of mxfp4 (0, 0.5, 1, 1.5, 2, 3, 4, 6), which this is with blocks of 32; e3m0
 * are 0 and the powers of two from 0.25 to 16: with a wider range, and relative errors alike.
 * Scales are as in mxfp4, but to the nearest e3m0 has one more where a value is nearer to 32 scales
 * than to 16, so that no exponent is lost.
 *
 * Source: Douillard et al., Streaming DiLoCo, 2025, section 2.4 (e3m0, added in float32; scales are
 * ours); OCP Microscaling Formats (MX) Specification, version 1.0, 2023. */
#include "core/memory.h"
#include "schemes/blocks.h"
#include "schemes/residual.h"

static const char *const formats[] = {"e2m1", "e3m0", NULL};

struct params {
    int64_t ef, format, block, rounding, hadamard, flip;
};

static const struct cc_param table[] = {
    CC_PARAM_CHOICE(struct params, format, 0, formats, "bits of exponent and fraction"),
    CC_PARAM_BLOCK(struct params, 32, 16, CC_BLOCK_MOST,
                   "values with a scale, a power of two from 16 on"),
    CC_PARAMS_ROUNDING(struct params, 1),
    {.name = NULL},
};

static int check(const void *params, struct cc_error *e)
{
    const struct params *p = params;
    return cc_blocks_check(p->block, CC_BLOCK_MOST, false, p->hadamard, p->flip, e);
}

static struct cc_block_form form(const struct params *p)
{
    const bool e2m1 = p->format == 0;
    return (struct cc_block_form){.codes = e2m1 ? &k_blocks()->e2m1 : &k_blocks()->e3m0,
                                  .scale = CC_SCALE_E8M0,
                                  .bits = 4,
                                  .largest = e2m1 ? 6.0f : 16.0f,
                                  .most_scale = e2m1 ? 0x1p125f : 0x1p123f,
                                  .block = (size_t)p->block,
                                  .hadamard = (size_t)p->hadamard,
                                  .flip = (uint32_t)p->flip,
                                  .random = p->rounding == 1};
}

CC_BLOCKS(form)

const struct cc_scheme cc_scheme_fp4 = {
    .id = "fp4",
    .title = "4-bit floats with a power of two for each block",
    .reference = "Douillard et al., Streaming DiLoCo, 2025, section 2.4; OCP MX, version 1.0",
    .layout = "u8 exponent of each block, n x 4-bit e2m1 or e3m0",
    .flags = CC_LOSSY | CC_STOCHASTIC | CC_FEEDBACK | CC_UNBIASED,
    .kind = CC_OPAQUE,
    .params = table,
    .params_bytes = sizeof(struct params),
    .check = check,
    CC_BLOCKS_MEMBERS,
};
