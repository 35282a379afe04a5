/* efsign: signsgd with error feedback: encodes gradient + residual, and keeps what the sign and the
 * mean magnitude do not express. Karimireddy et al. show that this makes signsgd converge where it
 * otherwise need not. Payload and steps: signs.c. */
#include "core/memory.h"
#include "schemes/signs.h"

static size_t state_bytes(const void *params, const struct cc_shape *shape)
{
    (void)params;
    return cc_float_bytes(shape->n);
}

static struct cc_traffic traffic(const void *params)
{
    return cc_signs_traffic(params, 1);
}

const struct cc_scheme cc_scheme_efsign = {
    .id = "efsign",
    .title = "signs and their mean magnitude, with error feedback",
    .reference = "Karimireddy et al., Error Feedback Fixes SignSGD, ICML 2019, algorithm 1",
    .layout = CC_SIGNS_LAYOUT,
    .flags = CC_LOSSY | CC_FEEDBACK,
    .kind = CC_OPAQUE,
    .params = cc_signs_params,
    .params_bytes = sizeof(struct cc_signs_params),
    .bound = cc_signs_bound,
    .traffic = traffic,
    .state_bytes = state_bytes,
    .scratch_bytes = cc_signs_scratch_bytes,
    .encode_from = cc_signs_encode,
    .decode = cc_signs_decode,
};
