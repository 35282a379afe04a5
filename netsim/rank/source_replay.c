/* Replays a trace's gradients. */
#include "netsim/rank/sources.h"

int cc_source_replay_open(const struct cc_source_config *config, struct cc_source **out,
                          struct cc_error *e)
{
    struct cc_gradients *g;
    CC_TRY(cc_gradients_open_trace(config->job, &g, e));
    int status = cc_preloaded_open(config, "replay", g, out, e);
    cc_gradients_close(g);
    return status;
}
