/* Platforms: simulated clusters, as SimGrid's XML, and which host each rank lives on
 * (docs/platform.md). */
#ifndef CC_NETSIM_PLATFORM_PLATFORM_H
#define CC_NETSIM_PLATFORM_PLATFORM_H

#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"

#define CC_HOSTS_SCHEMA "commcomp-hosts/1" /* what commcomp-platform prints */

enum cc_topology {
    CC_TOPOLOGY_SWITCH,   /* one switch that is never the limit */
    CC_TOPOLOGY_FAT_TREE, /* racks, each with a switch, and a switch above them */
    CC_TOPOLOGY_TORUS,    /* a link to each neighbour in two or three dimensions */
    CC_TOPOLOGY_SITES     /* switches far from one another */
};
extern const char *const cc_topology_names[]; /* "switch", ...; ends with NULL */

/* What a platform is made from. Each host has a link of bw_bps each way; a message from host to
 * host of one switch takes latency_s. */
struct cc_platform_config {
    enum cc_topology topology;
    int workers, servers;
    double bw_bps, latency_s;
    int rack;                /* fat tree: hosts in each */
    double oversubscription; /* fat tree: bandwidth of a rack's hosts / that of its link upwards */
    int torus[3];            /* hosts in each dimension, 0s: as near to a cube as fits */
    int sites;
    double wan_bps, wan_latency_s; /* sites: between any two of them, each way */
    /* Hosts that differ: the last of the workers. */
    int slow_links; /* so many have a link of slow_bps */
    double slow_bps;
    int slow_hosts; /* so many compute slow_factor times as long */
    double slow_factor;
};

struct cc_platform {
    char *xml;
    char **host; /* of each rank: workers, then servers */
    size_t hosts;
    /* Not all ways are equally long. Flows are to share a link equally all the same, which SimGrid
     * has to be told (alpha-beta, tc). */
    bool uneven;
};

/* Whether it can be made; a usage error names the option. */
int cc_platform_check(const struct cc_platform_config *config, struct cc_error *e);
/* Checks it, too. *out is set on success only. */
int cc_platform_make(const struct cc_platform_config *config, struct cc_platform *out,
                     struct cc_error *e);
/* From a file of SimGrid's, whose hosts are taken in the order of their names, numbers in them as
 * numbers. An error names the file: it is none, or it has too few hosts. */
int cc_platform_read(const char *path, int workers, int servers, struct cc_platform *out,
                     struct cc_error *e);
void cc_platform_free(struct cc_platform *p);

#endif
