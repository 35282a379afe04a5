/* Writing platforms as SimGrid's XML: the elements that topologies have in common. */
#ifndef CC_NETSIM_PLATFORM_PLATFORM_XML_H
#define CC_NETSIM_PLATFORM_PLATFORM_XML_H

#include <stdio.h>

#include "netsim/platform/rank_map.h"

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
/* Writes the hosts of a group, each with its link, its loopback, and the latter as its route to
 * itself. If other zones reach the hosts, `zone` is the name of theirs without its number, and they
 * get a router "gate-ZONE-GROUP"; otherwise NULL. */
void cc_platform_xml_hosts(const struct cc_platform_xml *x, int group, const char *zone);
/* Writes each group as a star, a zone "NAME-GROUP", with a router to the others. */
void cc_platform_xml_groups(const struct cc_platform_xml *x, const char *name);
/* Makes the link the route between two zones with routers, in both directions. */
void cc_platform_xml_zone_route(const struct cc_platform_xml *x, const char *from, const char *to,
                                const char *link);
/* Writes one of SimGrid's own clusters with all hosts of the map: its topology and its parameters
 * as SimGrid's manual describes them. It has no slow hosts or links. */
void cc_platform_xml_cluster(const struct cc_platform_xml *x, const char *id, const char *topology,
                             const char *parameters);

#endif
