/* fat-tree: racks of hosts, each with a switch, below one common switch.
 *
 *                  top
 *       uplink-0 /     \ uplink-1     rack * B / oversubscription
 *           rack-0     rack-1
 *           | | | |    | | | |
 *           hosts      hosts          B
 *
 * Latency: L/2 on each link, so L within a rack and 2 L between racks.
 * Sharing: messages that leave a rack at once share its uplink, as do those that enter it. A last
 * rack that is not full has the uplink of a full one.
 * Ranks: rack by rack, servers evenly among the workers (cc_rank_map_row), so that racks have equal
 * shares of the servers.
 * XML: a star for each rack and an empty star, the top; each uplink is the route between its rack
 * and the top. SimGrid finds routes between racks by Dijkstra's algorithm when they are first
 * needed. */
#include <math.h>
#include <stdio.h>

#include "netsim/platform/platform_xml.h"

static int check(const struct cc_platform_config *c, struct cc_error *e)
{
    if (c->rack < 1)
        return cc_usage(e, "--rack %d: a rack has at least one host", c->rack);
    if (!(c->oversubscription >= 1 && isfinite(c->oversubscription)))
        return cc_usage(e, "--oversubscription %g: at least 1, which is none", c->oversubscription);
    if (c->workers + c->servers <= c->rack)
        return cc_usage(e,
                        "--topology fat-tree: one rack of %d holds all %d hosts, and nothing "
                        "passes its uplink: give a smaller --rack",
                        c->rack, c->workers + c->servers);
    return CC_OK;
}

static int map_ranks(const struct cc_platform_config *c, struct cc_rank_map *out,
                     struct cc_error *e)
{
    return cc_rank_map_row(c, c->workers + c->servers, c->rack, out, e);
}

static void write_fat_tree(const struct cc_platform_xml *x)
{
    const struct cc_platform_config *c = x->config;
    char rack[32], link[32];
    cc_platform_xml_groups(x, "rack");
    (void)fputs(
        "  <zone id=\"top\" routing=\"Cluster\">\n    <router id=\"gate-top\"/>\n  </zone>\n",
        x->f);
    for (int i = 0; i < x->map->groups; i++) {
        (void)snprintf(link, sizeof link, "uplink-%d", i);
        cc_platform_xml_link(x, link, c->rack * c->bw_bps / c->oversubscription, c->latency_s / 2);
    }
    for (int i = 0; i < x->map->groups; i++) {
        (void)snprintf(rack, sizeof rack, "rack-%d", i);
        (void)snprintf(link, sizeof link, "uplink-%d", i);
        cc_platform_xml_zone_route(x, rack, "top", link);
    }
}

const struct cc_topology_info cc_topology_fat_tree = {
    .difference = "racks share their uplinks",
    .uneven_routes = true,
    .check = check,
    .map = map_ranks,
    .routing = "DijkstraCache",
    .write = write_fat_tree,
};
