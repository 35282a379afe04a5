/* What model and advise share: the net, cluster and coders that the options say, ready to predict
 * from, and the columns and notes that both print. */
#ifndef CC_CMD_MODEL_FORECAST_H
#define CC_CMD_MODEL_FORECAST_H

#include "cmd/input/cluster.h"
#include "cmd/input/codec_models.h"
#include "cmd/cli/command.h"

/* clang-format off */
/* Columns that cc_forecast_row fills. First the setting, */
#define CC_SETTING_COLUMNS                                                                         \
    {"scheme", "scheme", "", NULL, 0, "the scheme with its parameters that are not the default"},  \
    {"net", "net", "", NULL, 0, "the model that is trained"},                                      \
    {"values", "values", "", "%.0f", 0, "number of float32 values in a step"},                     \
    {"exchange", "exchange", "", NULL, 0, "how payloads move and are reduced"},                    \
    {"mode", "mode", "", NULL, 0,                                                                  \
     "how computing and communicating follow one another in a step"},                              \
    {"workers", "workers", "", "%.0f", 0, "hosts that compute gradients"},                         \
    {"servers", "servers", "", "%.0f", 0, "hosts that sum them; empty but for ps"},                \
    {"link", NULL, "", NULL, 0, "the link's name"},                                                \
    {"bw_bps", "bandwidth", "Mbit/s", "%.6g", 1e-6,                                                \
     "line rate of a host's link in each direction, bits per second"},                             \
    {"latency_s", "latency", "us", "%.6g", 1e6, "of a message, whatever its size"}

/* then, after payload_bytes, the prediction. */
#define CC_PREDICTION_COLUMNS                                                                      \
    {"bits_per_value", "bits/value", "bits", "%.3f", 0, "8 x payload bytes / values"},             \
    {"ratio", NULL, "", "%.1f", 0, "32 / bits per value"},                                         \
    {"bits_push", NULL, "bits", "%.3f", 0,                                                         \
     "bits per value from worker to server, or to the others"},                                    \
    {"bits_pull", NULL, "bits", "%.3f", 0, "bits per value from server to worker; empty but for ps"},                \
    {"compute_s", "compute", "ms", "%.3f", 1e3, "forward and backward pass, and the update"},      \
    {"codec_s", "codec", "ms", "%.3f", 1e3,                                                        \
     "encoding and decoding, hidden or not: worker, every hop, server, worker"},          \
    {"comm_s", "comm", "ms", "%.3f", 1e3,                                                          \
     "the network: latencies, transfers, adding on the way"},                                      \
    {"step_s", "step", "ms", "%.3f", 1e3,                                                          \
     "a step; less than compute + codec + comm where they overlap"},                               \
    {"step_s_sd", "+-", "ms", "%.3f", 1e3, "standard deviation over steps, with stragglers"},      \
    {"speedup", "speedup", "", "%.2f", 0,                                                          \
     "step time of fp32 / step time of the scheme, on the same everything else"},                  \
    {"scaling", NULL, "", "%.4g", 0,                                                               \
     "workers x compute_s / step_s: of how many workers that never communicate the cluster does "  \
     "the work; empty without compute time"},                                                      \
    {"bottleneck", "bottleneck", "", NULL, 0,                                                      \
     "what takes longest: compute, codec, latency, bandwidth (of a worker's link) or server port"}
/* clang-format on */

struct cc_forecast {
    struct cc_args *args;
    struct cc_record *record; /* where rows go: that of args, unless it is set to another */
    struct cc_cluster_args cluster;
    struct cc_codec_models codec_models;
    struct cc_predictor predictor;
    struct cc_step_payloads *payloads; /* one a scheme */
    struct cc_step_payloads raw;       /* fp32 */
};

/* From the options of CC_CLUSTER_OPTIONS, and --scheme, by default all. Close *out also after an
 * error. */
int cc_forecast_open(struct cc_args *args, struct cc_forecast *out, struct cc_error *e);
void cc_forecast_close(struct cc_forecast *f);

/* cc_cluster_args_each, the settings complete with what adding costs on this machine. */
int cc_forecast_each(struct cc_forecast *f,
                     int (*call)(void *arg, const struct cc_setting *s, struct cc_error *e),
                     void *arg, struct cc_error *e);

/* A new row with the columns above, payload_bytes among them. `p` is NULL if nothing could be
 * predicted. SIZE_MAX after an error. */
size_t cc_forecast_row(struct cc_forecast *f, size_t scheme, const struct cc_setting *s,
                       const struct cc_prediction *p, double fp32_step_s, struct cc_error *e);

/* The `scaling` of a step; NaN without compute time. */
double cc_forecast_scaling(int workers, double compute_s, double step_s);

/* Columns of numbers; those that are not finite stay null. */
struct cc_number_column {
    const char *key;
    double value;
};
void cc_forecast_numbers(struct cc_record *r, size_t row, const struct cc_number_column *columns,
                         size_t count);

/* "ps at 1gbps, 10 workers, 2 servers" */
void cc_forecast_place(const struct cc_setting *s, char *out, size_t cap);

/* A note on which of the rows from `first` on, all of one setting, is fastest; none if there is but
 * one, or many notes already. */
int cc_forecast_fastest(struct cc_forecast *f, size_t first, const struct cc_setting *s,
                        struct cc_error *e);

/* Notes on where the codecs' figures and the compute time come from. */
int cc_forecast_sources(struct cc_forecast *f, struct cc_error *e);

#endif
