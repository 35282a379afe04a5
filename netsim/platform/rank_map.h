/* Rank maps: which rank each host of a platform has. Hosts stand in a row, which is divided into
 * groups: racks, sites, or one group of all. They are named after their ranks, so a reader of the
 * XML finds the ranks in the order of the names. */
#ifndef CC_NETSIM_PLATFORM_RANK_MAP_H
#define CC_NETSIM_PLATFORM_RANK_MAP_H

#include "netsim/platform/topology.h"

#define CC_HOST_PREFIX "host-"
#define CC_HOST_FORMAT CC_HOST_PREFIX "%d" /* takes the rank */

struct cc_rank_map {
    int *rank;  /* by host in the row; from workers + servers on: hosts without a rank */
    int hosts;  /* number of entries; at least workers + servers */
    int *first; /* index of each group's first host, and the end: groups + 1 entries */
    int groups;
};

/* Allocates a map with its entries unset; *out is to be freed with cc_rank_map_free, also after an
 * error. */
int cc_rank_map_alloc(int hosts, int groups, struct cc_rank_map *out, struct cc_error *e);
/* Allocates a map and assigns the row: servers at equal distances, the first one on the first host,
 * and workers in order on the others, so that groups get equal shares of servers. Server j of M
 * has host floor(j N / M), where N is the number of ranks. Hosts beyond the last rank have no rank.
 * Groups have `group` hosts, the last one perhaps fewer. */
int cc_rank_map_row(const struct cc_platform_config *config, int hosts, int group,
                    struct cc_rank_map *out, struct cc_error *e);
void cc_rank_map_free(struct cc_rank_map *map);

/* Writes, for messages, how many hosts there must be: "10 workers and 1 server need 11". */
#define CC_PLATFORM_NEED_CAP 80
void cc_platform_print_need(int workers, int servers, char out[CC_PLATFORM_NEED_CAP]);

#endif
