/* commcomp sim: what its files share. */
#ifndef CC_CMD_SIM_SIM_H
#define CC_CMD_SIM_SIM_H

#include "cmd/measure/experiment.h"
#include "netsim/platform/platform.h"
#include "netsim/launch/smpirun.h"

/* clang-format off */
/* What the simulation is of, beside CC_CLUSTER_OPTIONS and CC_EXPERIMENT_OPTIONS: the network's model, */
#define CC_FIDELITY_OPTION(preset)                                                                 \
    {.name = "fidelity", .value = "HOW", .def = preset, .choices = cc_fidelity_names,              \
     .help = "of the simulated network: alpha-beta (latency and bytes / bandwidth, as the "        \
             "formulas assume), tc (as in the lab of `commcomp run`), tcp (SMPI's corrections for "\
             "TCP)"}

/* and the cluster. */
#define CC_PLATFORM_OPTIONS                                                                        \
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
     .help = "sites: from any one to another, beside --latency"},                                  \
    {.name = "slow-links", .value = "N:RATE",                                                      \
     .help = "the last N workers have links of this bandwidth"},                                   \
    {.name = "slow-hosts", .value = "N:FACTOR",                                                    \
     .help = "the last N workers compute and code FACTOR times as long"},                          \
    {.name = "platform", .value = "FILE.xml", .file = CC_READS_FILE,                                                      \
     .help = "a platform of SimGrid's own instead; --bw and --latency then say what the formulas " \
             "take its links for (without --bw they have no answer)"},                             \
    {.name = "smpirun", .value = "PROGRAM", .def = "smpirun", .help = "of SimGrid"}
/* clang-format on */

enum cc_sim_data { CC_DATA_AUTO, CC_DATA_ON, CC_DATA_OFF };
enum cc_codec_time { CC_CODEC_PROFILE, CC_CODEC_MEASURED };
extern const char *const cc_sim_data_names[], *const cc_codec_time_names[]; /* end with NULL */

struct sim_options {
    enum cc_fidelity fidelity;
    struct cc_platform_config config; /* workers, servers, bw_bps and latency_s are the setting's */
    const char *platform;             /* a file in its place; or NULL */
    const char *write_platform, *paje, *smpirun;
    enum cc_sim_data data;
    enum cc_codec_time codec_time;
    bool linked; /* --bw or --calibration was given */
};

struct sim {
    struct cc_experiment plan;
    struct sim_options options;
    char *program; /* commcomp-rank-sim */
};

/* Plans what the options say; rows go to *record, which has (at least) sim's columns. The command
 * of `args` has CC_CLUSTER_OPTIONS, CC_EXPERIMENT_OPTIONS, CC_FIDELITY_OPTION, CC_PLATFORM_OPTIONS,
 * --steps and --warmup, and may have sim's other options. Close it also after an error; *s must
 * stay where it is until then. */
int cc_sim_open(struct sim *s, struct cc_args *args, struct cc_record *record, struct cc_error *e);
void cc_sim_close(struct sim *s);

/* --- options --- */

int cc_sim_options_parse(const struct cc_args *args, struct sim_options *out, struct cc_error *e);

/* --- the plan: cc_experiment_ops --- */

/* The generated platform of a setting. */
struct cc_platform_config cc_sim_shape(const struct sim *s, const struct cc_setting *setting);
int cc_sim_refuse(void *arg, const struct cc_cluster_args *c, struct cc_error *e);
void cc_sim_complete(void *arg, struct cc_experiment_setting *s);
int cc_sim_choose(void *arg, const struct cc_experiment_setting *s, struct cc_experiment_row *row,
                  struct cc_error *e);

/* The simulated cluster of a setting; free it with cc_platform_free. */
int cc_sim_platform(const struct sim *s, const struct cc_experiment_setting *planned,
                    struct cc_platform *out, struct cc_error *e);
/* All settings have one; --write-platform. */
int cc_sim_platforms(const struct sim *s, struct cc_error *e);
/* About how many seconds a row's simulation takes; and how many before it, for the sizes of its
 * payloads, where there is no data. */
double cc_sim_row_s(const struct cc_experiment_setting *s, const struct cc_experiment_row *row);
double cc_sim_sizes_s(const struct cc_experiment_setting *s, const struct cc_experiment_row *row);
/* --dry-run: a row for each row of the plan. */
int cc_sim_dry(struct sim *s, struct cc_error *e);

/* --- simulating --- */

/* Everything that the ranks need to know. Payloads' sizes may take a while: `tick` is told how far
 * they are, of which row, and stops them (an error) by saying true. Free with cc_job_free, also
 * after an error if *out was zeroed before. */
int cc_sim_job(struct sim *s, const struct cc_experiment_setting *planned,
               bool (*on_tick)(void *arg, size_t row, double done), void *arg, struct cc_job *out,
               struct cc_error *e);
/* Simulates all settings, one after the other, and adds a row for each scheme, in the plan's order;
 * also those until an interrupt or an error. */
int cc_sim_all(struct sim *s, struct cc_error *e);

/* --- rows --- */

/* What a row of a setting is of, beside the cluster. */
int cc_sim_place_columns(struct sim *s, size_t at, const struct cc_experiment_setting *planned,
                         struct cc_error *e);
/* What was simulated in wall_s seconds, beside the model's answer. */
int cc_sim_add_row(struct sim *s, const struct cc_experiment_setting *planned, size_t row,
                   const struct cc_report_row *got, double wall_s, struct cc_error *e);
/* Under the rows of a setting, which begin at `first`; and under all of them. */
int cc_sim_setting_notes(struct sim *s, const struct cc_experiment_setting *planned, size_t first,
                         struct cc_error *e);
int cc_sim_notes(struct sim *s, struct cc_error *e);

#endif
