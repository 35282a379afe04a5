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
#include "core/memory_text.h"

#define SCHEMA           "commcomp-platform/1"
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

/* --- properties --- */

static void write_text_property(const struct cc_platform_xml *x, const char *id, const char *value)
{
    (void)fprintf(x->f, "    <prop id=\"%s\" value=\"%s\"/>\n", id, value);
}

static void write_number_property(const struct cc_platform_xml *x, const char *id, double v)
{
    char text[CC_NUMBER_CAP];
    cc_number_print(v, text);
    write_text_property(x, id, text);
}

static void write_option_property(const struct cc_platform_xml *x,
                                  const struct cc_topology_option *o)
{
    const void *field = (const char *)x->config + o->offset;
    char sides[CC_SIDES_CAP];
    switch (o->kind) {
    case CC_TOPOLOGY_KIND_COUNT:
        write_number_property(x, o->property, *(const int *)field);
        break;
    case CC_TOPOLOGY_KIND_RATIO:
    case CC_TOPOLOGY_KIND_RATE:
    case CC_TOPOLOGY_KIND_TIME:
        write_number_property(x, o->property, *(const double *)field);
        break;
    case CC_TOPOLOGY_KIND_SIDES:
        cc_sides_print(field, sides);
        write_text_property(x, o->property, sides);
        break;
    }
}

/* Records the configuration as properties, named as the columns of results. */
static void write_properties(const struct cc_platform_xml *x)
{
    const struct cc_platform_config *c = x->config;
    write_text_property(x, "schema", SCHEMA);
    write_text_property(x, "topology", cc_topology_names[c->topology]);
    write_number_property(x, "workers", c->workers);
    write_number_property(x, "servers", c->servers);
    write_number_property(x, "bw_bps", c->bw_bps);
    write_number_property(x, "latency_s", c->latency_s);
    for (const struct cc_topology_option *o = cc_topology_options; o->name != NULL; o++)
        if (o->topology == c->topology)
            write_option_property(x, o);
    if (c->slow_links > 0) {
        write_number_property(x, "slow_links", c->slow_links);
        write_number_property(x, "slow_bps", c->slow_bps);
    }
    if (c->slow_hosts > 0) {
        write_number_property(x, "slow_hosts", c->slow_hosts);
        write_number_property(x, "slow_factor", c->slow_factor);
    }
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

/* Whether a rank is one of the last `slow` workers. */
static bool is_slow(const struct cc_platform_config *c, int rank, int slow)
{
    return rank < c->workers && rank >= c->workers - slow;
}

static void write_host(const struct cc_platform_xml *x, int rank)
{
    const struct cc_platform_config *c = x->config;
    char host[32], link[48];
    (void)snprintf(host, sizeof host, CC_HOST_FORMAT, rank);
    (void)snprintf(link, sizeof link, "link-%d", rank);
    (void)fprintf(x->f, "    <host id=\"%s\"", host);
    write_number(x, "speed",
                 is_slow(c, rank, c->slow_hosts) ? SPEED_FLOPS / c->slow_factor : SPEED_FLOPS, "f");
    (void)fputs("/>\n", x->f);
    cc_platform_xml_link(x, link, is_slow(c, rank, c->slow_links) ? c->slow_bps : c->bw_bps,
                         c->latency_s / 2);
    (void)fprintf(x->f,
                  "    <link id=\"loop-%d\" bandwidth=\"" LOOPBACK_BYTES_S
                  "Bps\" latency=\"0s\" sharing_policy=\"FATPIPE\"/>\n"
                  "    <host_link id=\"%s\" up=\"%s_UP\" down=\"%s_DOWN\"/>\n",
                  rank, host, link, link);
}

void cc_platform_xml_hosts(const struct cc_platform_xml *x, int group, const char *zone)
{
    const int first = x->map->first[group], end = x->map->first[group + 1];
    for (int i = first; i < end; i++)
        write_host(x, x->map->rank[i]);
    /* SimGrid requires hosts and routers before routes. */
    if (zone != NULL)
        (void)fprintf(x->f, "    <router id=\"gate-%s-%d\"/>\n", zone, group);
    for (int i = first; i < end; i++)
        (void)fprintf(x->f,
                      "    <route src=\"" CC_HOST_FORMAT "\" dst=\"" CC_HOST_FORMAT "\">"
                      "<link_ctn id=\"loop-%d\"/></route>\n",
                      x->map->rank[i], x->map->rank[i], x->map->rank[i]);
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

void cc_platform_xml_zone_route(const struct cc_platform_xml *x, const char *from, const char *to,
                                const char *link)
{
    (void)fprintf(x->f,
                  "    <zoneRoute src=\"%s\" dst=\"%s\" gw_src=\"gate-%s\" gw_dst=\"gate-%s\">"
                  "<link_ctn id=\"%s\" direction=\"UP\"/></zoneRoute>\n",
                  from, to, from, to, link);
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

/* --- the whole platform --- */

int cc_platform_xml_make(const struct cc_platform_config *config, const struct cc_rank_map *map,
                         char **out, struct cc_error *e)
{
    const struct cc_topology_info *topology = cc_topology_info(config->topology);
    struct cc_memory_text t;
    char what[60];
    (void)snprintf(what, sizeof what, "a platform of %d hosts", map->hosts);
    CC_TRY(cc_memory_text_begin(&t, what, e));
    struct cc_platform_xml x = {.f = t.f, .config = config, .map = map};
    (void)fprintf(x.f,
                  "<?xml version='1.0'?>\n"
                  "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
                  "<!-- " SCHEMA " -->\n"
                  "<platform version=\"4.1\">\n"
                  "  <zone id=\"network\" routing=\"%s\">\n",
                  topology->routing);
    write_properties(&x);
    topology->write(&x);
    (void)fputs("  </zone>\n</platform>\n", x.f);
    CC_TRY(cc_memory_text_end(&t, what, e));
    *out = t.text;
    return CC_OK;
}
