/* Platforms made from a few numbers; docs/platform.md describes what each one is. */
#include "netsim/platform/platform.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "netsim/platform/platform_impl.h"

const char *const cc_topology_names[] = {"switch", "fat-tree", "torus", "sites", NULL};

void cc_platform_need_text(int workers, int servers, char out[CC_NEED_CAP])
{
    char serving[40] = "";
    if (servers > 0)
        (void)snprintf(serving, sizeof serving, " and %d server%s", servers,
                       servers > 1 ? "s" : "");
    (void)snprintf(out, CC_NEED_CAP, "%d worker%s%s need%s %d", workers, workers > 1 ? "s" : "",
                   serving, workers + servers > 1 ? "" : "s", workers + servers);
}

/* --- what is asked for --- */

static int check_slow(const struct cc_platform_config *h, struct cc_error *e)
{
    if (h->slow_links < 0 || h->slow_links > h->workers)
        return cc_usage(e, "--slow-links %d: there are %d workers", h->slow_links, h->workers);
    if (h->slow_links > 0 && !(h->slow_bps > 0 && isfinite(h->slow_bps)))
        return cc_usage(e, "--slow-links: a link needs a rate above 0");
    if (h->slow_hosts < 0 || h->slow_hosts > h->workers)
        return cc_usage(e, "--slow-hosts %d: there are %d workers", h->slow_hosts, h->workers);
    if (h->slow_hosts == h->workers)
        return cc_usage(e, "--slow-hosts %d: all workers; --compute says how long they all take",
                        h->slow_hosts);
    if (h->slow_hosts > 0 && !(h->slow_factor >= 1 && h->slow_factor <= 1e6))
        return cc_usage(e, "--slow-hosts: %g times as long as the others take; 1 to 1000000",
                        h->slow_factor);
    if (h->topology == CC_TOPOLOGY_TORUS && (h->slow_links > 0 || h->slow_hosts > 0))
        return cc_usage(e,
                        "%s: the hosts of a torus are all alike, and so are its links; take "
                        "--topology switch",
                        h->slow_links > 0 ? "--slow-links" : "--slow-hosts");
    return CC_OK;
}

static int check_fat_tree(const struct cc_platform_config *h, struct cc_error *e)
{
    if (h->rack < 1)
        return cc_usage(e, "--rack %d: a rack has at least one host", h->rack);
    if (!(h->oversubscription >= 1 && isfinite(h->oversubscription)))
        return cc_usage(e, "--oversubscription %g: at least 1, which is none", h->oversubscription);
    if (h->workers + h->servers <= h->rack)
        return cc_usage(e,
                        "--topology fat-tree: one rack of %d holds all %d hosts, and nothing goes "
                        "over its link upwards: give a smaller --rack",
                        h->rack, h->workers + h->servers);
    return CC_OK;
}

static int check_sites(const struct cc_platform_config *h, struct cc_error *e)
{
    if (h->sites == 1)
        return cc_usage(e,
                        "--sites 1: nothing goes over a WAN: take --topology switch, or 2 sites");
    if (h->sites < 1 || h->sites > CC_SITES_MAX)
        return cc_usage(e, "--sites %d: 2 to %d", h->sites, CC_SITES_MAX);
    if (h->sites > h->workers)
        return cc_usage(e, "--sites %d: each needs a worker, and there are %d", h->sites,
                        h->workers);
    if (!(h->wan_bps > 0 && isfinite(h->wan_bps)))
        return cc_usage(e, "--wan-bw: the links between sites need a rate above 0");
    if (!(h->wan_latency_s >= 0 && isfinite(h->wan_latency_s)))
        return cc_usage(e, "--wan-latency %g: seconds, at least 0", h->wan_latency_s);
    return CC_OK;
}

static int check_torus(const struct cc_platform_config *h, struct cc_error *e)
{
    const int *d = h->torus;
    if (d[0] == 0 && d[1] == 0 && d[2] == 0)
        return CC_OK;
    if (d[0] < 1 || d[1] < 1 || d[2] < 0)
        return cc_usage(e, "--torus %dx%dx%d: two or three dimensions of at least one host each",
                        d[0], d[1], d[2]);
    const double room = (double)d[0] * d[1] * (d[2] == 0 ? 1 : d[2]);
    char name[48], need[CC_NEED_CAP];
    cc_torus_name(d, name);
    cc_platform_need_text(h->workers, h->servers, need);
    if (room < h->workers + h->servers)
        return cc_usage(e, "--torus %s has room for %.0f hosts, and %s", name, room, need);
    if (room > CC_PLATFORM_HOSTS)
        return cc_usage(e, "--torus %s: at most %d hosts", name, CC_PLATFORM_HOSTS);
    return CC_OK;
}

int cc_platform_check(const struct cc_platform_config *h, struct cc_error *e)
{
    if (h->workers < 1 || h->servers < 0 || h->workers > CC_PLATFORM_HOSTS ||
        h->servers > CC_PLATFORM_HOSTS - h->workers)
        return cc_usage(e, "a platform for %d workers and %d servers: at least one, at most %d",
                        h->workers, h->servers, CC_PLATFORM_HOSTS);
    if (!(h->bw_bps > 0 && isfinite(h->bw_bps)))
        return cc_usage(e, "--bw: a link needs a rate above 0");
    if (!(h->latency_s >= 0 && isfinite(h->latency_s)))
        return cc_usage(e, "--latency %g: seconds, at least 0", h->latency_s);
    int status = check_slow(h, e);
    if (status == CC_OK && h->topology == CC_TOPOLOGY_FAT_TREE)
        status = check_fat_tree(h, e);
    if (status == CC_OK && h->topology == CC_TOPOLOGY_TORUS)
        status = check_torus(h, e);
    if (status == CC_OK && h->topology == CC_TOPOLOGY_SITES)
        status = check_sites(h, e);
    return status;
}

/* --- where the ranks are --- */

/* As near to a cube as fits `hosts`: the longest side first. */
static void cube(int hosts, int d[3])
{
    d[0] = (int)ceil(cbrt(hosts) - 1e-9);
    d[1] = (int)ceil(sqrt((double)hosts / d[0]) - 1e-9);
    d[2] = (hosts + d[0] * d[1] - 1) / (d[0] * d[1]);
}

/* The hosts in a row, `spots` of them: the servers lie spread evenly, the first one at its
 * beginning, and the workers fill the rest in turn. What is over has the numbers after the ranks'.
 */
static void spread(const struct cc_platform_config *h, int spots, int *rank)
{
    const int used = h->workers + h->servers;
    int worker = 0, server = 0;
    for (int i = 0; i < used; i++) {
        const bool here = server < h->servers && i == (int)((long long)server * used / h->servers);
        rank[i] = here ? h->workers + server++ : worker++;
    }
    for (int i = used; i < spots; i++)
        rank[i] = i;
}

/* Site by site: an equal share of the workers, and of the servers. first[i] is where site i begins
 * in rank[]. */
static void settle(const struct cc_platform_config *h, int *rank, int *first)
{
    int worker = 0, server = 0, at = 0;
    for (int site = 0; site < h->sites; site++) {
        first[site] = at;
        while (worker < h->workers && (long long)worker * h->sites / h->workers == site)
            rank[at++] = worker++;
        while (server < h->servers && (long long)server * h->sites / h->servers == site)
            rank[at++] = h->workers + server++;
    }
    first[h->sites] = at;
}

static int place(const struct cc_platform_config *h, struct cc_rank_map *p, struct cc_error *e)
{
    const int used = h->workers + h->servers;
    p->spots = used;
    if (h->topology == CC_TOPOLOGY_TORUS) {
        if (h->torus[0] == 0)
            cube(used, p->torus);
        else
            memcpy(p->torus, h->torus, sizeof p->torus);
        p->spots = p->torus[0] * p->torus[1] * (p->torus[2] == 0 ? 1 : p->torus[2]);
    }
    const bool sites = h->topology == CC_TOPOLOGY_SITES;
    const bool racks = h->topology == CC_TOPOLOGY_FAT_TREE;
    p->groups = sites ? h->sites : racks ? (used + h->rack - 1) / h->rack : 1;
    p->rank = cc_alloc((size_t)p->spots * sizeof *p->rank, e);
    p->first = cc_alloc(((size_t)p->groups + 1) * sizeof *p->first, e);
    if (p->rank == NULL || p->first == NULL)
        return CC_FAIL;
    if (sites) {
        settle(h, p->rank, p->first);
        return CC_OK;
    }
    spread(h, p->spots, p->rank);
    for (int i = 0; i <= p->groups; i++)
        p->first[i] = !racks ? i * p->spots : i < p->groups ? i * h->rack : used;
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
    struct cc_rank_map at = {0};
    int status = cc_platform_check(config, e);
    if (status == CC_OK)
        status = place(config, &at, e);
    if (status == CC_OK)
        status = cc_platform_text(config, &at, &made.xml, e);
    if (status == CC_OK)
        status = name_hosts((size_t)(config->workers + config->servers), &made, e);
    free(at.rank);
    free(at.first);
    made.uneven = at.groups > 1 || config->topology == CC_TOPOLOGY_TORUS;
    if (status == CC_OK)
        *out = made;
    else
        cc_platform_free(&made);
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
