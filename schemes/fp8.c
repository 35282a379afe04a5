/* fp8: floats of 8 bits and a binary32 scale, for the whole tensor or for each block of it.
 *
 * e4m3 has 4 bits of exponent and 3 of fraction, numbers up to 448 and no infinity; e5m2 has 5 and
 * 2, and numbers up to 57,344. The scale is max|x| over the largest number, so that the largest
 * value is exact but for rounding and none is limited.
 *
 * Source: OCP 8-bit Floating Point Specification (OFP8), revision 1.0, 2023; a scale for each
 * tensor: Micikevicius et al., FP8 Formats for Deep Learning, 2022, section 3; for each block of
 * 128: DeepSeek-V3, 2024, section 3.3. */
#include "core/memory.h"
#include "schemes/blocks.h"
#include "schemes/residual.h"

enum { MOST_BLOCK = 512 };

static const char *const formats[] = {"e4m3", "e5m2", NULL};

struct params {
    int64_t ef, format, block, rounding, hadamard, flip;
};

static const struct cc_param table[] = {
    CC_PARAM_CHOICE(struct params, format, 0, formats, "bits of exponent and fraction"),
    CC_PARAM_BLOCK(struct params, 0, 0, MOST_BLOCK,
                   "values with a scale, a power of two from 16 on; 0: one for the tensor"),
    CC_PARAMS_ROUNDING(struct params, 0),
    {.name = NULL},
};

static int check(const void *params, struct cc_error *e)
{
    const struct params *p = params;
    return cc_blocks_check(p->block, MOST_BLOCK, true, p->hadamard, p->flip, e);
}

static struct cc_block_form form(const struct params *p)
{
    const bool e4m3 = p->format == 0;
    return (struct cc_block_form){.codes = e4m3 ? &k_blocks()->e4m3 : &k_blocks()->e5m2,
                                  .scale = CC_SCALE_F32,
                                  .bits = 8,
                                  .largest = e4m3 ? 448.0f : 57344.0f,
                                  .most_scale = e4m3 ? 0x1.249248p+119f : 0x1.249248p+112f,
                                  .block = (size_t)p->block,
                                  .hadamard = (size_t)p->hadamard,
                                  .flip = (uint32_t)p->flip,
                                  .random = p->rounding == 1};
}

CC_BLOCKS(form)

const struct cc_scheme cc_scheme_fp8 = {
    .id = "fp8",
    .title = "8-bit floats",
    .reference = "OCP 8-bit Floating Point Specification, revision 1.0; Micikevicius et al. 2022",
    .layout = "f32 scales, of the tensor or of each block, n x u8: e4m3 or e5m2",
    .flags = CC_LOSSY | CC_STOCHASTIC | CC_FEEDBACK,
    .kind = CC_OPAQUE,
    .params = table,
    .params_bytes = sizeof(struct params),
    .check = check,
    CC_BLOCKS_MEMBERS,
};
