/* int4: integers from -7 to 7 in blocks of 32 with a bf16 scale.
 *
 * The scale is max|x| / 7 of a block, rounded up, so that no value exceeds 7; codes are x / scale,
 * rounded at random, so that the expectation is the value, or to the nearest. -8 is not used, so
 * the codes are symmetric.
 *
 * Source: Wang et al., ZeRO++, 2023, section 3.3 (gradients as 4-bit integers in blocks). Its
 * blocks are larger, with scales of 16 or 32 bits; 32 values are those of the MX formats. */
#include "core/memory.h"
#include "schemes/blocks.h"
#include "schemes/residual.h"

static struct cc_block_form form(const struct cc_block_params *p)
{
    return (struct cc_block_form){.codes = &k_blocks()->int4,
                                  .scale = CC_SCALE_BF16,
                                  .bits = 4,
                                  .largest = 7.0f,
                                  .most_scale = 0x1.24p125f,
                                  .block = 32,
                                  .random = p->rounding == 1};
}

CC_BLOCKS(form)

const struct cc_scheme cc_scheme_int4 = {
    .id = "int4",
    .title = "4-bit integers in blocks of 32",
    .reference = "Wang et al. 2023, ZeRO++, section 3.3",
    .layout = "bf16 scale of each 32 values, n x 4-bit integer",
    .flags = CC_LOSSY | CC_STOCHASTIC | CC_FEEDBACK | CC_UNBIASED,
    .kind = CC_OPAQUE,
    .params = cc_block_params,
    .params_bytes = sizeof(struct cc_block_params),
    CC_BLOCKS_MEMBERS,
};
