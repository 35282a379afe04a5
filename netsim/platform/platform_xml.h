/* Making platforms: the map of their ranks, and the elements of SimGrid's XML that topologies have
 * in common. */
#ifndef CC_NETSIM_PLATFORM_PLATFORM_XML_H
#define CC_NETSIM_PLATFORM_PLATFORM_XML_H

#include <stdio.h>

#include "netsim/platform/topology.h"

/* --- rank maps: the rank of each host --- */

/* Hosts stand in a row, which is divided into groups: racks, sites, or one group of all. They are
 * named after their ranks, so a reader of the XML finds the ranks in the order of the names. */
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

/* --- XML --- */

/* The platform that is being written. Functions that write to f report no errors: f remembers them,
 * and cc_platform_make checks it. */
struct cc_platform_xml {
    FILE *f;
    const struct cc_platform_config *config;
    const struct cc_rank_map *map;
};

/* Writes a full-duplex link: its bandwidth is available in each direction at the same time. */
void cc_platform_xml_link(const struct cc_platform_xml *x, const char *id, double bps,
                          double latency_s);
/* Writes a host's link to the network, "ID_UP" and "ID_DOWN", with half of the latency; with
 * down_bps, two links of their own. */
void cc_platform_xml_port(const struct cc_platform_xml *x, const char *id, double up_bps);
/* Writes a link that no message shares. */
void cc_platform_xml_fatpipe(const struct cc_platform_xml *x, const char *id, double bps);
/* Writes a host and its loopback; and the loopbacks of a group's hosts as their routes to
 * themselves. */
void cc_platform_xml_host(const struct cc_platform_xml *x, int rank);
void cc_platform_xml_loops(const struct cc_platform_xml *x, int group);
/* Writes the hosts of a group, each with its link, its loopback, and the latter as its route to
 * itself. If other zones reach the hosts, `zone` is the name of theirs without its number, and they
 * get a router "gate-ZONE-GROUP"; otherwise NULL. */
void cc_platform_xml_hosts(const struct cc_platform_xml *x, int group, const char *zone);
/* Writes each group as a star, a zone "NAME-GROUP", with a router to the others. */
void cc_platform_xml_groups(const struct cc_platform_xml *x, const char *name);
/* Makes the link the route between two zones with routers, in both directions. */
void cc_platform_xml_zone_route(const struct cc_platform_xml *x, const char *from, const char *to,
                                const char *link);
/* The same for a link that no message shares. */
void cc_platform_xml_trunk(const struct cc_platform_xml *x, const char *from, const char *to,
                           const char *link);
/* Writes one of SimGrid's own clusters with all hosts of the map: its topology and its parameters
 * as SimGrid's manual describes them. It has no slow hosts or links. */
void cc_platform_xml_cluster(const struct cc_platform_xml *x, const char *id, const char *topology,
                             const char *parameters);

#endif
