/* commcomp sim: what its files share. */
#ifndef CC_CMD_SIM_H
#define CC_CMD_SIM_H

#include "cmd/plan.h"
#include "netsim/platform.h"
#include "netsim/smpirun.h"

/* clang-format off */
/* What the simulation is of, beside CC_CLUSTER_OPTIONS and CC_PLAN_OPTIONS. */
#define CC_SIM_OPTIONS                                                                             \
    {.name = "fidelity", .value = "HOW", .def = "alpha-beta", .choices = cc_fidelity_names,        \
     .help = "of the network: alpha-beta (latency and bytes / bandwidth, as the formulas assume), "\
             "tc (as in the lab of `commcomp run`), tcp (SMPI's corrections for TCP)"},            \
    {.name = "topology", .value = "SHAPE", .def = "switch", .choices = cc_topology_names,          \
     .help = "switch (one, never the limit), fat-tree (racks and a switch above them), torus, or " \
             "sites (switches joined by a WAN)"},                                                  \
    {.name = "rack", .value = "N", .def = "16", .help = "fat-tree: hosts in each"},                \
    {.name = "oversubscription", .value = "X", .def = "1",                                         \
     .help = "fat-tree: bandwidth of a rack's hosts together / that of its link upwards"},         \
    {.name = "torus", .value = "XxY[xZ]", .def = "as near to a cube as fits",                      \
     .help = "torus: hosts in each dimension"},                                                    \
    {.name = "sites", .value = "N", .def = "2", .help = "sites: how many"},                        \
    {.name = "wan-bw", .value = "RATE", .def = "100mbps",                                          \
     .help = "sites: between any two of them, each way"},                                          \
    {.name = "wan-latency", .value = "TIME", .def = "40ms",                                        \
     .help = "sites: of a message between any two of them, in the place of --latency"},            \
    {.name = "slow-links", .value = "N:RATE",                                                      \
     .help = "the last N workers have links of this bandwidth"},                                   \
    {.name = "slow-hosts", .value = "N:FACTOR",                                                    \
     .help = "the last N workers compute and code FACTOR times as long"},                          \
    {.name = "platform", .value = "FILE.xml",                                                      \
     .help = "a platform of SimGrid's own instead; --bw and --latency then say what the formulas " \
             "take its links for (without --bw they have no answer)"},                             \
    {.name = "data", .value = "HOW", .def = "auto", .choices = cc_sim_data_names,                  \
     .help = "on: every worker's gradients are made, encoded and decoded; off: only sizes move, "  \
             "of payloads that a few workers encode beforehand; auto: on up to 16 workers, if "    \
             "there is memory"},                                                                   \
    {.name = "codec-time", .value = "HOW", .def = "profile", .choices = cc_codec_time_names,       \
     .help = "of each codec call: from the profile, the same in every simulation; or as measured " \
             "while it runs"},                                                                     \
    {.name = "smpirun", .value = "PROGRAM", .def = "smpirun", .help = "of SimGrid"}
/* clang-format on */

enum cc_sim_data { CC_DATA_AUTO, CC_DATA_ON, CC_DATA_OFF };
enum cc_codec_time { CC_CODEC_PROFILE, CC_CODEC_MEASURED };
extern const char *const cc_sim_data_names[], *const cc_codec_time_names[]; /* end with NULL */

struct sim_options {
    enum cc_fidelity fidelity;
    struct cc_platform_how how; /* workers, servers, bw_bps and latency_s are the setting's */
    const char *platform;       /* a file in its place; or NULL */
    const char *write_platform, *paje, *smpirun;
    enum cc_sim_data data;
    enum cc_codec_time codec_time;
    bool linked; /* --bw or --calibration was given */
};

struct sim {
    struct cc_plan plan;
    struct sim_options options;
    char *program; /* commcomp-rank-sim */
};

/* Simulates what the options say, and adds a row for each scheme of each setting, in the plan's
 * order (that of cc_run_measure), to the record, which has (at least) sim's columns; also those
 * until an interrupt or an error. The command of `args` has CC_CLUSTER_OPTIONS, CC_PLAN_OPTIONS,
 * CC_SIM_OPTIONS, --steps and --warmup, and may have sim's other options. */
int cc_sim_measure(struct cc_args *args, struct cc_record *record, struct cc_error *e);

#endif
