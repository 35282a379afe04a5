/* int4: integers from -7 to 7 in blocks with a bf16 scale.
 *
 * The scale is max|x| / 7 of a block, rounded up, so that no value exceeds 7; codes are x / scale,
 * rounded at random, so that the expectation is the value, or to the nearest. -8 is not used, so
 * the codes are symmetric.
 *
 * Source: Wang et al., ZeRO++, 2023, section 3.3 (gradients as 4-bit integers in blocks). Its
 * blocks are larger, with scales of 16 or 32 bits; 32 values are those of the MX formats. Blocks of
 * 128 with a rotation of 32, and of 2,048 for differences of weights: Jia et al., SDP4Bit, 2024. */
#include "core/memory.h"
#include "schemes/blocks.h"
#include "schemes/residual.h"

struct params {
    int64_t ef, block, rounding, hadamard, flip;
};

static const struct cc_param table[] = {
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
    return (struct cc_block_form){.codes = &k_blocks()->int4,
                                  .scale = CC_SCALE_BF16,
                                  .bits = 4,
                                  .largest = 7.0f,
                                  .most_scale = 0x1.24p125f,
                                  .block = (size_t)p->block,
                                  .hadamard = (size_t)p->hadamard,
                                  .flip = (uint32_t)p->flip,
                                  .random = p->rounding == 1};
}

CC_BLOCKS(form)

const struct cc_scheme cc_scheme_int4 = {
    .id = "int4",
    .title = "4-bit integers in blocks",
    .reference = "Wang et al. 2023, ZeRO++, section 3.3",
    .layout = "bf16 scale of each block, n x 4-bit integer",
    .flags = CC_LOSSY | CC_STOCHASTIC | CC_FEEDBACK | CC_UNBIASED,
    .kind = CC_OPAQUE,
    .params = table,
    .params_bytes = sizeof(struct params),
    .check = check,
    CC_BLOCKS_MEMBERS,
};
