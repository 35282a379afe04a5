#include "netsim/platform/topology.h"

#include <stdio.h>

#define NAME(id, symbol, word, help) word,
const char *const cc_topology_names[] = {CC_TOPOLOGIES(NAME) NULL};

#define INFO(id, symbol, name, help) &cc_topology_##symbol,
static const struct cc_topology_info *const infos[] = {CC_TOPOLOGIES(INFO)};

#define OPTION(id, kind, field, name, value, default_, help)                                       \
    {CC_TOPOLOGY_##id,                                                                             \
     CC_TOPOLOGY_KIND_##kind,                                                                      \
     offsetof(struct cc_platform_config, field),                                                   \
     #field,                                                                                       \
     name,                                                                                         \
     default_},
const struct cc_topology_option cc_topology_options[] = {CC_TOPOLOGY_OPTIONS(OPTION){.name = NULL}};

const struct cc_topology_info *cc_topology_info(enum cc_topology topology)
{
    return infos[topology];
}

void cc_sides_print(const int sides[3], char out[CC_SIDES_CAP])
{
    const int n = snprintf(out, CC_SIDES_CAP, "%dx%d", sides[0], sides[1]);
    if (sides[2] > 0)
        (void)snprintf(out + n, CC_SIDES_CAP - (size_t)n, "x%d", sides[2]);
}

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
