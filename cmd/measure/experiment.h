/* What run and sim share: the rows that they are going to measure (every setting with every scheme)
 * and how many steps of each, the jobs for the ranks, and the measured rows beside the model's
 * answer. */
#ifndef CC_CMD_MEASURE_EXPERIMENT_H
#define CC_CMD_MEASURE_EXPERIMENT_H

#include "cmd/model/forecast.h"
#include "cmd/cli/progress.h"
#include "core/trace/synth.h"
#include "core/trace/trace.h"
#include "netsim/job/job.h"
#include "netsim/job/report.h"

/* clang-format off */
#define CC_EXPERIMENT_OPTIONS                                                                            \
    {.name = "trace", .value = "PATH", .file = CC_READS_FILE,                                                             \
     .help = "replay captured gradients: a .safetensors, .npy or .csv file, or a directory of "    \
             "them; without --net, the net is its tensors"},                                       \
    {.name = "synthetic", .value = "DISTRIBUTION", .def = "mixture",                               \
     .choices = cc_distribution_names,                                                             \
     .help = "make gradients up: laplace, gaussian, student, or mixture, which resembles captured "\
             "ones most"}

/* Columns of a measured row: of its step, */
#define CC_STEP_COLUMNS                                                                            \
    {"payload_bytes", NULL, "B", "%.0f", 0,                                                        \
     "bytes of a worker's push per step, scale factors included (mean over the workers, and over " \
     "whole periods of the scheme)"},                                                              \
    {"bits_per_value", "bits/value", "bits", "%.3f", 0, "8 x payload bytes / values"},             \
    {"ratio", NULL, "", "%.1f", 0, "32 / bits per value"},                                         \
    {"bits_push", NULL, "bits", "%.3f", 0,                                                         \
     "bits per value from worker to server, or to the others"},                                    \
    {"bits_pull", NULL, "bits", "%.3f", 0,                                                         \
     "bits per value from server to worker; empty but for ps"},                                    \
    {"compute_s", NULL, "s", "%.6g", 0,                                                            \
     "forward and backward pass (of the slowest worker), and the update"},                         \
    {"codec_s", "codec", "ms", "%.3f", 1e3,                                                        \
     "encoding and decoding, hidden or not: worker, every hop, server, worker; each of the "       \
     "slowest rank"},                                                                              \
    {"comm_s", "comm", "ms", "%.1f", 1e3,                                                          \
     "step_s less compute_s and codec_s: the network, as far as nothing hides it"},                \
    {"step_s", "step", "ms", "%.1f", 1e3,                                                          \
     "a step, from the slowest rank's end of the last one to its end of this one"},                \
    {"step_s_sd", "+-", "ms", "%.1f", 1e3,                                                         \
     "standard deviation over the counted steps (over whole periods of the scheme); empty if one " \
     "was counted"},                                                                               \
    {"speedup", "speedup", "", "%.2f", 0,                                                          \
     "step time of fp32 / step time of the scheme, on the same everything else; empty if fp32 was "\
     "not run"},                                                                                   \
    {"scaling", NULL, "", "%.4g", 0,                                                               \
     "workers x compute_s / step_s: of how many workers that never communicate the cluster does "  \
     "the work; empty without compute time"}

/* the model beside it, */
#define CC_MODEL_COLUMNS                                                                           \
    {"step_s_model", "model", "ms", "%.1f", 1e3,                                                   \
     "what the formulas say of the same step, given the sizes and codec times that were measured " \
     "in it: they have to get the network and the composition right. In a dry run, those of the "  \
     "profile"},                                                                                   \
    {"model_error", "off", "%", "%+.1f", 100, "(step_s - step_s_model) / step_s"},                 \
    {"step_s_forecast", NULL, "s", "%.6g", 0,                                                      \
     "what `model` says beforehand, from the codecs' profile"},                                    \
    {"bottleneck", NULL, "", NULL, 0,                                                              \
     "what takes longest by the model: compute, codec, latency, bandwidth (of a worker's link) or "\
     "server port"}

/* and parts of it. */
#define CC_PART_COLUMNS                                                                            \
    {"encode_s", NULL, "s", "%.6g", 0, "part of codec_s: the worker encodes"},                     \
    {"hop_codec_s", NULL, "s", "%.6g", 0,                                                          \
     "part of codec_s: decode, add, encode between hops; adding floats"},                          \
    {"server_codec_s", NULL, "s", "%.6g", 0,                                                       \
     "part of codec_s: the busiest server decodes every push and encodes once"},                   \
    {"decode_s", NULL, "s", "%.6g", 0, "part of codec_s: the worker decodes what comes back"},     \
    {"wait_s", NULL, "s", "%.6g", 0, "of the rank that waits longest, for the network and others"},\
    {"messages", NULL, "", "%.6g", 0, "sent per step by the rank that sends most"}
/* clang-format on */

/* What the options say beyond net, cluster and schemes. */
struct cc_experiment_options {
    const char *trace; /* or NULL: */
    enum cc_distribution distribution;
    uint64_t steps, warmup; /* UINT64_MAX: not given */
    bool dry_run;
};

/* A scheme in a setting. */
struct cc_experiment_row {
    size_t scheme;                 /* of the command line's */
    struct cc_prediction forecast; /* what `model` says */
    size_t period, warmup, steps;
    bool fills;     /* its payloads change while residuals fill */
    double seconds; /* of a step, with the codecs on as many cores as there are; */
    double bare_s;  /* of one that does not compute, as those before the last to warm up */
    double bytes;   /* of a step, on the links of all hosts */
    /* sim: codecs take what they took in a run of the same row, instead of the profile's times */
    bool timed;
    struct cc_codec_times took;
};

/* Whether the formulas know the network of a setting. */
enum cc_formula {
    CC_FORMULA_HOLDS,     /* equal hosts on one switch */
    CC_FORMULA_ELSEWHERE, /* no: but what they say of such hosts is there to compare with */
    CC_NO_FORMULA         /* no, and not its links either */
};

/* A setting with all schemes, fp32 first: one job. */
struct cc_experiment_setting {
    struct cc_setting setting;
    struct cc_experiment_row *row;
    size_t rows;
    enum cc_formula formula;
    /* sim's own: */
    bool data; /* payloads are made, not only their sizes */
    /* run's own: */
    double shaped_bps;      /* what tc is told; 0: nothing is shaped */
    double added_latency_s; /* by netem; 0: none */
    bool yield_when_idle;   /* more ranks than cores */
    bool oversubscribed;    /* more busy ones */
    double ranks_per_core;  /* busy ranks / cores, at least 1 */
};

struct cc_experiment {
    struct cc_args *args;
    struct cc_record *record; /* where the rows go */
    struct cc_experiment_options options;
    struct cc_forecast forecast;
    struct cc_experiment_setting *setting;
    size_t settings, setting_capacity;
    double latest_fp32_s; /* measured step of fp32 in the setting that runs; NaN: none */
    struct cc_progress progress;
    struct cc_timeline_output *story; /* --timeline, or NULL */
    const struct cc_experiment_ops *own;
    void *arg;
};

/* What is the command's own. */
struct cc_experiment_ops {
    /* Beyond what neither runs: CC_USAGE. */
    int (*refuse)(void *arg, const struct cc_cluster_args *c, struct cc_error *e);
    /* Completes a setting: its link, its cores. */
    void (*complete)(void *arg, struct cc_experiment_setting *s);
    /* Chooses a row's warmup and steps, as far as the options do not say them. */
    int (*choose)(void *arg, const struct cc_experiment_setting *s, struct cc_experiment_row *row,
                  struct cc_error *e);
};

/* --- the plan --- */

/* Reads the options, refuses what `model` predicts and no rank does, and opens the forecast; rows
 * go to *record. Close it also after an error. */
int cc_experiment_open(struct cc_experiment *p, struct cc_args *args, struct cc_record *record,
                       const struct cc_experiment_ops *own, void *arg, struct cc_error *e);
/* Fills in the settings and their rows. */
int cc_experiment_make(struct cc_experiment *p, struct cc_error *e);
void cc_experiment_close(struct cc_experiment *p);

/* Ranks of a setting: workers, and servers if its exchange has any. */
int cc_experiment_ranks(const struct cc_setting *s);
const char *cc_experiment_scheme(const struct cc_experiment *p,
                                 const struct cc_experiment_row *row);
/* Bytes of gradients, models, payloads and what codecs keep, of every rank on this one machine. */
size_t cc_experiment_bytes(const struct cc_setting *s);
int cc_experiment_check_memory(const struct cc_setting *s, struct cc_error *e);

/* Everything that the ranks need to know, as far as run and sim agree. Free with cc_job_free, also
 * after an error if *out was zeroed before. */
int cc_experiment_job(struct cc_experiment *p, const struct cc_experiment_setting *s,
                      struct cc_job *out, struct cc_error *e);

/* --- rows --- */

/* What was measured of a row, beside the model's answer; not finite where there is no model. */
struct cc_measured_row {
    size_t at; /* the row of the record */
    double step_s;
    struct cc_prediction model;
};

int cc_experiment_add_row(struct cc_experiment *p, const struct cc_experiment_setting *s,
                          size_t row, const struct cc_report_row *got, struct cc_measured_row *out,
                          struct cc_error *e);
/* A row of a dry run, with the columns that both have; SIZE_MAX after an error. */
size_t cc_experiment_dry_row(struct cc_experiment *p, const struct cc_experiment_setting *s,
                             const struct cc_experiment_row *row, struct cc_error *e);

/* --- notes --- */

/* A number of the record; NaN: null. */
double cc_experiment_number(const struct cc_record *r, size_t row, const char *key);

/* Rows from `first` on that are off by more than `limit`, as "3lc +2.1%, ...", with the largest of
 * them; count 0: none. */
struct cc_experiment_off {
    char text[240];
    size_t count;
    double worst;
};
void cc_experiment_off(const struct cc_experiment *p, size_t first, double limit,
                       struct cc_experiment_off *out);

/* Long lists of settings say the rest in their columns alone. */
enum { CC_EXPERIMENT_MOST_NOTES = 12 };
int cc_experiment_note_gradients(struct cc_experiment *p, struct cc_error *e);

#endif
