/* commcomp sim: what its files share. sim_options.c parses the options, sim_setting.c decides about
 * platforms and steps, sim_job.c makes the jobs, sim_launch.c simulates the settings one after the
 * other, sim_rows.c tells what was simulated. validate uses it, too. */
#ifndef CC_CMD_SIM_SIM_H
#define CC_CMD_SIM_SIM_H

#include "cmd/measure/experiment.h"
#include "netsim/launch/smpirun.h"
#include "netsim/platform/platform.h"

/* How the network is simulated, and the shape of the cluster; each topology adds its own options
 * (topology.h). Defaults are those of `sim`. */
/* clang-format off */
#define CC_TOPOLOGY_OPTION_NAME(id, kind, field, name, value, default_, help) name " "
#define CC_PLATFORM_OPTION_NAMES                                                                   \
    "topology " CC_TOPOLOGY_OPTIONS(CC_TOPOLOGY_OPTION_NAME) "slow-links slow-hosts platform smpirun"
/* clang-format on */

enum cc_sim_data { CC_DATA_AUTO, CC_DATA_ON, CC_DATA_OFF };
enum cc_codec_time { CC_CODEC_PROFILE, CC_CODEC_MEASURED, CC_CODEC_NONE };
extern const char *const cc_codec_time_names[]; /* ends with NULL */

/* "3:10mbps": a number of workers, and what is different about them. */
struct sim_slow {
    int workers;
    double by;
};

/* The options that only sim has. */
struct sim_options {
    struct cc_given given;
    enum cc_fidelity fidelity;
    struct sim_slow slow_links, slow_hosts; /* by: bits per second; factor on the time */
    struct cc_platform_config config; /* workers, servers, bw_bps and latency_s are the setting's */
    const char *platform;             /* --platform: a file in its place; or NULL */
    const char *write_platform, *paje, *smpirun;
    enum cc_sim_data data;
    enum cc_codec_time codec_time;
    int full;          /* rings of more workers are extrapolated; 0: none are */
    const char *paper; /* or NULL */
};
extern const struct cc_option cc_sim_options[];

struct sim {
    struct cc_experiment experiment;
    struct sim_options options;
    char *program;            /* commcomp-rank-sim */
    double all_s, done_s;     /* expected seconds of the whole experiment, and of what is done */
    const struct cc_job *job; /* the setting under way */
    bool extrapolated;        /* a setting was */
    double *encode_s; /* a recipe's steps are calls of the exchange: a scheme's time to encode
                         before one, by the profile; otherwise NULL */
};

/* --- parsing and preparing --- */

/* Reads sim's own options, of which a command may lack some. Free *out with cc_sim_free, also after
 * an error. */
int cc_sim_parse(const struct cc_args *args, struct sim *out, struct cc_error *e);
/* Refuses what a platform file fixes among the options, --bw and --latency included. */
int cc_sim_check_platform(const struct sim_options *o, const struct cc_link_options *links,
                          struct cc_error *e);
/* Refuses what cannot be simulated. */
int cc_sim_check(struct sim *s, const struct cc_experiment_input *input, struct cc_error *e);
/* Makes the settings and rows of the input, whose forecast is loaded; checks that every setting has
 * a platform, and writes that of --write-platform. Rows and notes will go to `record`, which has
 * sim's columns, or nowhere if it is NULL. *s must stay where it is. */
int cc_sim_prepare(struct sim *s, struct cc_experiment_input *input, struct cc_record *record,
                   struct cc_error *e);
void cc_sim_free(struct sim *s);

/* Few workers: with these, payloads are made by default; without data, the payloads of these stand
 * for all. */
enum { CC_SIM_FEW_WORKERS = 16 };

/* Completes a setting, and chooses the steps of a row: struct cc_experiment_ops, as cc_sim_cause.
 */
void cc_sim_complete(void *arg, struct cc_experiment_setting *s);
int cc_sim_choose(void *arg, const struct cc_experiment_setting *s, struct cc_experiment_row *row,
                  struct cc_error *e);

/* Warm-up steps that the ranks go through. */
size_t cc_sim_warmup(const struct cc_experiment_setting *s, const struct cc_experiment_row *row);
/* Expected real seconds of a row's simulation; of finding out the sizes of its payloads before it,
 * without data; and of both together, of all rows. */
double cc_sim_row_s(const struct cc_experiment_setting *s, const struct cc_experiment_row *row);
double cc_sim_sizes_s(const struct cc_experiment_setting *s, const struct cc_experiment_row *row);
double cc_sim_all_s(const struct sim *s);

/* The configuration of a setting's platform. */
struct cc_platform_config cc_sim_platform_config(const struct sim *s,
                                                 const struct cc_setting *setting);
/* Makes or reads the platform of a setting; free it with cc_platform_free. */
int cc_sim_platform(const struct sim *s, const struct cc_experiment_setting *setting,
                    struct cc_platform *out, struct cc_error *e);

/* --- simulating --- */

/* Makes the job of a setting. Without data, finds out the payloads' sizes, which may take a while:
 * on_tick is told which row's share is done, and stops it (an error) by returning true. Free with
 * cc_job_free, also after an error if *out was zeroed before. */
int cc_sim_job(const struct sim *s, const struct cc_experiment_setting *setting,
               bool (*on_tick)(void *arg, size_t row, double done), void *arg, struct cc_job *out,
               struct cc_error *e);
/* Whether the setting is a ring of more workers than are simulated whole, whose ranks all do the
 * same: then simulates it with few workers, whose chunks are as large, and extrapolates. `run`
 * simulates a job on the platform of so many workers and passes each row's result to on_row. */
bool cc_sim_extrapolates(const struct sim *s, const struct cc_experiment_setting *setting);
/* The time of a setting's simulation by that of a whole one. */
double cc_sim_share(const struct sim *s, const struct cc_experiment_setting *setting);
typedef int cc_sim_runner(void *arg, const struct cc_job *job,
                          int (*on_row)(void *to, const struct cc_report_row *row,
                                        struct cc_error *e),
                          void *to, struct cc_error *e);
int cc_sim_extrapolate(const struct cc_job *job, cc_sim_runner *run, void *arg,
                       int (*on_row)(void *to, const struct cc_report_row *row, struct cc_error *e),
                       void *to, struct cc_error *e);
/* --dry-run: adds a row for each row of the experiment to the record. */
int cc_sim_dry(const struct sim *s, struct cc_error *e);
/* Simulates all settings: cc_experiment_all. */
int cc_sim_all(struct sim *s, struct cc_error *e);
/* Adds a reported row that took wall_s seconds, and prints it if there is a record. */
int cc_sim_add_row(struct sim *s, const struct cc_experiment_setting *setting,
                   const struct cc_report_row *got, double wall_s, struct cc_error *e);

/* --- notes, in the record --- */

/* On all rows; and the cause of a setting's differences, as struct cc_experiment_ops has it. */
const char *cc_sim_cause(void *arg, const struct cc_experiment_setting *of, size_t first,
                         double worst);
int cc_sim_notes(struct sim *s, struct cc_error *e);

/* `commcomp sim`, whose options and columns validate uses. */
extern const struct cc_command cc_command_sim;

#endif
