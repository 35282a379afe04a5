/* Simulated clusters: SimGrid platforms made from a few numbers, and the host of each rank.
 * docs/platform.md describes them. */
#ifndef CC_NETSIM_PLATFORM_PLATFORM_H
#define CC_NETSIM_PLATFORM_PLATFORM_H

#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"

#define CC_HOSTS_SCHEMA "commcomp-hosts/1" /* of the output of commcomp-platform */

enum cc_topology {
    CC_TOPOLOGY_SWITCH,   /* one switch without a limit of its own */
    CC_TOPOLOGY_FAT_TREE, /* racks, each with a switch, below one common switch */
    CC_TOPOLOGY_TORUS,    /* a link to each neighbour in two or three dimensions */
    CC_TOPOLOGY_SITES     /* several switches, joined by long links */
};
extern const char *const cc_topology_names[]; /* "switch", ...; ends with NULL */

/* Each host has a link of bw_bps in each direction; a message between two hosts of one switch takes
 * latency_s. */
struct cc_platform_config {
    enum cc_topology topology;
    int workers, servers;
    double bw_bps, latency_s;
    int rack;                /* fat tree: hosts in each rack */
    double oversubscription; /* fat tree: bandwidth of a rack's hosts / bandwidth of its uplink */
    int torus[3];            /* torus: hosts in each dimension; all 0: as near to a cube as fits */
    int sites;
    double wan_bps, wan_latency_s; /* sites: between any two of them, each direction */
    /* Slow ones among the workers, which are the last ones. */
    int slow_links; /* number with a link of slow_bps */
    double slow_bps;
    int slow_hosts; /* number that compute slow_factor times as long */
    double slow_factor;
};

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

/* For messages, how many hosts there must be: "10 workers and 1 server need 11". */
#define CC_PLATFORM_NEED_CAP 80
void cc_platform_print_need(int workers, int servers, char out[CC_PLATFORM_NEED_CAP]);

#endif
