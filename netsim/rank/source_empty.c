/* Computes without values: only the time passes. */
#include "netsim/rank/sources.h"

int cc_source_empty_open(const struct cc_source_config *config, struct cc_source **out,
                         struct cc_error *e)
{
    return cc_preloaded_open(config, "empty", NULL, out, e);
}
