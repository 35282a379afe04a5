/* Draws gradients from a distribution. */
#include "netsim/rank/sources.h"

int cc_source_synthetic_open(const struct cc_source_config *config, struct cc_source **out,
                             struct cc_error *e)
{
    struct cc_gradients *g;
    CC_TRY(cc_gradients_open_synthetic(config->job, &g, e));
    int status = cc_preloaded_open(config, "synthetic", g, out, e);
    cc_gradients_close(g);
    return status;
}
