/* Shared by platform.c, which assigns ranks to hosts, and platform_xml.c, which writes the
 * platform. */
#ifndef CC_NETSIM_PLATFORM_PLATFORM_IMPL_H
#define CC_NETSIM_PLATFORM_PLATFORM_IMPL_H

#include "netsim/platform/platform.h"

#define CC_PLATFORM_SCHEMA "commcomp-platform/1"
#define CC_PLATFORM_HOSTS  (1 << 16)
#define CC_SITES_MAX       64 /* each has a link to each other one */

/* Hosts are named by their ranks, so that the order of the names is that of the ranks. */
#define CC_HOST_FORMAT "host-%d"

/* The hosts in a row, divided into groups: racks, sites, or one group of all. */
struct cc_rank_map {
    int *rank;  /* of each host in the row; from workers + servers on: hosts without a rank */
    int spots;  /* number of hosts */
    int *first; /* the first host of each group, and the end: groups + 1 entries */
    int groups;
    int torus[3]; /* of a torus: hosts in each dimension; the last one 0: two dimensions */
};

/* "4x4x2", "4x4". */
#define CC_TORUS_NAME_CAP 48
void cc_torus_name(const int dimension[3], char out[CC_TORUS_NAME_CAP]);

/* The platform as SimGrid's XML, which the caller frees. */
int cc_platform_text(const struct cc_platform_config *config, const struct cc_rank_map *map,
                     char **out, struct cc_error *e);

#endif
