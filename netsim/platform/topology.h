/* Topologies of simulated clusters, and the configuration of a platform. This is the one table of
 * them, which platform.c, platform_xml.c and the command line read. docs/platform.md describes each
 * one's shape; so does the head of its file, where B is --bw, L is --latency and n the number of
 * bits of a message.
 *
 * A new topology is one line in CC_TOPOLOGIES, and one file: topology_NAME.c, which defines its
 * descriptor `cc_topology_NAME`. If it has options of its own, each is a line in
 * CC_TOPOLOGY_OPTIONS, which makes it a field of struct cc_platform_config, an option of `sim` and
 * `validate`, and a property of the platform's XML. */
#ifndef CC_NETSIM_PLATFORM_TOPOLOGY_H
#define CC_NETSIM_PLATFORM_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"

/* X(ID, symbol, name, help)
 *
 * ID and symbol: CC_TOPOLOGY_ID is the constant, cc_topology_symbol the descriptor.
 * name: as in --topology, in columns and in XML.
 * help: a few words for --help.
 * The order is that of help texts. */
/* clang-format off */
#define CC_TOPOLOGIES(X)                                                                           \
    X(SWITCH, switch, "switch", "a single one without a bandwidth limit")                                            \
    X(FAT_TREE, fat_tree, "fat-tree", "racks and a switch above them")                             \
    X(TORUS, torus, "torus", "a link to each neighbour in two or three dimensions")                \
    X(SITES, sites, "sites", "switches joined by a WAN")

/* X(ID, KIND, field, name, value, default, help)
 *
 * ID: the topology it belongs to; with any other one, the option is refused.
 * KIND: CC_TOPOLOGY_KIND_... below; it sets the field's type.
 * field: in struct cc_platform_config; also the name of the XML's property.
 * name: of the option, without "--".
 * value: stands for the option's value in --help.
 * default: as the user would write it; that of SIDES only explains what the topology chooses. */
#define CC_TOPOLOGY_OPTIONS(X)                                                                     \
    X(FAT_TREE, COUNT, rack, "rack", "N", "16", "fat-tree: hosts in each rack")                    \
    X(FAT_TREE, RATIO, oversubscription, "oversubscription", "X", "1",                             \
      "fat-tree: bandwidth of a rack's hosts together / that of its link upwards")                 \
    X(TORUS, SIDES, torus, "torus", "XxY[xZ]", "as near to a cube as fits",                        \
      "torus: hosts in each dimension")
/* clang-format on */

#define CC_TOPOLOGY_ID(id, symbol, name, help) CC_TOPOLOGY_##id,
enum cc_topology { CC_TOPOLOGIES(CC_TOPOLOGY_ID) CC_TOPOLOGY_COUNT };
#undef CC_TOPOLOGY_ID

extern const char *const cc_topology_names[]; /* by id; ends with NULL */

/* "switch (a single one without a bandwidth limit), fat-tree (...), ... ": a string literal for an
 * option's help. */
#define CC_TOPOLOGY_HELP_WORD(id, symbol, name, help) name " (" help "), "
#define CC_TOPOLOGY_HELP                              CC_TOPOLOGIES(CC_TOPOLOGY_HELP_WORD)

/* Kinds of options. A torus has sides. */
enum cc_topology_kind {
    CC_TOPOLOGY_KIND_COUNT, /* a whole number, at least 1: int */
    CC_TOPOLOGY_KIND_RATIO, /* a number: double */
    CC_TOPOLOGY_KIND_RATE,  /* bits/s, with a unit: double */
    CC_TOPOLOGY_KIND_TIME,  /* seconds, with a unit: double */
    CC_TOPOLOGY_KIND_SIDES  /* "4x4x2", "4x4": int[3]; all 0 by default; last 0: two dimensions */
};
#define CC_TOPOLOGY_FIELD_COUNT(field) int field;
#define CC_TOPOLOGY_FIELD_RATIO(field) double field;
#define CC_TOPOLOGY_FIELD_RATE(field)  double field;
#define CC_TOPOLOGY_FIELD_TIME(field)  double field;
#define CC_TOPOLOGY_FIELD_SIDES(field) int field[3];
#define CC_TOPOLOGY_FIELD(id, kind, field, name, value, default_, help)                            \
    CC_TOPOLOGY_FIELD_##kind(field)

/* Each host has a link of bw_bps in each direction; a message between two hosts of one switch takes
 * latency_s. */
struct cc_platform_config {
    enum cc_topology topology;
    int workers, servers;
    double bw_bps, latency_s;
    double down_bps; /* at which a host receives, if not at bw_bps; or 0 */
    /* Workers of a host, which share its link; 0: 1. Between two of them a message takes
     * intra_latency_s, on links of intra_bps that they do not share. */
    int per_host;
    int nics; /* interfaces of such a host, with a link each, which its workers use in turn; 0: 1 */
    double intra_bps, intra_latency_s;
    /* The last ones among the workers may be slow. */
    int slow_links; /* number with a link of slow_bps */
    double slow_bps;
    int slow_hosts; /* number that compute slow_factor times as long */
    double slow_factor;
    /* CC_TOPOLOGY_SITES: their number, and the link between any two of them, each way, whose
     * latency comes on top of latency_s. */
    int sites;
    double wan_bps, wan_latency_s;
    CC_TOPOLOGY_OPTIONS(CC_TOPOLOGY_FIELD) /* those of other topologies are ignored */
};

struct cc_topology_option {
    enum cc_topology topology;
    enum cc_topology_kind kind;
    size_t offset;            /* where its field lies in struct cc_platform_config */
    const char *property;     /* its name in the XML */
    const char *name;         /* without "--" */
    const char *default_text; /* as in CC_TOPOLOGY_OPTIONS */
};
extern const struct cc_topology_option cc_topology_options[]; /* ends with a NULL name */

struct cc_rank_map;
struct cc_platform_xml;

struct cc_topology_info {
    /* How it differs from hosts on one switch, as the formulas assume them; ends a note: "racks
     * share their uplinks". NULL: it does not differ, and the formulas hold. */
    const char *difference;
    bool uneven_routes; /* routes differ in latency: see struct cc_platform */
    bool equal_hosts;   /* all hosts and links are alike, none of them slow */

    /* Checks its own options; the usage error names the option. NULL: nothing to check. The numbers
     * of workers and servers have been checked. */
    int (*check)(const struct cc_platform_config *config, struct cc_error *e);
    /* Sets what the user has left to the topology, after the check. NULL: nothing. */
    void (*choose)(struct cc_platform_config *config);
    /* Assigns ranks to hosts; most call cc_rank_map_row. NULL: a row in one group. *out is zeroed
     * before, and is freed by the caller, also after an error. */
    int (*map)(const struct cc_platform_config *config, struct cc_rank_map *out,
               struct cc_error *e);

    const char *routing; /* SimGrid's routing in the zone "network" */
    /* Writes the contents of that zone, after its properties: hosts, links, routes. */
    void (*write)(const struct cc_platform_xml *x);
};

extern const struct cc_topology_info *const cc_topology_infos[]; /* by id */

/* The descriptors, each defined in its topology's file. */
#define CC_TOPOLOGY_DECLARE(id, symbol, name, help)                                                \
    extern const struct cc_topology_info cc_topology_##symbol;
CC_TOPOLOGIES(CC_TOPOLOGY_DECLARE)
#undef CC_TOPOLOGY_DECLARE

/* Writes a link for each two sites, and the routes over these between their zones, "ZONE-0" and so
 * on. */
void cc_topology_sites_links(const struct cc_platform_xml *x);
void cc_topology_sites_join(const struct cc_platform_xml *x, const char *zone);

/* In the place of a switch, or of sites, where hosts have several workers. */
extern const struct cc_topology_info cc_topology_hosts;
/* The descriptor of a configuration. */
const struct cc_topology_info *cc_topology_of(const struct cc_platform_config *config);

/* Writes the sides of a torus as "4x4x2" or "4x4". */
#define CC_SIDES_CAP 48
void cc_sides_print(const int sides[3], char out[CC_SIDES_CAP]);

#define CC_PLATFORM_HOSTS (1 << 16) /* limit of hosts in a platform */

#endif
