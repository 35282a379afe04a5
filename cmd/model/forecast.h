/* The basis of every prediction: net, cluster, schemes and the codecs' profile, parsed from the
 * options and opened once, with the columns and notes that predicted and measured rows share. Used
 * by model and advise, and by run, sim and validate for the answer beside what they measure. */
#ifndef CC_CMD_MODEL_FORECAST_H
#define CC_CMD_MODEL_FORECAST_H

#include "cmd/cli/command.h"
#include "cmd/input/cluster.h"
#include "cmd/input/codec_models.h"
#include "cmd/input/evidence.h"
#include "cmd/input/figures.h"
#include "cmd/input/source.h"
#include "cmd/input/trainings.h"
#include "core/trace/synth.h"
#include "models/verdict.h"

/* clang-format off */
/* Columns that cc_forecast_row fills. First the setting, */
#define CC_SETTING_COLUMNS                                                                         \
    CC_COLUMN(scheme, CC_SETTING),                                                                 \
    CC_COLUMN(net, CC_SETTING),                                                                    \
    CC_COLUMN(values, CC_SETTING),                                                                 \
    CC_COLUMN(exchange, CC_SETTING),                                                               \
    CC_COLUMN(op, CC_SETTING),                                                                     \
    CC_COLUMN(dtype, CC_SETTING),                                                                  \
    CC_COLUMN(mode, CC_SETTING),                                                                   \
    CC_COLUMN(local_steps, CC_SETTING), CC_COLUMN(stream_parts, CC_SETTING),                       \
    CC_COLUMN(consistency, CC_SETTING),                                                            \
    CC_COLUMN(staleness, CC_SETTING),                                                              \
    CC_COLUMN(workers, CC_SETTING),                                                                \
    CC_COLUMN(per_host, CC_SETTING),                                                               \
    CC_COLUMN(nics, CC_SETTING),                                                                   \
    CC_COLUMN(servers, CC_SETTING),                                                                \
    CC_COLUMN(colocated, CC_SETTING),                                                              \
    CC_COLUMN(profiled, CC_SETTING),                                                               \
    CC_COLUMN(keep, CC_SETTING),                                                                   \
    CC_COLUMN(gather_scheme, CC_SETTING),                                                          \
    CC_COLUMN(intra_scheme, CC_SETTING),                                                           \
    CC_COLUMN(weight_scheme, CC_SETTING),                                                          \
    CC_COLUMN(micro_steps, CC_SETTING),                                                            \
    CC_COLUMN(inner_exchange, CC_SETTING, .hidden = true),                                         \
    CC_COLUMN(outer_exchange, CC_SETTING, .hidden = true),                                         \
    CC_COLUMN(chunks, CC_SETTING),                                                                 \
    CC_COLUMN(link, CC_SETTING),                                                                   \
    CC_COLUMN(bw_bps, CC_SETTING),                                                                 \
    CC_COLUMN(bw_up_bps, CC_SETTING),                                                              \
    CC_COLUMN(bw_down_bps, CC_SETTING),                                                            \
    CC_COLUMN(latency_s, CC_SETTING),                                                              \
    CC_COLUMN(link_class, CC_SETTING, .hidden = true),                                             \
    CC_COLUMN(intra_bw_bps, CC_SETTING),                                                           \
    CC_COLUMN(intra_latency_s, CC_SETTING),                                                        \
    CC_COLUMN(sites, CC_SETTING),                                                                  \
    CC_COLUMN(wan_bw_bps, CC_SETTING),                                                             \
    CC_COLUMN(wan_latency_s, CC_SETTING),                                                          \
    CC_COLUMN(system, CC_SETTING),                                                                 \
    CC_SKIP_COLUMN

/* then, after payload_bytes, the sizes, */
#define CC_SIZE_COLUMNS                                                                            \
    CC_COLUMN(bits_per_value, CC_MAIN),                                                            \
    CC_COLUMN(ratio, CC_DETAIL, .hidden = true),                                                   \
    CC_COLUMN(bits_push, CC_DETAIL, .hidden = true),                                               \
    CC_COLUMN(bits_pull, CC_DETAIL, .hidden = true)

/* the errors, */
#define CC_ERROR_COLUMNS                                                                           \
    CC_COLUMN(error, CC_MAIN,                                                                      \
              .note = "of what one encoding delivers; the sum is that of " CC_ERROR_WINDOW_TEXT    \
                      " steps"),                                                                   \
    CC_COLUMN(error_low, CC_DETAIL), CC_COLUMN(error_high, CC_DETAIL),                             \
    CC_COLUMN(encodings, CC_DETAIL),                                                               \
    CC_COLUMN(sum_error, CC_ANSWER)

/* those of sharded states, */
#define CC_SHARDED_COLUMNS(how, role)                                                               \
    CC_COLUMN(gather_update_s, role, .origin = how),                                            \
    CC_COLUMN(gather_forward_s, role, .origin = how),                                           \
    CC_COLUMN(gather_backward_s, role, .origin = how),                                          \
    CC_COLUMN(scatter_s, role, .origin = how),                                                  \
    CC_COLUMN(allreduce_s, role, .origin = how),                                                \
    CC_COLUMN(states_bytes, role),                                                              \
    CC_COLUMN(states_parameters_bytes, CC_DETAIL, .hidden = true),                                 \
    CC_COLUMN(states_gradients_bytes, CC_DETAIL, .hidden = true),                                  \
    CC_COLUMN(states_optimizer_bytes, CC_DETAIL, .hidden = true),                                  \
    CC_COLUMN(states_residuals_bytes, CC_DETAIL, .hidden = true)

/* the options that say what sizes and errors are measured on, */
#define CC_FIGURES_OPTIONS                                                                         \
    {.rows = cc_source_options, .names = "trace",                                                  \
     .own = {.group = CC_GROUP_SEND,                                                               \
             .help = "captured gradients to measure sizes and errors on, of the net's tensors; "   \
                     "without --net, they are the net. By default 8 synthetic steps of the net"}}, \
    {.rows = cc_source_options, .names = "skip-nonfinite"}

/* and the prediction. */
#define CC_PREDICTION_COLUMNS                                                                      \
    CC_SIZE_COLUMNS,                                                                               \
    CC_COLUMN(compute_s, CC_SETTING),                                                              \
    CC_COLUMN(codec_s, CC_PART),                                                                   \
    CC_COLUMN(comm_s, CC_MAIN),                                                                    \
    CC_COLUMN(comm_busy_s, CC_PART),                                                               \
    CC_COLUMN(exposed_s, CC_DETAIL, .hidden = true),                                               \
    CC_COLUMN(added_s, CC_DETAIL, .hidden = true),                                                 \
    CC_COLUMN(step_s, CC_ANSWER),                                                                  \
    CC_COLUMN(cu, CC_DETAIL, .hidden = true),                                                      \
    CC_COLUMN(step_s_sd, CC_DETAIL, .note = "with stragglers"),                                    \
    CC_COLUMN(speedup, CC_ANSWER),                                                                 \
    CC_COLUMN(speedup_best, CC_ANSWER),                                                            \
    CC_COLUMN(scaling, CC_DETAIL),                                                                 \
    CC_COLUMN(bottleneck, CC_MAIN)
/* clang-format on */

/* The fastest scheme and exchange at a link, for a number of workers, and the baseline there. */
struct cc_forecast_winner {
    struct cc_setting s;
    size_t scheme;
    double step_s, out_s; /* out_s: of the fastest that is ruled out, or INFINITY */
    struct cc_best best;
};

/* The baseline that verdicts compare with, and the codecs that it is for. */
struct cc_verdict_options {
    struct cc_given given;
    const char *baseline, *codec_on;
    double codec_speed;
};
extern const struct cc_option cc_verdict_options[];

/* The payloads of gathered parameters by a scheme. */
struct cc_forecast_weights {
    struct cc_spec_list spec; /* where its user keeps it here */
    struct cc_codec_models models;
    struct cc_step_payloads payloads;
};

struct cc_forecast {
    struct cc_spec_list *schemes; /* those of the command line; owned by its cc_args */
    struct cc_cluster_args cluster;
    struct cc_profile_args profile_args;
    bool catalogue;              /* they are all that there are, as none was given */
    bool codec_place_given;      /* --codec-on */
    struct cc_progress progress; /* for all that is measured */
    struct cc_codec_models codec_models;
    bool sizes;           /* are those of `figures`, and not the profile's */
    bool errors;          /* are known */
    bool deploys;         /* by libraries whose codecs run on hosts, too; set at the same time: */
    bool other_exchanges; /* than those of the command line are predicted as well; set between
                             cc_forecast_parse and cc_forecast_load */
    struct cc_figures figures;           /* sizes and errors on the net's own tensors */
    struct cc_codec_models gather_model; /* of --gather-scheme, or nothing, as the next one */
    struct cc_figures gather_figures;
    struct cc_codec_models inner_model; /* likewise of --intra-scheme */
    struct cc_figures inner_figures;
    struct cc_forecast_weights weights; /* of --weight-scheme, or nothing */
    struct cc_predictor predictor;
    struct cc_step_payloads *payloads; /* one per scheme */
    struct cc_step_payloads plain;     /* the gradients as they are */
    struct cc_step_payloads raw;       /* fp32 */
    struct cc_codec_models host_models;
    struct cc_step_payloads
        *host_payloads;        /* with codecs on the hosts of --device; NULL: the same */
    struct cc_synth gradients; /* drawn without a trace, to measure sizes, errors and the unions of
                                  index sets */
    struct cc_verdict_limits limits; /* for the schemes that verdicts may name: the usual ones */
    const struct cc_trainings *trainings; /* the user's, which rule then; or NULL */
    struct cc_evidence_list evidence;     /* loaded with the errors; it rules by default */
    /* the baseline of verdicts */
    struct cc_spec_list baseline_scheme;
    struct cc_codec_models baseline_model;
    struct cc_step_payloads baseline;
    struct cc_forecast_winner *winner; /* by exchange, if there are several */
    size_t winners, winner_capacity;
};

/* Reads CC_CLUSTER_OPTIONS, and --scheme, by default all; the record's title becomes the system.
 * Nothing is measured yet, so that a command can refuse
 * what it cannot do. Free *out also after an error; `args` must live as long. */
int cc_forecast_parse(struct cc_args *args, struct cc_forecast *out, struct cc_error *e);
/* Opens the codecs' profile and the sizes of their payloads on the net, and with `errors` also the
 * schemes' errors; what is not kept is measured, which takes a while. Predictions need it. Links
 * whose time of adding floats was not measured get this machine's. */
int cc_forecast_load(struct cc_forecast *f, bool errors, struct cc_error *e);
void cc_forecast_free(struct cc_forecast *f);

/* The payloads of a scheme, with codecs where they run, or on the host. */
const struct cc_step_payloads *cc_forecast_payloads(const struct cc_forecast *f, size_t scheme,
                                                    bool on_host);

/* Opens those of a list of one scheme. Free them also after an error. */
int cc_forecast_weights_load(const struct cc_forecast *f, const struct cc_spec_list *spec,
                             struct cc_forecast_weights *out, struct cc_error *e);
void cc_forecast_weights_free(struct cc_forecast_weights *w);
/* Opens the payloads of --weight-scheme; a part of cc_forecast_load. */
int cc_forecast_load_weights(struct cc_forecast *f, struct cc_error *e);

/* The scheme's canonical name. */
const char *cc_forecast_scheme(const struct cc_forecast *f, size_t scheme);

/* Adds a row with the columns above, payload_bytes among them, to a record, but for those of
 * errors. `p` is NULL if nothing could be predicted. */
int cc_forecast_row(const struct cc_forecast *f, struct cc_record *r, size_t scheme,
                    const struct cc_setting *s, const struct cc_prediction *p, double plain_step_s,
                    size_t *out, struct cc_error *e);

/* Sets the columns of sharded states and of micro-steps; collective_s: seconds of each collective.
 */
int cc_forecast_sharded_columns(const struct cc_forecast *f, struct cc_record *r, size_t row,
                                size_t scheme, const struct cc_setting *s,
                                const double *collective_s, struct cc_error *e);

/* Sets the columns of errors. */
void cc_forecast_error_columns(const struct cc_forecast *f, struct cc_record *r, size_t row,
                               size_t scheme, const struct cc_setting *s);

/* The figures that decide whether verdicts may name a scheme (models/verdict.h). The errors are
 * known after cc_forecast_load with `errors`. */
struct cc_accuracy cc_forecast_accuracy(const struct cc_forecast *f, const struct cc_setting *s,
                                        size_t scheme);

/* Whether the scheme sends the gradients as they are. */
static inline bool cc_forecast_is_plain(const struct cc_forecast *f, size_t scheme)
{
    return cc_codec_models_plain(f->cluster.setting.dtype, f->schemes->item[scheme]);
}

/* Whether sums of the scheme's payloads can have a scheme of their own: not those of floats, and of
 * gradients as they are. */
static inline bool cc_forecast_takes_gather(const struct cc_forecast *f, size_t scheme)
{
    return f->payloads[scheme].reduction != CC_REDUCE_SUM && !cc_forecast_is_plain(f, scheme);
}

/* The scheme of sums in their last stage (--gather-scheme), if the setting and the scheme have one;
 * or NULL. */
const struct cc_spec *cc_forecast_gather(const struct cc_forecast *f, const struct cc_setting *s,
                                         size_t scheme);
/* The same of that inside hosts (--intra-scheme). */
const struct cc_spec *cc_forecast_inner(const struct cc_forecast *f, const struct cc_setting *s,
                                        size_t scheme);
/* Notes, once, what the scheme and that of sums lost in the program's own trainings, if these rule.
 */
int cc_forecast_note_evidence(const struct cc_forecast *f, struct cc_record *r,
                              const struct cc_setting *s, size_t scheme, struct cc_error *e);

/* Uncompressed gradients in a setting, which the column `speedup` compares with: in their own type,
 * or as fp32 where the exchange sums nothing else (cc_exchange_plain). */
const struct cc_step_payloads *cc_forecast_plain(const struct cc_forecast *f,
                                                 const struct cc_setting *s);
/* Refuses a setting whose exchange does not carry --baseline. Gradients as they are have their best
 * among the other exchanges. */
int cc_forecast_check_baseline(const struct cc_forecast *f, const struct cc_setting *s,
                               struct cc_error *e);

/* The name of the scheme that verdicts compare with: the gradients as they are, or that of
 * --baseline. */
const char *cc_forecast_baseline(const struct cc_forecast *f);
/* "fp32 at its best (ring, overlapped, buckets of 25 MiB: 283 ms a step)", in at most 223 bytes */
void cc_forecast_best_text(const struct cc_forecast *f, const struct cc_best *best, char *out,
                           size_t cap);

/* Appends "NAME (WHY)", or "NAME" without a reason, to a list, which ends with "..." once it is
 * full. */
void cc_forecast_add_item(char *list, size_t cap, const char *name, const char *why);

/* The columns `speedup` and `scaling` of a step; scaling is NaN without compute time. */
double cc_forecast_speedup(double plain_step_s, double step_s);
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
    size_t row;    /* in the record; of a prediction only */
    double step_s;
    double speedup;         /* over plain gradients in the same setting; not finite: not known */
    const char *bottleneck; /* NULL: not known */
};

/* Makes details of a setting's rows but those of the fastest schemes that verdicts may name, and
 * of plain gradients. */
void cc_forecast_shorten(const struct cc_forecast *f, struct cc_record *r,
                         const struct cc_setting *s, const struct cc_forecast_step *step,
                         size_t count);

/* Notes which of a setting's steps is the fastest, and whether it pays against the baseline at its
 * best, which is predicted (NULL: not known): the answer, unless several exchanges are compared.
 * Where errors are known, schemes beyond the limits are ruled out, and another note says which and
 * why. No note if the record has many notes already. */
int cc_forecast_note_fastest(struct cc_forecast *f, struct cc_record *r, const struct cc_setting *s,
                             const struct cc_forecast_step *step, size_t count,
                             const struct cc_best *best, struct cc_error *e);
/* With local steps: notes how the scheme's step compares with the baseline at its best without
 * them. */
int cc_forecast_note_data_parallel(struct cc_forecast *f, struct cc_record *r,
                                   const struct cc_setting *s, size_t scheme, double step_s,
                                   struct cc_error *e);
/* Notes the schemes whose ruling is not certain, as the limit lies within the error's interval. */
int cc_forecast_note_uncertain(const struct cc_forecast *f, struct cc_record *r,
                               const struct cc_setting *s, struct cc_error *e);

/* Where several exchanges or numbers of servers are compared: keeps the fastest step of those at
 * the same link, for as many workers; and notes which it was. */
int cc_forecast_consider(struct cc_forecast *f, const struct cc_setting *s, size_t scheme,
                         double step_s, const struct cc_best *best, struct cc_error *e);
int cc_forecast_note_winners(const struct cc_forecast *f, struct cc_record *r, struct cc_error *e);

/* Whether any setting merges index-value pairs whose unions are to be measured. */
bool cc_forecast_measures_unions(const struct cc_forecast *f);
/* Whether sums of several workers' gradients are encoded in any setting. */
bool cc_forecast_encodes_sums(const struct cc_cluster_args *c);

/* Notes where the codecs' figures and the compute time come from. */
int cc_forecast_note_sources(const struct cc_forecast *f, struct cc_record *r, struct cc_error *e);

#endif
