/* The tables that list all topologies and their options. */
#include "netsim/platform/topology.h"

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
