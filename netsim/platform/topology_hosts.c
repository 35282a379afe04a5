/* hosts with several workers on one switch, or on that of their site (--per-host G):
 *
 *      host of G workers            host of G workers         server
 *      w0 -- w1 -- ... (inner)      ...                         |
 *        \\   |                       |                         |
 *         link-0                   link-1                    link-2      B
 *      =====+========================+=========================+====
 *
 * Latency: --intra-latency inside a host, half of it on each worker's inner link; L between hosts.
 * A message of n bits takes --intra-latency + n / --intra-bw, or L + n/B.
 * Sharing: messages that leave a host, or enter it, share its link; those inside share a worker's
 * inner link, out and in. No message takes links of both kinds.
 * Several interfaces (--nics N): links link-0-0 to link-0-(N-1) in place of link-0; worker i takes
 * that of (i modulo G) modulo N, to send and to receive. Servers have one.
 * Several sites (--sites S): each has a switch, and hosts of one site are as above. A message to
 * another site, of which there is one WAN link each way for each pair, takes that, too, and its
 * latency. With H hosts, host h is at site floor(h S / H), so are servers among themselves.
 * Ranks: worker i is on host floor(i / G), each server on a host of its own.
 * XML: SimGrid's hosts are the workers. Those of a host are a zone with a route between each two of
 * them, and one to its gate, the host's link. An empty star, "top", or "top-0" and so on of sites,
 * joins the zones by trunks, which are never the limit; WAN links join the stars. */
#include <stdio.h>

#include "netsim/platform/platform_xml.h"

static int check(const struct cc_platform_config *c, struct cc_error *e)
{
    if (c->workers % c->per_host != 0)
        return cc_usage(e, "--per-host %d: %d workers leave a host part empty", c->per_host,
                        c->workers);
    if (!(c->intra_bps > 0) || !(c->intra_latency_s >= 0))
        return cc_usage(e, "--intra-bw: the links inside a host need a rate above 0");
    if (c->topology == CC_TOPOLOGY_SITES && c->sites > c->workers / c->per_host)
        return cc_usage(e, "--sites %d: each needs a host, and %d workers are on %d", c->sites,
                        c->workers, c->workers / c->per_host);
    if (c->topology == CC_TOPOLOGY_SITES)
        CC_TRY(cc_topology_sites.check(c, e));
    if (c->slow_links > 0)
        return cc_usage(e, "--slow-links are of hosts with one worker each: leave out --per-host");
    return CC_OK;
}

static int map_ranks(const struct cc_platform_config *c, struct cc_rank_map *out,
                     struct cc_error *e)
{
    const int full = c->workers / c->per_host, hosts = full + c->servers;
    CC_TRY(cc_rank_map_alloc(c->workers + c->servers, hosts, out, e));
    for (int i = 0; i < out->hosts; i++)
        out->rank[i] = i;
    for (int i = 0; i <= hosts; i++)
        out->first[i] = i <= full ? i * c->per_host : c->workers + i - full;
    return CC_OK;
}

static void write_route(const struct cc_platform_xml *x, int from, int to)
{
    (void)fprintf(x->f,
                  "    <route src=\"" CC_HOST_FORMAT "\" dst=\"" CC_HOST_FORMAT
                  "\" symmetrical=\"NO\"><link_ctn id=\"inner-%d_UP\"/>"
                  "<link_ctn id=\"inner-%d_DOWN\"/></route>\n",
                  from, to, from, to);
}

/* Names an interface's link: that of the `local`-th rank of a host. */
static void name_link(const struct cc_platform_xml *x, int group, int local, char out[48])
{
    const int nics = x->config->nics;
    const bool several = nics > 1 && x->map->first[group] < x->config->workers;
    if (several)
        (void)snprintf(out, 48, "link-%d-%d", group, local % nics);
    else
        (void)snprintf(out, 48, "link-%d", group);
}

static void write_gate(const struct cc_platform_xml *x, int group, int rank)
{
    char link[48];
    name_link(x, group, rank - x->map->first[group], link);
    (void)fprintf(
        x->f,
        "    <route src=\"" CC_HOST_FORMAT "\" dst=\"gate-machine-%d\" symmetrical=\"NO\">"
        "<link_ctn id=\"%s_UP\"/></route>\n"
        "    <route src=\"gate-machine-%d\" dst=\"" CC_HOST_FORMAT "\" symmetrical=\"NO\">"
        "<link_ctn id=\"%s_DOWN\"/></route>\n",
        rank, group, link, group, rank, link);
}

static void write_machine(const struct cc_platform_xml *x, int group)
{
    const struct cc_platform_config *c = x->config;
    const int first = x->map->first[group], end = x->map->first[group + 1];
    char link[48];
    (void)fprintf(x->f, "  <zone id=\"machine-%d\" routing=\"Full\">\n", group);
    for (int i = first; i < end; i++)
        cc_platform_xml_host(x, i);
    (void)fprintf(x->f, "    <router id=\"gate-machine-%d\"/>\n", group);
    for (int nic = 0; nic < (c->nics > 1 && first < c->workers ? c->nics : 1); nic++) {
        name_link(x, group, nic, link);
        cc_platform_xml_port(x, link, c->bw_bps);
    }
    for (int i = first; i < end; i++) {
        (void)snprintf(link, sizeof link, "inner-%d", i);
        cc_platform_xml_link(x, link, c->intra_bps, c->intra_latency_s / 2);
    }
    cc_platform_xml_loops(x, group);
    for (int i = first; i < end; i++) {
        for (int k = first; k < end; k++)
            if (k != i)
                write_route(x, i, k);
        write_gate(x, group, i);
    }
    (void)fputs("  </zone>\n", x->f);
}

static int sites_of(const struct cc_platform_config *c)
{
    return c->topology == CC_TOPOLOGY_SITES ? c->sites : 1;
}

/* Names the switch of a site, or of all hosts. */
static void name_top(const struct cc_platform_xml *x, int site, char out[32])
{
    if (sites_of(x->config) > 1)
        (void)snprintf(out, 32, "top-%d", site);
    else
        (void)snprintf(out, 32, "top");
}

/* The site of a machine, which are the workers' hosts and then the servers. */
static int site_of(const struct cc_platform_config *c, int machine)
{
    const int full = c->workers / c->per_host;
    const long long sites = sites_of(c);
    return (int)(machine < full ? machine * sites / full : (machine - full) * sites / c->servers);
}

static void write_hosts(const struct cc_platform_xml *x)
{
    const struct cc_platform_config *c = x->config;
    const double port = c->down_bps > c->bw_bps ? c->down_bps : c->bw_bps;
    const double most = port * (c->nics > 1 ? c->nics : 1);
    char machine[32], trunk[32], top[32];
    for (int i = 0; i < x->map->groups; i++)
        write_machine(x, i);
    for (int i = 0; i < sites_of(c); i++) {
        name_top(x, i, top);
        (void)fprintf(x->f,
                      "  <zone id=\"%s\" routing=\"Cluster\">\n    <router id=\"gate-%s\"/>\n"
                      "  </zone>\n",
                      top, top);
    }
    for (int i = 0; i < x->map->groups; i++) {
        (void)snprintf(trunk, sizeof trunk, "trunk-%d", i);
        cc_platform_xml_link(x, trunk, most, 0);
    }
    if (sites_of(c) > 1)
        cc_topology_sites_links(x);
    for (int i = 0; i < x->map->groups; i++) {
        (void)snprintf(machine, sizeof machine, "machine-%d", i);
        (void)snprintf(trunk, sizeof trunk, "trunk-%d", i);
        name_top(x, site_of(c, i), top);
        cc_platform_xml_zone_route(x, machine, top, trunk);
    }
    if (sites_of(c) > 1)
        cc_topology_sites_join(x, "top");
}

const struct cc_topology_info cc_topology_hosts = {
    .uneven_routes = true,
    .check = check,
    .map = map_ranks,
    .routing = "DijkstraCache",
    .write = write_hosts,
};
