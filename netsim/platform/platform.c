/* A platform is made in three steps: its configuration is checked, ranks are assigned to hosts, and
 * the hosts with their links are written as XML (platform_xml.c). In each step the topology adds
 * its part (topology.h). */
#include "netsim/platform/platform.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/memory.h"
#include "netsim/platform/platform_xml.h"

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
    if (cc_topology_info(c->topology)->equal_hosts && (c->slow_links > 0 || c->slow_hosts > 0))
        return cc_usage(e,
                        "%s: the hosts of a %s are all alike, and so are its links; take "
                        "--topology switch",
                        c->slow_links > 0 ? "--slow-links" : "--slow-hosts",
                        cc_topology_names[c->topology]);
    return CC_OK;
}

int cc_platform_check(const struct cc_platform_config *c, struct cc_error *e)
{
    const struct cc_topology_info *topology = cc_topology_info(c->topology);
    if (c->workers < 1 || c->servers < 0 || c->workers > CC_PLATFORM_HOSTS ||
        c->servers > CC_PLATFORM_HOSTS - c->workers)
        return cc_usage(e, "a platform for %d workers and %d servers: at least one, at most %d",
                        c->workers, c->servers, CC_PLATFORM_HOSTS);
    if (!(c->bw_bps > 0 && isfinite(c->bw_bps)))
        return cc_usage(e, "--bw: a link needs a rate above 0");
    if (!(c->latency_s >= 0 && isfinite(c->latency_s)))
        return cc_usage(e, "--latency %g: seconds, at least 0", c->latency_s);
    CC_TRY(check_slow(c, e));
    return topology->check != NULL ? topology->check(c, e) : CC_OK;
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
    struct cc_platform_config complete = *config;
    struct cc_platform made = {0};
    struct cc_rank_map map = {0};
    int status = CC_OK;
    CC_TRY(cc_platform_check(config, e));
    const struct cc_topology_info *topology = cc_topology_info(config->topology);
    if (topology->choose != NULL)
        topology->choose(&complete);
    CC_TRY_OUT(topology->map(&complete, &map, e));
    CC_TRY_OUT(cc_platform_xml_make(&complete, &map, &made.xml, e));
    CC_TRY_OUT(name_hosts((size_t)(config->workers + config->servers), &made, e));
    made.uneven_routes = topology->uneven_routes;
    *out = made;
    made = (struct cc_platform){0};
out:
    cc_platform_free(&made);
    cc_rank_map_free(&map);
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
