/* A platform is made in three steps: its configuration is checked, ranks are assigned to hosts, and
 * the hosts with their links are written as XML, whose elements platform_xml.c has. In each step
 * the topology adds its part (topology.h). */
#include "netsim/platform/platform.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/format/json.h"
#include "core/memory.h"
#include "core/memory_text.h"
#include "netsim/platform/platform_xml.h"

#define SCHEMA "commcomp-platform/1"

/* --- the tables that list all topologies and their options --- */

#define NAME(id, symbol, word, help) word,
const char *const cc_topology_names[] = {CC_TOPOLOGIES(NAME) NULL};

#define INFO(id, symbol, name, help) &cc_topology_##symbol,
const struct cc_topology_info *const cc_topology_infos[] = {CC_TOPOLOGIES(INFO)};

#define OPTION(id, kind, field, name, value, default_, help)                                       \
    {CC_TOPOLOGY_##id,                                                                             \
     CC_TOPOLOGY_KIND_##kind,                                                                      \
     offsetof(struct cc_platform_config, field),                                                   \
     #field,                                                                                       \
     name,                                                                                         \
     default_},
const struct cc_topology_option cc_topology_options[] = {CC_TOPOLOGY_OPTIONS(OPTION){.name = NULL}};

const struct cc_topology_info *cc_topology_of(const struct cc_platform_config *config)
{
    return config->per_host > 1 ? &cc_topology_hosts : cc_topology_infos[config->topology];
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
    if (cc_topology_of(c)->equal_hosts && (c->slow_links > 0 || c->slow_hosts > 0))
        return cc_usage(e,
                        "%s: the hosts of a %s are all alike, and so are its links; take "
                        "--topology switch",
                        c->slow_links > 0 ? "--slow-links" : "--slow-hosts",
                        cc_topology_names[c->topology]);
    return CC_OK;
}

int cc_platform_check(const struct cc_platform_config *c, struct cc_error *e)
{
    const struct cc_topology_info *topology = cc_topology_of(c);
    if (c->per_host > 1 && c->topology != CC_TOPOLOGY_SWITCH && c->topology != CC_TOPOLOGY_SITES)
        return cc_usage(e,
                        "--per-host %d: such hosts are on one switch or on those of sites, not on "
                        "a %s",
                        c->per_host, cc_topology_names[c->topology]);
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

/* --- the file --- */

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
    if (o->kind == CC_TOPOLOGY_KIND_SIDES) {
        cc_sides_print(field, sides);
        write_text_property(x, o->property, sides);
    } else {
        write_number_property(x, o->property,
                              o->kind == CC_TOPOLOGY_KIND_COUNT ? *(const int *)field
                                                                : *(const double *)field);
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
    if (c->down_bps > 0)
        write_number_property(x, "down_bps", c->down_bps);
    if (c->per_host > 1) {
        write_number_property(x, "per_host", c->per_host);
        if (c->nics > 1)
            write_number_property(x, "nics", c->nics);
        write_number_property(x, "intra_bw_bps", c->intra_bps);
        write_number_property(x, "intra_latency_s", c->intra_latency_s);
    }
    if (c->topology == CC_TOPOLOGY_SITES) {
        write_number_property(x, "sites", c->sites);
        write_number_property(x, "wan_bps", c->wan_bps);
        write_number_property(x, "wan_latency_s", c->wan_latency_s);
    }
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

static int make_xml(const struct cc_platform_config *config, const struct cc_rank_map *map,
                    char **out, struct cc_error *e)
{
    const struct cc_topology_info *topology = cc_topology_of(config);
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
    CC_TRY(cc_memory_text_end(&t, CC_OK, e));
    *out = t.text;
    return CC_OK;
}

/* --- all of it --- */

static int name_hosts(size_t hosts, struct cc_platform *out, struct cc_error *e)
{
    CC_TRY(CC_NEW(out->host, hosts, e));
    for (; out->hosts < hosts; out->hosts++)
        CC_TRY(cc_text(&out->host[out->hosts], e, CC_HOST_FORMAT, (int)out->hosts));
    return CC_OK;
}

int cc_platform_make(const struct cc_platform_config *config, struct cc_platform *out,
                     struct cc_error *e)
{
    struct cc_platform_config complete = *config;
    struct cc_platform made = {0};
    struct cc_rank_map map = {0};
    const int ranks = config->workers + config->servers;
    int status = CC_OK;
    CC_TRY(cc_platform_check(config, e));
    const struct cc_topology_info *topology = cc_topology_of(config);
    if (topology->choose != NULL)
        topology->choose(&complete);
    CC_TRY_OUT(topology->map != NULL ? topology->map(&complete, &map, e)
                                     : cc_rank_map_row(&complete, ranks, ranks, &map, e));
    CC_TRY_OUT(make_xml(&complete, &map, &made.xml, e));
    CC_TRY_OUT(name_hosts((size_t)ranks, &made, e));
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
