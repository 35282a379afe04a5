/* Platforms as SimGrid's XML.
 *
 * All hosts are in one zone, "network", which also records what the platform was made from. A zone
 * with routing="Cluster" is a star: the route between two hosts is the link of the one and the link
 * of the other, so no table of routes is needed, also with thousands of hosts.
 *
 * - switch: the network is one star.
 * - fat-tree: a star for each rack and an empty star, the top; an uplink joins each rack to it.
 *   SimGrid finds the routes between racks by Dijkstra's algorithm when they are first needed.
 * - sites: a star for each site, and a link with a route for each pair of sites.
 * - torus: SimGrid's own torus cluster, which routes dimension by dimension.
 *
 * Half of a message's latency is on the sender's link and half on the receiver's. A star that other
 * zones reach has a router, "gate-...". Each host also has a loopback link, over which ranks send
 * messages to themselves to measure time. */
#include <stdio.h>
#include <stdlib.h>

#include "core/format/json.h"
#include "netsim/platform/platform_impl.h"

#define LOOPBACK_BYTES_S "1e9" /* known to the ranks, which use the loopback as a timer */
#define SPEED_FLOPS      1e9   /* of a host that is not slow */

struct xml {
    FILE *f;
    const struct cc_platform_config *config;
    const struct cc_rank_map *map;
};

void cc_torus_name(const int d[3], char out[CC_TORUS_NAME_CAP])
{
    int n = snprintf(out, CC_TORUS_NAME_CAP, "%dx%d", d[0], d[1]);
    if (d[2] > 0)
        (void)snprintf(out + n, CC_TORUS_NAME_CAP - (size_t)n, "x%d", d[2]);
}

/* Writes key="<v><unit>" with the shortest digits that read back as the same number. */
static void write_number(const struct xml *x, const char *key, double v, const char *unit)
{
    char text[CC_NUMBER_CAP];
    cc_number_print(v, text);
    (void)fprintf(x->f, " %s=\"%s%s\"", key, text, unit);
}

static void write_prop(const struct xml *x, const char *id, const char *value)
{
    (void)fprintf(x->f, "    <prop id=\"%s\" value=\"%s\"/>\n", id, value);
}

static void write_amount(const struct xml *x, const char *id, double v)
{
    char text[CC_NUMBER_CAP];
    cc_number_print(v, text);
    write_prop(x, id, text);
}

/* Records the configuration as properties, named as the columns of results. */
static void write_origin(const struct xml *x)
{
    const struct cc_platform_config *c = x->config;
    char name[CC_TORUS_NAME_CAP];
    write_prop(x, "schema", CC_PLATFORM_SCHEMA);
    write_prop(x, "topology", cc_topology_names[c->topology]);
    write_amount(x, "workers", c->workers);
    write_amount(x, "servers", c->servers);
    write_amount(x, "bw_bps", c->bw_bps);
    write_amount(x, "latency_s", c->latency_s);
    if (c->topology == CC_TOPOLOGY_FAT_TREE) {
        write_amount(x, "rack", c->rack);
        write_amount(x, "oversubscription", c->oversubscription);
    } else if (c->topology == CC_TOPOLOGY_TORUS) {
        cc_torus_name(x->map->torus, name);
        write_prop(x, "torus", name);
    } else if (c->topology == CC_TOPOLOGY_SITES) {
        write_amount(x, "sites", c->sites);
        write_amount(x, "wan_bps", c->wan_bps);
        write_amount(x, "wan_latency_s", c->wan_latency_s);
    }
    if (c->slow_links > 0) {
        write_amount(x, "slow_links", c->slow_links);
        write_amount(x, "slow_bps", c->slow_bps);
    }
    if (c->slow_hosts > 0) {
        write_amount(x, "slow_hosts", c->slow_hosts);
        write_amount(x, "slow_factor", c->slow_factor);
    }
}

/* Writes a full-duplex link: its bandwidth is available in each direction at the same time. */
static void write_link(const struct xml *x, const char *id, double bps, double latency_s)
{
    (void)fprintf(x->f, "    <link id=\"%s\" sharing_policy=\"SPLITDUPLEX\"", id);
    write_number(x, "bandwidth", bps, "bps");
    write_number(x, "latency", latency_s, "s");
    (void)fputs("/>\n", x->f);
}

/* Whether a rank is one of the last `slow` workers. */
static bool is_slow(const struct cc_platform_config *c, int rank, int slow)
{
    return rank < c->workers && rank >= c->workers - slow;
}

static void write_host(const struct xml *x, int rank)
{
    const struct cc_platform_config *c = x->config;
    char host[32], link[48];
    (void)snprintf(host, sizeof host, CC_HOST_FORMAT, rank);
    (void)snprintf(link, sizeof link, "link-%d", rank);
    (void)fprintf(x->f, "    <host id=\"%s\"", host);
    write_number(x, "speed",
                 is_slow(c, rank, c->slow_hosts) ? SPEED_FLOPS / c->slow_factor : SPEED_FLOPS, "f");
    (void)fputs("/>\n", x->f);
    write_link(x, link, is_slow(c, rank, c->slow_links) ? c->slow_bps : c->bw_bps,
               c->latency_s / 2);
    (void)fprintf(x->f,
                  "    <link id=\"loop-%d\" bandwidth=\"" LOOPBACK_BYTES_S
                  "Bps\" latency=\"0s\" sharing_policy=\"FATPIPE\"/>\n"
                  "    <host_link id=\"%s\" up=\"%s_UP\" down=\"%s_DOWN\"/>\n",
                  rank, host, link, link);
}

/* Writes the hosts of a group, in a zone of their own if other groups reach them through a `gate`.
 * SimGrid requires hosts before routes. */
static void write_hosts(const struct xml *x, int group, bool gate)
{
    const int first = x->map->first[group], end = x->map->first[group + 1];
    for (int i = first; i < end; i++)
        write_host(x, x->map->rank[i]);
    if (gate)
        (void)fprintf(x->f, "    <router id=\"gate-%s-%d\"/>\n",
                      x->config->topology == CC_TOPOLOGY_SITES ? "site" : "rack", group);
    for (int i = first; i < end; i++)
        (void)fprintf(x->f,
                      "    <route src=\"" CC_HOST_FORMAT "\" dst=\"" CC_HOST_FORMAT "\">"
                      "<link_ctn id=\"loop-%d\"/></route>\n",
                      x->map->rank[i], x->map->rank[i], x->map->rank[i]);
}

static void write_switch(const struct xml *x)
{
    (void)fputs("  <zone id=\"network\" routing=\"Cluster\">\n", x->f);
    write_origin(x);
    write_hosts(x, 0, false);
}

/* Writes each group as a star of its own, with a gate to the others. */
static void write_groups(const struct xml *x, const char *name)
{
    for (int i = 0; i < x->map->groups; i++) {
        (void)fprintf(x->f, "  <zone id=\"%s-%d\" routing=\"Cluster\">\n", name, i);
        write_hosts(x, i, true);
        (void)fputs("  </zone>\n", x->f);
    }
}

/* Makes the named link the route between two zones, in both directions. */
static void write_zone_route(const struct xml *x, const char *from, const char *to,
                             const char *link)
{
    (void)fprintf(x->f,
                  "    <zoneRoute src=\"%s\" dst=\"%s\" gw_src=\"gate-%s\" gw_dst=\"gate-%s\">"
                  "<link_ctn id=\"%s\" direction=\"UP\"/></zoneRoute>\n",
                  from, to, from, to, link);
}

static void write_fat_tree(const struct xml *x)
{
    const struct cc_platform_config *c = x->config;
    char rack[32], link[32];
    (void)fputs("  <zone id=\"network\" routing=\"DijkstraCache\">\n", x->f);
    write_origin(x);
    write_groups(x, "rack");
    (void)fputs(
        "  <zone id=\"top\" routing=\"Cluster\">\n    <router id=\"gate-top\"/>\n  </zone>\n",
        x->f);
    for (int i = 0; i < x->map->groups; i++) {
        (void)snprintf(link, sizeof link, "uplink-%d", i);
        write_link(x, link, c->rack * c->bw_bps / c->oversubscription, c->latency_s / 2);
    }
    for (int i = 0; i < x->map->groups; i++) {
        (void)snprintf(rack, sizeof rack, "rack-%d", i);
        (void)snprintf(link, sizeof link, "uplink-%d", i);
        write_zone_route(x, rack, "top", link);
    }
}

static void write_sites(const struct xml *x)
{
    const struct cc_platform_config *c = x->config;
    char from[32], to[32], link[48];
    (void)fputs("  <zone id=\"network\" routing=\"Full\">\n", x->f);
    write_origin(x);
    write_groups(x, "site");
    for (int i = 0; i < c->sites; i++) {
        for (int j = i + 1; j < c->sites; j++) {
            (void)snprintf(link, sizeof link, "wan-%d-%d", i, j);
            write_link(x, link, c->wan_bps, c->wan_latency_s);
        }
    }
    for (int i = 0; i < c->sites; i++) {
        for (int j = i + 1; j < c->sites; j++) {
            (void)snprintf(from, sizeof from, "site-%d", i);
            (void)snprintf(to, sizeof to, "site-%d", j);
            (void)snprintf(link, sizeof link, "wan-%d-%d", i, j);
            write_zone_route(x, from, to, link);
        }
    }
}

static void write_torus(const struct xml *x)
{
    const struct cc_rank_map *map = x->map;
    int sides = 0;
    (void)fputs("  <zone id=\"network\" routing=\"Full\">\n", x->f);
    write_origin(x);
    (void)fputs("    <cluster id=\"torus\" topology=\"TORUS\" topo_parameters=\"", x->f);
    /* Sides of length one are left out: they have no links, and SimGrid would give two of them
     * links of the same name. */
    for (int i = 0; i < 3; i++)
        if (map->torus[i] > 1)
            (void)fprintf(x->f, "%s%d", sides++ > 0 ? "," : "", map->torus[i]);
    if (sides == 0)
        (void)fputs("1", x->f);
    (void)fputs("\" prefix=\"host-\" suffix=\"\" radical=\"", x->f);
    for (int i = 0; i < map->spots; i++)
        (void)fprintf(x->f, "%s%d", i > 0 ? "," : "", map->rank[i]);
    (void)fputs("\" sharing_policy=\"SPLITDUPLEX\"", x->f);
    write_number(x, "speed", SPEED_FLOPS, "f");
    write_number(x, "bw", x->config->bw_bps, "bps");
    write_number(x, "lat", x->config->latency_s, "s");
    (void)fputs(" loopback_bw=\"" LOOPBACK_BYTES_S "Bps\" loopback_lat=\"0s\"/>\n", x->f);
}

static void write_network(const struct xml *x)
{
    switch (x->config->topology) {
    case CC_TOPOLOGY_SWITCH:
        write_switch(x);
        break;
    case CC_TOPOLOGY_FAT_TREE:
        write_fat_tree(x);
        break;
    case CC_TOPOLOGY_TORUS:
        write_torus(x);
        break;
    case CC_TOPOLOGY_SITES:
        write_sites(x);
        break;
    }
    (void)fputs("  </zone>\n", x->f);
}

int cc_platform_text(const struct cc_platform_config *config, const struct cc_rank_map *map,
                     char **out, struct cc_error *e)
{
    char *text = NULL;
    size_t length;
    struct xml x = {.f = open_memstream(&text, &length), .config = config, .map = map};
    if (x.f != NULL) {
        (void)fputs("<?xml version='1.0'?>\n"
                    "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
                    "<!-- " CC_PLATFORM_SCHEMA " -->\n"
                    "<platform version=\"4.1\">\n",
                    x.f);
        write_network(&x);
        (void)fputs("</platform>\n", x.f);
    }
    if (x.f != NULL && fclose(x.f) == 0) {
        *out = text;
        return CC_OK;
    }
    free(text);
    return cc_fail(e, "out of memory: a platform of %d hosts", map->spots);
}
