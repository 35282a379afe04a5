/* sites: several switches with hosts, and a long link between each two of them.
 *
 *        site-0 ======= wan-0-1 ======= site-1
 *        | | | |     WAN bandwidth      | | | |
 *        hosts       WAN latency        hosts     B
 *
 * Latency: L within a site; between sites --wan-latency is added. A message of n bits between sites
 * takes L + wan-latency + n / min(B, wan-bw).
 * Sharing: messages between the same two sites in the same direction share their WAN link.
 * Ranks: each site has an equal block of the workers and an equal share of the servers: worker i of
 * P is at site floor(i sites / P), server j of M at site floor(j sites / M).
 * XML: a star for each site, and a link with a route for each pair of sites. */
#include <math.h>
#include <stdio.h>

#include "netsim/platform/platform_xml.h"

#define SITES_MAX 64 /* each has a link to each other one */

static int check(const struct cc_platform_config *c, struct cc_error *e)
{
    if (c->sites == 1)
        return cc_usage(e, "--sites 1: nothing passes a WAN: take --topology switch, or 2 sites");
    if (c->sites < 1 || c->sites > SITES_MAX)
        return cc_usage(e, "--sites %d: 2 to %d", c->sites, SITES_MAX);
    if (c->sites > c->workers)
        return cc_usage(e, "--sites %d: each needs a worker, and there are %d", c->sites,
                        c->workers);
    if (!(c->wan_bps > 0 && isfinite(c->wan_bps)))
        return cc_usage(e, "--wan-bw: the links between sites need a rate above 0");
    if (!(c->wan_latency_s >= 0 && isfinite(c->wan_latency_s)))
        return cc_usage(e, "--wan-latency %g: seconds, at least 0", c->wan_latency_s);
    return CC_OK;
}

static int map_ranks(const struct cc_platform_config *c, struct cc_rank_map *out,
                     struct cc_error *e)
{
    int worker = 0, server = 0, i = 0;
    CC_TRY(cc_rank_map_alloc(c->workers + c->servers, c->sites, out, e));
    for (int site = 0; site < c->sites; site++) {
        out->first[site] = i;
        while (worker < c->workers && (long long)worker * c->sites / c->workers == site)
            out->rank[i++] = worker++;
        while (server < c->servers && (long long)server * c->sites / c->servers == site)
            out->rank[i++] = c->workers + server++;
    }
    out->first[c->sites] = i;
    return CC_OK;
}

void cc_topology_sites_links(const struct cc_platform_xml *x)
{
    const struct cc_platform_config *c = x->config;
    char link[48];
    for (int i = 0; i < c->sites; i++) {
        for (int j = i + 1; j < c->sites; j++) {
            (void)snprintf(link, sizeof link, "wan-%d-%d", i, j);
            cc_platform_xml_link(x, link, c->wan_bps, c->wan_latency_s);
        }
    }
}

void cc_topology_sites_join(const struct cc_platform_xml *x, const char *zone)
{
    const struct cc_platform_config *c = x->config;
    char from[32], to[32], link[48];
    for (int i = 0; i < c->sites; i++) {
        for (int j = i + 1; j < c->sites; j++) {
            (void)snprintf(from, sizeof from, "%s-%d", zone, i);
            (void)snprintf(to, sizeof to, "%s-%d", zone, j);
            (void)snprintf(link, sizeof link, "wan-%d-%d", i, j);
            cc_platform_xml_zone_route(x, from, to, link);
        }
    }
}

static void write_sites(const struct cc_platform_xml *x)
{
    cc_platform_xml_groups(x, "site");
    cc_topology_sites_links(x);
    cc_topology_sites_join(x, "site");
}

const struct cc_topology_info cc_topology_sites = {
    .difference = "a WAN lies between the sites",
    .uneven_routes = true,
    .check = check,
    .map = map_ranks,
    .routing = "Full",
    .write = write_sites,
};
