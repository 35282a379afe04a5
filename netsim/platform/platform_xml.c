/* Platforms as SimGrid's XML.
 *
 * All hosts are in one zone, "network", whose properties also record the configuration. Its
 * topology writes its contents. A zone with routing="Cluster" is a star: the route between two
 * hosts is the link of the one and the link of the other, so no table of routes is needed, even
 * with thousands of hosts.
 *
 * Half of a message's latency is on the sender's link and half on the receiver's. A star that other
 * zones reach has a router, "gate-...". Each host also has a loopback link, over which ranks send
 * messages to themselves to measure time. */
#include "netsim/platform/platform_xml.h"

#include <stdlib.h>

#include "core/format/json.h"

#define LOOPBACK_BYTES_S "1e9" /* known to the ranks, which use the loopback as a timer */
#define SPEED_FLOPS      1e9   /* a host that is not slow */

/* Writes key="<v><unit>" with the shortest digits that read back as the same number. */
static void write_number(const struct cc_platform_xml *x, const char *key, double v,
                         const char *unit)
{
    char text[CC_NUMBER_CAP];
    cc_number_print(v, text);
    (void)fprintf(x->f, " %s=\"%s%s\"", key, text, unit);
}

/* --- hosts and links --- */

void cc_platform_xml_link(const struct cc_platform_xml *x, const char *id, double bps,
                          double latency_s)
{
    (void)fprintf(x->f, "    <link id=\"%s\" sharing_policy=\"SPLITDUPLEX\"", id);
    write_number(x, "bandwidth", bps, "bps");
    write_number(x, "latency", latency_s, "s");
    (void)fputs("/>\n", x->f);
}

void cc_platform_xml_port(const struct cc_platform_xml *x, const char *id, double up_bps)
{
    const struct cc_platform_config *c = x->config;
    static const char *const way[] = {"UP", "DOWN"};
    if (c->down_bps == 0) {
        cc_platform_xml_link(x, id, up_bps, c->latency_s / 2);
        return;
    }
    for (int i = 0; i < 2; i++) {
        (void)fprintf(x->f, "    <link id=\"%s_%s\" sharing_policy=\"SHARED\"", id, way[i]);
        write_number(x, "bandwidth", i == 0 ? up_bps : c->down_bps, "bps");
        write_number(x, "latency", c->latency_s / 2, "s");
        (void)fputs("/>\n", x->f);
    }
}

void cc_platform_xml_fatpipe(const struct cc_platform_xml *x, const char *id, double bps)
{
    (void)fprintf(x->f, "    <link id=\"%s\" sharing_policy=\"FATPIPE\" latency=\"0s\"", id);
    write_number(x, "bandwidth", bps, "bps");
    (void)fputs("/>\n", x->f);
}

/* Whether a rank is one of the last `slow` workers. */
static bool is_slow(const struct cc_platform_config *c, int rank, int slow)
{
    return rank < c->workers && rank >= c->workers - slow;
}

void cc_platform_xml_host(const struct cc_platform_xml *x, int rank)
{
    const struct cc_platform_config *c = x->config;
    (void)fprintf(x->f, "    <host id=\"" CC_HOST_FORMAT "\"", rank);
    write_number(x, "speed",
                 is_slow(c, rank, c->slow_hosts) ? SPEED_FLOPS / c->slow_factor : SPEED_FLOPS, "f");
    (void)fprintf(x->f,
                  "/>\n    <link id=\"loop-%d\" bandwidth=\"" LOOPBACK_BYTES_S
                  "Bps\" latency=\"0s\" sharing_policy=\"FATPIPE\"/>\n",
                  rank);
}

void cc_platform_xml_loops(const struct cc_platform_xml *x, int group)
{
    for (int i = x->map->first[group]; i < x->map->first[group + 1]; i++)
        (void)fprintf(x->f,
                      "    <route src=\"" CC_HOST_FORMAT "\" dst=\"" CC_HOST_FORMAT "\">"
                      "<link_ctn id=\"loop-%d\"/></route>\n",
                      x->map->rank[i], x->map->rank[i], x->map->rank[i]);
}

static void write_host(const struct cc_platform_xml *x, int rank)
{
    const struct cc_platform_config *c = x->config;
    char link[48];
    (void)snprintf(link, sizeof link, "link-%d", rank);
    cc_platform_xml_host(x, rank);
    cc_platform_xml_port(x, link, is_slow(c, rank, c->slow_links) ? c->slow_bps : c->bw_bps);
    (void)fprintf(x->f,
                  "    <host_link id=\"" CC_HOST_FORMAT "\" up=\"%s_UP\" down=\"%s_DOWN\"/>\n",
                  rank, link, link);
}

void cc_platform_xml_hosts(const struct cc_platform_xml *x, int group, const char *zone)
{
    const int first = x->map->first[group], end = x->map->first[group + 1];
    for (int i = first; i < end; i++)
        write_host(x, x->map->rank[i]);
    /* SimGrid requires hosts and routers before routes. */
    if (zone != NULL)
        (void)fprintf(x->f, "    <router id=\"gate-%s-%d\"/>\n", zone, group);
    cc_platform_xml_loops(x, group);
}

/* --- groups and clusters --- */

void cc_platform_xml_groups(const struct cc_platform_xml *x, const char *name)
{
    for (int i = 0; i < x->map->groups; i++) {
        (void)fprintf(x->f, "  <zone id=\"%s-%d\" routing=\"Cluster\">\n", name, i);
        cc_platform_xml_hosts(x, i, name);
        (void)fputs("  </zone>\n", x->f);
    }
}

static void write_zone_route(const struct cc_platform_xml *x, const char *from, const char *to,
                             const char *link, const char *direction)
{
    (void)fprintf(x->f,
                  "    <zoneRoute src=\"%s\" dst=\"%s\" gw_src=\"gate-%s\" gw_dst=\"gate-%s\">"
                  "<link_ctn id=\"%s\"%s/></zoneRoute>\n",
                  from, to, from, to, link, direction);
}

void cc_platform_xml_zone_route(const struct cc_platform_xml *x, const char *from, const char *to,
                                const char *link)
{
    write_zone_route(x, from, to, link, " direction=\"UP\"");
}

void cc_platform_xml_trunk(const struct cc_platform_xml *x, const char *from, const char *to,
                           const char *link)
{
    write_zone_route(x, from, to, link, "");
}

void cc_platform_xml_cluster(const struct cc_platform_xml *x, const char *id, const char *topology,
                             const char *parameters)
{
    (void)fprintf(x->f,
                  "    <cluster id=\"%s\" topology=\"%s\" topo_parameters=\"%s\" "
                  "prefix=\"" CC_HOST_PREFIX "\" suffix=\"\" radical=\"",
                  id, topology, parameters);
    for (int i = 0; i < x->map->hosts; i++)
        (void)fprintf(x->f, "%s%d", i > 0 ? "," : "", x->map->rank[i]);
    (void)fputs("\" sharing_policy=\"SPLITDUPLEX\"", x->f);
    write_number(x, "speed", SPEED_FLOPS, "f");
    write_number(x, "bw", x->config->bw_bps, "bps");
    write_number(x, "lat", x->config->latency_s, "s");
    (void)fputs(" loopback_bw=\"" LOOPBACK_BYTES_S "Bps\" loopback_lat=\"0s\"/>\n", x->f);
}
