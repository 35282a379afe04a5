/* Platforms as SimGrid's XML. Zones with routing="Cluster" are stars: a route is the link of the
 * one host and that of the other, and no table of routes is kept. */
#include <stdio.h>
#include <stdlib.h>

#include "core/format/json.h"
#include "netsim/platform/platform_impl.h"

/* Ranks use the loopback as a timer: so many bytes take a time that they know. */
#define LOOPBACK_BYTES_S "1e9"
/* Of a host that is not slow. */
#define SPEED_FLOPS 1e9

struct xml {
    FILE *f;
    const struct cc_platform_config *config;
    const struct cc_rank_map *at;
};

void cc_torus_name(const int d[3], char out[48])
{
    int n = snprintf(out, 48, "%dx%d", d[0], d[1]);
    if (d[2] > 0)
        (void)snprintf(out + n, 48 - (size_t)n, "x%d", d[2]);
}

/* key="number unit" in the shortest form that reads back as the same number. */
static void put_number(const struct xml *x, const char *key, double v, const char *unit)
{
    char text[CC_NUMBER_CAP];
    cc_number_print(v, text);
    (void)fprintf(x->f, " %s=\"%s%s\"", key, text, unit);
}

static void put_prop(const struct xml *x, const char *id, const char *value)
{
    (void)fprintf(x->f, "    <prop id=\"%s\" value=\"%s\"/>\n", id, value);
}

static void put_amount(const struct xml *x, const char *id, double v)
{
    char text[CC_NUMBER_CAP];
    cc_number_print(v, text);
    put_prop(x, id, text);
}

/* What it was made from, in the words of the options. */
static void put_origin(const struct xml *x)
{
    const struct cc_platform_config *h = x->config;
    char name[48];
    put_prop(x, "schema", CC_PLATFORM_SCHEMA);
    put_prop(x, "topology", cc_topology_names[h->topology]);
    put_amount(x, "workers", h->workers);
    put_amount(x, "servers", h->servers);
    put_amount(x, "bw_bps", h->bw_bps);
    put_amount(x, "latency_s", h->latency_s);
    if (h->topology == CC_TOPOLOGY_FAT_TREE) {
        put_amount(x, "rack", h->rack);
        put_amount(x, "oversubscription", h->oversubscription);
    } else if (h->topology == CC_TOPOLOGY_TORUS) {
        cc_torus_name(x->at->torus, name);
        put_prop(x, "torus", name);
    } else if (h->topology == CC_TOPOLOGY_SITES) {
        put_amount(x, "sites", h->sites);
        put_amount(x, "wan_bps", h->wan_bps);
        put_amount(x, "wan_latency_s", h->wan_latency_s);
    }
    if (h->slow_links > 0) {
        put_amount(x, "slow_links", h->slow_links);
        put_amount(x, "slow_bps", h->slow_bps);
    }
    if (h->slow_hosts > 0) {
        put_amount(x, "slow_hosts", h->slow_hosts);
        put_amount(x, "slow_factor", h->slow_factor);
    }
}

/* A link that carries its bandwidth each way at the same time. */
static void put_link(const struct xml *x, const char *id, double bps, double latency_s)
{
    (void)fprintf(x->f, "    <link id=\"%s\" sharing_policy=\"SPLITDUPLEX\"", id);
    put_number(x, "bandwidth", bps, "bps");
    put_number(x, "latency", latency_s, "s");
    (void)fputs("/>\n", x->f);
}

/* Whether this rank is one of the last so many workers. */
static bool is_slow(const struct cc_platform_config *h, int rank, int slow)
{
    return rank < h->workers && rank >= h->workers - slow;
}

static void put_host(const struct xml *x, int rank)
{
    const struct cc_platform_config *h = x->config;
    char host[32], link[48];
    (void)snprintf(host, sizeof host, CC_HOST_FORMAT, rank);
    (void)snprintf(link, sizeof link, "link-%d", rank);
    (void)fprintf(x->f, "    <host id=\"%s\"", host);
    put_number(x, "speed",
               is_slow(h, rank, h->slow_hosts) ? SPEED_FLOPS / h->slow_factor : SPEED_FLOPS, "f");
    (void)fputs("/>\n", x->f);
    put_link(x, link, is_slow(h, rank, h->slow_links) ? h->slow_bps : h->bw_bps, h->latency_s / 2);
    (void)fprintf(x->f,
                  "    <link id=\"loop-%d\" bandwidth=\"" LOOPBACK_BYTES_S
                  "Bps\" latency=\"0s\" sharing_policy=\"FATPIPE\"/>\n"
                  "    <host_link id=\"%s\" up=\"%s_UP\" down=\"%s_DOWN\"/>\n",
                  rank, host, link, link);
}

/* Of a group that others can be reached from, or of all. Hosts come before routes. */
static void put_hosts(const struct xml *x, int group, bool gate)
{
    const int first = x->at->first[group], end = x->at->first[group + 1];
    for (int i = first; i < end; i++)
        put_host(x, x->at->rank[i]);
    if (gate)
        (void)fprintf(x->f, "    <router id=\"gate-%s-%d\"/>\n",
                      x->config->topology == CC_TOPOLOGY_SITES ? "site" : "rack", group);
    for (int i = first; i < end; i++)
        (void)fprintf(x->f,
                      "    <route src=\"" CC_HOST_FORMAT "\" dst=\"" CC_HOST_FORMAT "\">"
                      "<link_ctn id=\"loop-%d\"/></route>\n",
                      x->at->rank[i], x->at->rank[i], x->at->rank[i]);
}

static void put_switch(const struct xml *x)
{
    (void)fputs("  <zone id=\"network\" routing=\"Cluster\">\n", x->f);
    put_origin(x);
    put_hosts(x, 0, false);
}

/* A switch with its hosts, inside of the network, and its way out of it. */
static void put_groups(const struct xml *x, const char *name)
{
    for (int i = 0; i < x->at->groups; i++) {
        (void)fprintf(x->f, "  <zone id=\"%s-%d\" routing=\"Cluster\">\n", name, i);
        put_hosts(x, i, true);
        (void)fputs("  </zone>\n", x->f);
    }
}

/* The link of that name is the way from one zone to another, and back. */
static void put_way(const struct xml *x, const char *from, const char *to, const char *link)
{
    (void)fprintf(x->f,
                  "    <zoneRoute src=\"%s\" dst=\"%s\" gw_src=\"gate-%s\" gw_dst=\"gate-%s\">"
                  "<link_ctn id=\"%s\" direction=\"UP\"/></zoneRoute>\n",
                  from, to, from, to, link);
}

/* Ways are found as they are asked for: each goes over the top. */
static void put_fat_tree(const struct xml *x)
{
    const struct cc_platform_config *h = x->config;
    char rack[32], link[32];
    (void)fputs("  <zone id=\"network\" routing=\"DijkstraCache\">\n", x->f);
    put_origin(x);
    put_groups(x, "rack");
    (void)fputs(
        "  <zone id=\"top\" routing=\"Cluster\">\n    <router id=\"gate-top\"/>\n  </zone>\n",
        x->f);
    for (int i = 0; i < x->at->groups; i++) {
        (void)snprintf(link, sizeof link, "uplink-%d", i);
        put_link(x, link, h->rack * h->bw_bps / h->oversubscription, h->latency_s / 2);
    }
    for (int i = 0; i < x->at->groups; i++) {
        (void)snprintf(rack, sizeof rack, "rack-%d", i);
        (void)snprintf(link, sizeof link, "uplink-%d", i);
        put_way(x, rack, "top", link);
    }
}

static void put_sites(const struct xml *x)
{
    const struct cc_platform_config *h = x->config;
    char from[32], to[32], link[48];
    (void)fputs("  <zone id=\"network\" routing=\"Full\">\n", x->f);
    put_origin(x);
    put_groups(x, "site");
    for (int i = 0; i < h->sites; i++) {
        for (int j = i + 1; j < h->sites; j++) {
            (void)snprintf(link, sizeof link, "wan-%d-%d", i, j);
            put_link(x, link, h->wan_bps, h->wan_latency_s);
        }
    }
    for (int i = 0; i < h->sites; i++) {
        for (int j = i + 1; j < h->sites; j++) {
            (void)snprintf(from, sizeof from, "site-%d", i);
            (void)snprintf(to, sizeof to, "site-%d", j);
            (void)snprintf(link, sizeof link, "wan-%d-%d", i, j);
            put_way(x, from, to, link);
        }
    }
}

/* SimGrid's own: it has a link from each host to the next one in each dimension, and goes through
 * one dimension after the other. */
static void put_torus(const struct xml *x)
{
    const struct cc_rank_map *at = x->at;
    int sides = 0;
    (void)fputs("  <zone id=\"network\" routing=\"Full\">\n", x->f);
    put_origin(x);
    (void)fputs("    <cluster id=\"torus\" topology=\"TORUS\" topo_parameters=\"", x->f);
    /* Along a side of one there is no link; of two such SimGrid would make the same one twice. */
    for (int i = 0; i < 3; i++)
        if (at->torus[i] > 1)
            (void)fprintf(x->f, "%s%d", sides++ > 0 ? "," : "", at->torus[i]);
    if (sides == 0)
        (void)fputs("1", x->f);
    (void)fputs("\" prefix=\"host-\" suffix=\"\" radical=\"", x->f);
    for (int i = 0; i < at->spots; i++)
        (void)fprintf(x->f, "%s%d", i > 0 ? "," : "", at->rank[i]);
    (void)fputs("\" sharing_policy=\"SPLITDUPLEX\"", x->f);
    put_number(x, "speed", SPEED_FLOPS, "f");
    put_number(x, "bw", x->config->bw_bps, "bps");
    put_number(x, "lat", x->config->latency_s, "s");
    (void)fputs(" loopback_bw=\"" LOOPBACK_BYTES_S "Bps\" loopback_lat=\"0s\"/>\n", x->f);
}

static void put_network(const struct xml *x)
{
    switch (x->config->topology) {
    case CC_TOPOLOGY_SWITCH:
        put_switch(x);
        break;
    case CC_TOPOLOGY_FAT_TREE:
        put_fat_tree(x);
        break;
    case CC_TOPOLOGY_TORUS:
        put_torus(x);
        break;
    case CC_TOPOLOGY_SITES:
        put_sites(x);
        break;
    }
    (void)fputs("  </zone>\n", x->f);
}

int cc_platform_text(const struct cc_platform_config *config, const struct cc_rank_map *at,
                     char **out, struct cc_error *e)
{
    char *text = NULL;
    size_t length;
    struct xml x = {.f = open_memstream(&text, &length), .config = config, .at = at};
    if (x.f != NULL) {
        (void)fputs("<?xml version='1.0'?>\n"
                    "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
                    "<!-- " CC_PLATFORM_SCHEMA " -->\n"
                    "<platform version=\"4.1\">\n",
                    x.f);
        put_network(&x);
        (void)fputs("</platform>\n", x.f);
    }
    if (x.f != NULL && fclose(x.f) == 0) {
        *out = text;
        return CC_OK;
    }
    free(text);
    return cc_fail(e, "out of memory: a platform of %d hosts", at->spots);
}
