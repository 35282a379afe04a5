/* A platform is made in three steps: its configuration is checked, ranks are assigned to hosts, and
 * the hosts with their links are written as XML (platform_xml.c).
 *
 * The assignment is a row of hosts, divided into groups (racks or sites). Servers are spread
 * evenly: over the row, so that racks get equal shares of them, or over the sites, each of which
 * gets an equal share of the workers as well. Hosts are named after their ranks, so a reader of the
 * file finds the ranks in the order of the names. */
#include "netsim/platform/platform.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "netsim/platform/platform_impl.h"

const char *const cc_topology_names[] = {"switch", "fat-tree", "torus", "sites", NULL};

void cc_platform_print_need(int workers, int servers, char out[CC_PLATFORM_NEED_CAP])
{
    char and_servers[40] = "";
    if (servers > 0)
        (void)snprintf(and_servers, sizeof and_servers, " and %d server%s", servers,
                       servers > 1 ? "s" : "");
    (void)snprintf(out, CC_PLATFORM_NEED_CAP, "%d worker%s%s need%s %d", workers,
                   workers > 1 ? "s" : "", and_servers, workers + servers > 1 ? "" : "s",
                   workers + servers);
}

/* --- checking --- */

static int check_slow(const struct cc_platform_config *c, struct cc_error *e)
{
    if (c->slow_links < 0 || c->slow_links > c->workers)
        return cc_usage(e, "--slow-links %d: there are %d workers", c->slow_links, c->workers);
    if (c->slow_links > 0 && !(c->slow_bps > 0 && isfinite(c->slow_bps)))
        return cc_usage(e, "--slow-links: a link needs a rate above 0");
    if (c->slow_hosts < 0 || c->slow_hosts > c->workers)
        return cc_usage(e, "--slow-hosts %d: there are %d workers", c->slow_hosts, c->workers);
    if (c->slow_hosts == c->workers)
        return cc_usage(
            e, "--slow-hosts %d: these are all workers; --compute sets how long they all take",
            c->slow_hosts);
    if (c->slow_hosts > 0 && !(c->slow_factor >= 1 && c->slow_factor <= 1e6))
        return cc_usage(e, "--slow-hosts: %g times as long as the others take; 1 to 1000000",
                        c->slow_factor);
    if (c->topology == CC_TOPOLOGY_TORUS && (c->slow_links > 0 || c->slow_hosts > 0))
        return cc_usage(e,
                        "%s: the hosts of a torus are all alike, and so are its links; take "
                        "--topology switch",
                        c->slow_links > 0 ? "--slow-links" : "--slow-hosts");
    return CC_OK;
}

static int check_fat_tree(const struct cc_platform_config *c, struct cc_error *e)
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

static int check_sites(const struct cc_platform_config *c, struct cc_error *e)
{
    if (c->sites == 1)
        return cc_usage(e, "--sites 1: nothing passes a WAN: take --topology switch, or 2 sites");
    if (c->sites < 1 || c->sites > CC_SITES_MAX)
        return cc_usage(e, "--sites %d: 2 to %d", c->sites, CC_SITES_MAX);
    if (c->sites > c->workers)
        return cc_usage(e, "--sites %d: each needs a worker, and there are %d", c->sites,
                        c->workers);
    if (!(c->wan_bps > 0 && isfinite(c->wan_bps)))
        return cc_usage(e, "--wan-bw: the links between sites need a rate above 0");
    if (!(c->wan_latency_s >= 0 && isfinite(c->wan_latency_s)))
        return cc_usage(e, "--wan-latency %g: seconds, at least 0", c->wan_latency_s);
    return CC_OK;
}

static int check_torus(const struct cc_platform_config *c, struct cc_error *e)
{
    const int *d = c->torus;
    if (d[0] == 0 && d[1] == 0 && d[2] == 0)
        return CC_OK;
    if (d[0] < 1 || d[1] < 1 || d[2] < 0)
        return cc_usage(e, "--torus %dx%dx%d: two or three dimensions of at least one host each",
                        d[0], d[1], d[2]);
    const double hosts = (double)d[0] * d[1] * (d[2] == 0 ? 1 : d[2]);
    char name[CC_TORUS_NAME_CAP], need[CC_PLATFORM_NEED_CAP];
    cc_torus_name(d, name);
    cc_platform_print_need(c->workers, c->servers, need);
    if (hosts < c->workers + c->servers)
        return cc_usage(e, "--torus %s has room for %.0f hosts, and %s", name, hosts, need);
    if (hosts > CC_PLATFORM_HOSTS)
        return cc_usage(e, "--torus %s: at most %d hosts", name, CC_PLATFORM_HOSTS);
    return CC_OK;
}

int cc_platform_check(const struct cc_platform_config *c, struct cc_error *e)
{
    if (c->workers < 1 || c->servers < 0 || c->workers > CC_PLATFORM_HOSTS ||
        c->servers > CC_PLATFORM_HOSTS - c->workers)
        return cc_usage(e, "a platform for %d workers and %d servers: at least one, at most %d",
                        c->workers, c->servers, CC_PLATFORM_HOSTS);
    if (!(c->bw_bps > 0 && isfinite(c->bw_bps)))
        return cc_usage(e, "--bw: a link needs a rate above 0");
    if (!(c->latency_s >= 0 && isfinite(c->latency_s)))
        return cc_usage(e, "--latency %g: seconds, at least 0", c->latency_s);
    CC_TRY(check_slow(c, e));
    switch (c->topology) {
    case CC_TOPOLOGY_SWITCH:
        break;
    case CC_TOPOLOGY_FAT_TREE:
        return check_fat_tree(c, e);
    case CC_TOPOLOGY_TORUS:
        return check_torus(c, e);
    case CC_TOPOLOGY_SITES:
        return check_sites(c, e);
    }
    return CC_OK;
}

/* --- assigning ranks to hosts --- */

/* Finds the sides of a torus, near to a cube, that holds the given number of hosts; the longest
 * side first. */
static void choose_torus(int hosts, int d[3])
{
    d[0] = (int)ceil(cbrt(hosts) - 1e-9);
    d[1] = (int)ceil(sqrt((double)hosts / d[0]) - 1e-9);
    d[2] = (hosts + d[0] * d[1] - 1) / (d[0] * d[1]);
}

/* Assigns a row of `spots` hosts: servers at equal distances, the first one on the first host, and
 * workers in between. Hosts beyond the last rank get the numbers after it. */
static void assign_row(const struct cc_platform_config *c, int spots, int *rank)
{
    const int ranks = c->workers + c->servers;
    int worker = 0, server = 0;
    for (int i = 0; i < ranks; i++) {
        const bool is_server =
            server < c->servers && i == (int)((long long)server * ranks / c->servers);
        rank[i] = is_server ? c->workers + server++ : worker++;
    }
    for (int i = ranks; i < spots; i++)
        rank[i] = i;
}

/* Assigns hosts site by site, each with an equal share of the workers and of the servers. first[i]
 * is the index of site i's first host in rank[]. */
static void assign_sites(const struct cc_platform_config *c, int *rank, int *first)
{
    int worker = 0, server = 0, i = 0;
    for (int site = 0; site < c->sites; site++) {
        first[site] = i;
        while (worker < c->workers && (long long)worker * c->sites / c->workers == site)
            rank[i++] = worker++;
        while (server < c->servers && (long long)server * c->sites / c->servers == site)
            rank[i++] = c->workers + server++;
    }
    first[c->sites] = i;
}

static int make_rank_map(const struct cc_platform_config *c, struct cc_rank_map *map,
                         struct cc_error *e)
{
    const int ranks = c->workers + c->servers;
    const bool sites = c->topology == CC_TOPOLOGY_SITES;
    const bool racks = c->topology == CC_TOPOLOGY_FAT_TREE;
    map->spots = ranks;
    if (c->topology == CC_TOPOLOGY_TORUS) {
        if (c->torus[0] == 0)
            choose_torus(ranks, map->torus);
        else
            memcpy(map->torus, c->torus, sizeof map->torus);
        map->spots = map->torus[0] * map->torus[1] * (map->torus[2] == 0 ? 1 : map->torus[2]);
    }
    map->groups = sites ? c->sites : racks ? (ranks + c->rack - 1) / c->rack : 1;
    map->rank = cc_alloc((size_t)map->spots * sizeof *map->rank, e);
    map->first = cc_alloc(((size_t)map->groups + 1) * sizeof *map->first, e);
    if (map->rank == NULL || map->first == NULL)
        return CC_FAIL;
    if (sites) {
        assign_sites(c, map->rank, map->first);
        return CC_OK;
    }
    assign_row(c, map->spots, map->rank);
    for (int i = 0; i < map->groups; i++)
        map->first[i] = racks ? i * c->rack : 0;
    map->first[map->groups] = map->spots;
    return CC_OK;
}

static int name_hosts(size_t hosts, struct cc_platform *out, struct cc_error *e)
{
    out->host = cc_alloc0(hosts * sizeof *out->host, e);
    if (out->host == NULL)
        return CC_FAIL;
    for (; out->hosts < hosts; out->hosts++) {
        char name[32];
        (void)snprintf(name, sizeof name, CC_HOST_FORMAT, (int)out->hosts);
        out->host[out->hosts] = cc_strdup(name, e);
        if (out->host[out->hosts] == NULL)
            return CC_FAIL;
    }
    return CC_OK;
}

int cc_platform_make(const struct cc_platform_config *config, struct cc_platform *out,
                     struct cc_error *e)
{
    struct cc_platform made = {0};
    struct cc_rank_map map = {0};
    int status = CC_OK;
    CC_TRY(cc_platform_check(config, e));
    CC_TRY_OUT(make_rank_map(config, &map, e));
    CC_TRY_OUT(cc_platform_text(config, &map, &made.xml, e));
    CC_TRY_OUT(name_hosts((size_t)(config->workers + config->servers), &made, e));
    made.uneven_routes = map.groups > 1 || config->topology == CC_TOPOLOGY_TORUS;
    *out = made;
    made = (struct cc_platform){0};
out:
    cc_platform_free(&made);
    free(map.rank);
    free(map.first);
    return status;
}

void cc_platform_free(struct cc_platform *p)
{
    for (size_t i = 0; i < p->hosts; i++)
        free(p->host[i]);
    free(p->host);
    free(p->xml);
    *p = (struct cc_platform){0};
}
