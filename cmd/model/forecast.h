/* The basis of every prediction: net, cluster, schemes and the codecs' profile, parsed from the
 * options and opened once, with the columns and notes that predicted and measured rows share. Used
 * by model and advise, and by run, sim and validate for the answer beside what they measure. */
#ifndef CC_CMD_MODEL_FORECAST_H
#define CC_CMD_MODEL_FORECAST_H

#include "cmd/cli/command.h"
#include "cmd/input/cluster.h"
#include "cmd/input/codec_models.h"
#include "cmd/input/figures.h"
#include "cmd/input/source.h"
#include "cmd/input/trainings.h"
#include "core/trace/synth.h"
#include "models/verdict.h"

/* clang-format off */
/* Columns that cc_forecast_row fills. First the setting, */
#define CC_SETTING_COLUMNS                                                                         \
    {"scheme", "scheme", "", NULL, 0, "the scheme with its parameters that are not the default",   \
     CC_SETTING},                                                                                  \
    {"net", "net", "", NULL, 0, "the model that is trained", CC_SETTING},                          \
    {"values", "values", "", "%.0f", 0, "number of float32 values in a step", CC_SETTING},         \
    {"exchange", "exchange", "", NULL, 0, "how payloads move and are reduced", CC_SETTING},        \
    {"mode", "mode", "", NULL, 0,                                                                  \
     "how a step combines computing and communicating", CC_SETTING},                               \
    {"consistency", "consistency", "", NULL, 0,                                                    \
     "stale or async; empty: all workers wait for the slowest in every step", CC_SETTING},         \
    {"staleness", "bound", "", "%.0f", 0,                                                          \
     "stale: steps that the fastest worker may lead", CC_SETTING},                                 \
    {"workers", "workers", "", "%.0f", 0, "hosts that compute gradients", CC_SETTING},             \
    {"servers", "servers", "", "%.0f", 0, "hosts that sum them; empty without servers",            \
     CC_SETTING},                                                                                  \
    {"colocated", "colocated", "", NULL, 0,                                                        \
     "true where the servers are on workers' hosts (--colocate)", CC_SETTING},         \
    {"profiled", "profiled", "", NULL, 0,                                                          \
     "true for a scheme that commcomp has no code of: its figures are those of --profile",         \
     CC_SETTING},                                                                                  \
    {"keep", "keep", "%", "%.4g", 100,                                                             \
     "share of the values that sums of index-value pairs keep (--keep); empty: everything",        \
     CC_SETTING},                                                                                  \
    {"link", NULL, "", NULL, 0, "the link's name", CC_SETTING},                                    \
    {"bw_bps", "bandwidth", "", CC_RATE, 0,                                                        \
     "line rate of a host's link in each direction, bits per second", CC_SETTING},                 \
    {"latency_s", "latency", "us", "%.6g", 1e6, "latency of a message, whatever its size",         \
     CC_SETTING},                                                                                  \
    {"system", NULL, "", NULL, 0, "the system whose defaults the setting begins with (--system)",  \
     CC_SETTING},                                                                                  \
    CC_SKIP_COLUMN

/* then, after payload_bytes, the sizes, */
#define CC_SIZE_COLUMNS                                                                            \
    {"bits_per_value", "bits/value", "bits", "%.3f", 0,                                            \
     "8 x payload bytes / values: of a worker's push alone; pulls are in bits_pull", CC_MAIN},     \
    {"ratio", NULL, "", "%.1f", 0, "32 / bits per value", CC_DETAIL},                              \
    {"bits_push", NULL, "bits", "%.3f", 0,                                                         \
     "bits per value from worker to server, or to the others", CC_DETAIL},                         \
    {"bits_pull", NULL, "bits", "%.3f", 0,                                                         \
     "bits per value from server to worker; empty without servers", CC_DETAIL}

/* the errors, */
#define CC_SUM_ERROR_COLUMN(role)                                                                  \
    {"sum_error", "sum_error", "", "%.3g", 0,                                                      \
     "error of the sum over the workers: error x encodings (docs/errors.md). Sending nothing has " \
     "1; a scheme with more is not named as the fastest, nor recommended", role}
#define CC_ERROR_COLUMNS                                                                           \
    {"error", "error", "", "%.2g", 0,                                                              \
     "settled error of what one encoding delivers, of the sum of " CC_ERROR_WINDOW_TEXT            \
     " steps relative to the gradients' (docs/errors.md); sending nothing has 1",                  \
     CC_MAIN},                                                                                     \
    {"error_low", NULL, "", "%.2g", 0, "lower end of its 95% interval; empty with one step",       \
     CC_DETAIL},                                                                                   \
    {"error_high", NULL, "", "%.2g", 0, "upper end", CC_DETAIL},                                   \
    {"encodings", NULL, "", "%.4g", 0,                                                             \
     "how often the gradients' sum is encoded: by a worker, a server, at hops", CC_DETAIL},        \
    CC_SUM_ERROR_COLUMN(CC_ANSWER)

/* the option that says what sizes and errors are measured on, */
#define CC_FIGURES_OPTIONS                                                                         \
    {.name = "trace", .value = "PATH", .file = CC_READS_FILE, .group = CC_GROUP_SEND,              \
     .often = true,                                                                                \
     .help = "captured gradients to measure sizes and errors on, of the net's tensors; without "  \
             "--net, they are the net. By default 8 synthetic steps of the net"}

/* the options of verdicts, */
#define CC_VERDICT_OPTIONS                                                                         \
    {.name = "baseline", .value = "SCHEME", .def = "fp32",                                         \
     .group = CC_GROUP_SEND,                                                                       \
     .help = "the scheme that verdicts compare with, each at its best among the exchanges and "    \
             "step modes: bf16 where that is what you send today"},                                \
    {.name = "codec-speed", .value = "X", .def = "1",                                              \
     .group = CC_GROUP_SEND,                                                                       \
     .help = "codecs are taken to be X times as fast as in the profile, which is of one core"}

/* and the prediction. */
#define CC_PREDICTION_COLUMNS                                                                      \
    CC_SIZE_COLUMNS,                                                                               \
    {"compute_s", "compute", "ms", "%.3f", 1e3, "forward and backward pass, and the update",       \
     CC_SETTING},                                                                                  \
    {"codec_s", "codec", "ms", "%.3f", 1e3,                                                        \
     "encoding and decoding, hidden or not: worker, every hop, server, worker", CC_PART},          \
    {"comm_s", "comm", "ms", "%.3f", 1e3,                                                          \
     "the network: latencies, transfers, adding between hops; of these, what computing and codecs " \
     "do not hide", CC_MAIN},                                                                      \
    {"comm_busy_s", "busy", "ms", "%.3f", 1e3, "the same, hidden or not", CC_PART},                \
    {"added_s", NULL, "s", "%.6g", 0,                                                              \
     "step_s less compute_s: what codecs and network add, where computing hides the rest",         \
     CC_DETAIL},                                                                                   \
    {"step_s", "step", "ms", "%.3f", 1e3,                                                          \
     "a step; less than compute + codec + busy where they overlap", CC_ANSWER},                    \
    {"step_s_sd", "+-", "ms", "%.3f", 1e3, "standard deviation over steps, with stragglers",       \
     CC_DETAIL},                                                                                   \
    {"speedup", "speedup", "", "%.2f", 0,                                                          \
     "step time of fp32 / step time of the scheme, in the same setting", CC_ANSWER},               \
    {"speedup_best", "vs. best", "", "%.3f", 0,                                                    \
     "step time of fp32 (or --baseline) at its best among all exchanges and step modes / step "    \
     "time of the scheme", CC_ANSWER},                                                             \
    {"scaling", NULL, "", "%.4g", 0,                                                               \
     "workers x compute_s / step_s: the number of workers that, without communicating, would do "  \
     "the same work; empty without compute time", CC_DETAIL},                                      \
    {"bottleneck", "bottleneck", "", NULL, 0,                                                      \
     "the longest part: compute, codec, latency, bandwidth (of a worker's link) or server port",\
     CC_MAIN}
/* clang-format on */

/* The fastest scheme and exchange at a link, for a number of workers, and the baseline there. */
struct cc_forecast_winner {
    struct cc_setting s;
    size_t scheme;
    double step_s;
    struct cc_best best;
};

struct cc_forecast {
    struct cc_spec_list *schemes; /* those of the command line; owned by its cc_args */
    struct cc_cluster_args cluster;
    struct cc_profile_args profile_args;
    struct cc_progress progress; /* of all that is measured */
    struct cc_codec_models codec_models;
    bool sizes;                /* are those of `figures`, and not the profile's */
    bool errors;               /* are known */
    bool other_exchanges;      /* than those of the command line are predicted as well; set between
                                  cc_forecast_parse and cc_forecast_load */
    struct cc_figures figures; /* sizes and errors on the net's own tensors */
    struct cc_predictor predictor;
    struct cc_step_payloads *payloads; /* one per scheme */
    struct cc_step_payloads raw;       /* fp32 */
    struct cc_synth gradients; /* drawn without a trace, to measure sizes, errors and the unions of
                                  index sets */
    struct cc_verdict_limits limits; /* of the schemes that verdicts may name: the usual ones */
    const struct cc_trainings *trainings; /* that decide in place of errors, or NULL */
    /* what verdicts compare with */
    struct cc_spec_list baseline_scheme;
    struct cc_codec_models baseline_model;
    struct cc_step_payloads baseline;
    struct cc_forecast_winner *winner; /* of several exchanges */
    size_t winners, winner_capacity;
};

/* Parses the options of CC_CLUSTER_OPTIONS, and --scheme, by default all; the record's title
 * becomes the system, by default `usual`. Nothing is measured yet, so that a command can refuse
 * what it cannot do. Free *out also after an error; `args` must live as long. */
int cc_forecast_parse(struct cc_args *args, enum cc_system_id usual, struct cc_forecast *out,
                      struct cc_error *e);
/* Opens the codecs' profile and the sizes of their payloads on the net, and with `errors` also the
 * schemes' errors; what is not kept is measured, which takes a while. Predictions need it. */
int cc_forecast_load(struct cc_forecast *f, bool errors, struct cc_error *e);
void cc_forecast_free(struct cc_forecast *f);

/* The scheme's canonical name. */
const char *cc_forecast_scheme(const struct cc_forecast *f, size_t scheme);

/* Like cc_cluster_args_each; the settings also have the time of adding floats on this machine. */
int cc_forecast_each(struct cc_forecast *f,
                     int (*call)(void *arg, const struct cc_setting *s, struct cc_error *e),
                     void *arg, struct cc_error *e);

/* Adds a row with the columns above, payload_bytes among them, to a record, but for those of
 * errors. `p` is NULL if nothing could be predicted. SIZE_MAX after an error. */
size_t cc_forecast_row(const struct cc_forecast *f, struct cc_record *r, size_t scheme,
                       const struct cc_setting *s, const struct cc_prediction *p,
                       double fp32_step_s, struct cc_error *e);

/* Sets the columns of errors. */
void cc_forecast_error_columns(const struct cc_forecast *f, struct cc_record *r, size_t row,
                               size_t scheme, const struct cc_setting *s);

/* The figures that decide whether verdicts may name a scheme (models/verdict.h). The errors are
 * known after cc_forecast_load with `errors`. */
struct cc_accuracy cc_forecast_accuracy(const struct cc_forecast *f, const struct cc_setting *s,
                                        size_t scheme);

/* The name of the scheme that verdicts compare with: fp32, or that of --baseline. */
const char *cc_forecast_baseline(const struct cc_forecast *f);
/* "fp32 at its best (ring, overlapped, buckets of 25 MiB: 283 ms a step)", in at most 223 bytes */
void cc_forecast_best_text(const struct cc_forecast *f, const struct cc_best *best, char *out,
                           size_t cap);

/* Appends "NAME (WHY)", or "NAME" without a reason, to a list, which ends with "..." where there is
 * no more room. */
void cc_forecast_add_item(char *list, size_t cap, const char *name, const char *why);

/* The columns `speedup` and `scaling` of a step; scaling is NaN without compute time. */
double cc_forecast_speedup(double fp32_step_s, double step_s);
double cc_forecast_scaling(int workers, double compute_s, double step_s);

/* About a cluster of one worker. */
#define CC_FORECAST_ALONE                                                                          \
    "one worker has nobody to exchange gradients with, so that no scheme changes its step: give "  \
    "--workers 2 or more"

/* "ps at 1gbps, 10 workers, 2 servers" */
void cc_forecast_place(const struct cc_setting *s, char *out, size_t cap);

/* A scheme's step in a setting, predicted or measured. */
struct cc_forecast_step {
    size_t scheme; /* index in the list */
    double step_s;
    double speedup;         /* over fp32 in the same setting; not finite: not known */
    const char *bottleneck; /* NULL: not known */
};

/* Notes which of a setting's steps is the fastest, and whether it pays against the baseline at its
 * best, which is predicted (NULL: not known). Where errors are known, schemes beyond the limits are
 * ruled out, and another note says which and why. No note if there is but one step, or if the
 * record has many notes already. */
int cc_forecast_note_fastest(const struct cc_forecast *f, struct cc_record *r,
                             const struct cc_setting *s, const struct cc_forecast_step *step,
                             size_t count, const struct cc_best *best, struct cc_error *e);
/* Notes the schemes whose ruling is not certain, as the limit lies within the error's interval. */
int cc_forecast_note_uncertain(const struct cc_forecast *f, struct cc_record *r,
                               const struct cc_setting *s, struct cc_error *e);

/* Where several exchanges or numbers of servers are compared: keeps the fastest step of those at
 * the same link, for as many workers; and notes which it was. */
int cc_forecast_consider(struct cc_forecast *f, const struct cc_setting *s, size_t scheme,
                         double step_s, const struct cc_best *best, struct cc_error *e);
int cc_forecast_note_winners(const struct cc_forecast *f, struct cc_record *r, struct cc_error *e);

/* Notes where the codecs' figures and the compute time come from. */
int cc_forecast_note_sources(const struct cc_forecast *f, struct cc_record *r, struct cc_error *e);

#endif
