/* torus: a grid of hosts in two or three dimensions, each with a link of bandwidth B to its two
 * neighbours in every dimension; the last host of a line is the first one's neighbour.
 *
 * Routes: one dimension after the other, x first, the shorter way round, through the hosts between.
 * In a dimension of two hosts both neighbours are the same host, with one link; a dimension of one
 * host has no link. Latency: L for each link, so h L + n/B over h links: hosts in between pass a
 * message on at once. Sharing: a message shares every link on its route with all others there.
 * Sides: by default the smallest grid that holds all ranks and is near to a cube. Ranks: along x,
 * then y, then z, servers evenly among the workers (cc_rank_map_row). Hosts without a rank only
 * pass messages on. All hosts and links are alike. XML: SimGrid's own torus cluster. */
#include <math.h>
#include <stdio.h>

#include "core/memory.h"
#include "netsim/platform/platform_xml.h"

void cc_sides_print(const int sides[3], char out[CC_SIDES_CAP])
{
    const int n = snprintf(out, CC_SIDES_CAP, "%dx%d", sides[0], sides[1]);
    if (sides[2] > 0)
        (void)snprintf(out + n, CC_SIDES_CAP - (size_t)n, "x%d", sides[2]);
}

/* Number of hosts; a double, since sides that have not been checked may overflow an int. */
static double count_hosts(const int sides[3])
{
    return (double)sides[0] * sides[1] * (sides[2] == 0 ? 1 : sides[2]);
}

static int check(const struct cc_platform_config *c, struct cc_error *e)
{
    const int *d = c->torus;
    const int ranks = c->workers + c->servers;
    if (d[0] == 0 && d[1] == 0 && d[2] == 0)
        return CC_OK;
    if (d[0] < 1 || d[1] < 1 || d[2] < 0)
        return cc_usage(e, "--torus %dx%dx%d: two or three dimensions of at least one host each",
                        d[0], d[1], d[2]);
    const double hosts = count_hosts(d);
    char name[CC_SIDES_CAP], need[CC_PLATFORM_NEED_CAP];
    cc_sides_print(d, name);
    cc_platform_print_need(c->workers, c->servers, need);
    if (hosts < ranks)
        return cc_usage(e, "--torus %s has room for %.0f hosts, and %s", name, hosts, need);
    if (hosts > CC_PLATFORM_HOSTS)
        return cc_usage(e, "--torus %s: at most %d hosts", name, CC_PLATFORM_HOSTS);
    return CC_OK;
}

static void choose_sides(struct cc_platform_config *c)
{
    int *d = c->torus;
    const int ranks = c->workers + c->servers;
    if (d[0] != 0)
        return;
    d[0] = (int)ceil(cbrt(ranks) - 1e-9); /* the longest side */
    d[1] = (int)ceil(sqrt((double)ranks / d[0]) - 1e-9);
    d[2] = (ranks + d[0] * d[1] - 1) / (d[0] * d[1]);
}

static int map_ranks(const struct cc_platform_config *c, struct cc_rank_map *out,
                     struct cc_error *e)
{
    const int hosts = (int)count_hosts(c->torus);
    return cc_rank_map_row(c, hosts, hosts, out, e);
}

static void write_torus(const struct cc_platform_xml *x)
{
    char sides[CC_SIDES_CAP] = "";
    /* Sides of length one are left out: they have no links, and SimGrid would give two of them
     * links of the same name. */
    for (int i = 0; i < 3; i++)
        if (x->config->torus[i] > 1)
            cc_list_add(sides, sizeof sides, ",", "%d", x->config->torus[i]);
    cc_platform_xml_cluster(x, "torus", "TORUS", sides[0] != '\0' ? sides : "1");
}

const struct cc_topology_info cc_topology_torus = {
    .difference = "messages pass through other hosts' links",
    .uneven_routes = true,
    .equal_hosts = true,
    .check = check,
    .choose = choose_sides,
    .map = map_ranks,
    .routing = "Full",
    .write = write_torus,
};
