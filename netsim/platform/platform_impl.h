/* What netsim/platform*.c share. */
#ifndef CC_NETSIM_PLATFORM_PLATFORM_IMPL_H
#define CC_NETSIM_PLATFORM_PLATFORM_IMPL_H

#include "netsim/platform/platform.h"

#define CC_PLATFORM_SCHEMA "commcomp-platform/1"
#define CC_PLATFORM_HOSTS  (1 << 16)
#define CC_SITES_MAX       64 /* each has a link to each other one */

/* Hosts are called by their ranks, so that their order is that of their names. */
#define CC_HOST_FORMAT "host-%d"

/* Which rank lives where: hosts in a row, in groups (racks, sites; or one). */
struct cc_rank_map {
    int *rank; /* of each of the spots; from workers + servers on: nobody */
    int spots;
    int *first; /* of each group, its first spot; and the end: groups + 1 */
    int groups;
    int torus[3]; /* the last one 0: two dimensions */
};

#define CC_NEED_CAP 80

/* "10 workers and 1 server need 11". */
void cc_platform_need_text(int workers, int servers, char out[CC_NEED_CAP]);

/* "4x4x2", "4x4". */
void cc_torus_name(const int dimension[3], char out[48]);

/* The XML, to be freed. */
int cc_platform_text(const struct cc_platform_config *config, const struct cc_rank_map *at,
                     char **out, struct cc_error *e);

#endif
