/* signsgd: a sign bit for each value, decoded as plus or minus the mean magnitude; no residual. The
 * original has no magnitude: the mean keeps the decoded gradient at the gradient's scale. Payload
 * and steps: signs.c. */
#include "schemes/signs.h"

static struct cc_traffic traffic(const void *params)
{
    return cc_signs_traffic(params, 0);
}

const struct cc_scheme cc_scheme_signsgd = {
    .id = "signsgd",
    .title = "signs and their mean magnitude",
    .reference = "Bernstein et al., signSGD, ICML 2018, algorithm 1; scaled by the mean magnitude",
    .layout = CC_SIGNS_LAYOUT,
    .flags = CC_LOSSY,
    .kind = CC_OPAQUE,
    .params = cc_signs_params,
    .params_bytes = sizeof(struct cc_signs_params),
    .bound = cc_signs_bound,
    .traffic = traffic,
    .scratch_bytes = cc_signs_scratch_bytes,
    .encode_from = cc_signs_encode,
    .decode = cc_signs_decode,
};
