/* Simulated clusters: SimGrid platforms made from a few numbers, and the host of each rank.
 * docs/platform.md describes them; topology.h has the configuration. */
#ifndef CC_NETSIM_PLATFORM_PLATFORM_H
#define CC_NETSIM_PLATFORM_PLATFORM_H

#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"
#include "netsim/platform/topology.h"

#define CC_HOSTS_SCHEMA "commcomp-hosts/1" /* the output of commcomp-platform */

struct cc_platform {
    char *xml;
    char **host; /* by rank: workers, then servers */
    size_t hosts;
    /* Routes may differ in latency. Flows are still meant to share a link equally, which SimGrid's
     * default solver does not do then. */
    bool uneven_routes;
};

/* Checks a configuration; the usage error names the option. */
int cc_platform_check(const struct cc_platform_config *config, struct cc_error *e);

/* Makes a platform, after checking its configuration. Sets *out on success only; the caller frees
 * it with cc_platform_free. */
int cc_platform_make(const struct cc_platform_config *config, struct cc_platform *out,
                     struct cc_error *e);

void cc_platform_free(struct cc_platform *p);

#endif
