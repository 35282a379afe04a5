/* Experiments: the common part of run, sim and validate. The command line is parsed once, into a
 * struct cc_experiment_input. From it an experiment takes its settings (each with a row per scheme,
 * and the number of steps of each row) and the jobs for the ranks. The ranks' reports become a list
 * of struct cc_measured_row, from which the record's rows, the notes and validate take their
 * numbers. */
#ifndef CC_CMD_MEASURE_EXPERIMENT_H
#define CC_CMD_MEASURE_EXPERIMENT_H

#include "cmd/cli/progress.h"
#include "cmd/input/source.h"
#include "cmd/model/forecast.h"
#include "core/format/contents.h"
#include "core/trace/synth.h"
#include "core/trace/trace.h"
#include "netsim/job/job.h"
#include "netsim/job/report.h"
#include "results/timeline.h"

/* Where a command's gradients come from, for its list of options. */
/* clang-format off */
#define CC_GRADIENT_OPTIONS                                                                        \
    {.rows = cc_source_options, .names = "trace",                                                  \
     .own = {.group = CC_GROUP_SEND,                                                               \
             .help = "replay captured gradients: a " CC_TENSOR_FILES " file, or a "              \
                     "directory of them; without --net, the net is its tensors"}},                 \
    {.rows = cc_source_options, .names = "skip-nonfinite"},                                        \
    {.rows = cc_source_options, .names = "synthetic",                                              \
     .own = {.group = CC_GROUP_SEND,                                                               \
             .help = "draw gradients at random: laplace, gaussian, student, or mixture, which "    \
                     "resembles captured ones most"}},                                             \
    {.rows = cc_source_options, .names = "nonzeros indices"}

/* Columns of a measured row: of its step, */
#define CC_STEP_COLUMNS(how)                                                                       \
    CC_COLUMN(chose, CC_PART, .origin = how, .note = "of the steps that count"),                   \
    CC_COLUMN(kept_values, CC_PART), CC_COLUMN(applied_error, CC_PART),                            \
    CC_COLUMN(applied_error_settled, CC_PART),                                                     \
    CC_COLUMN(payload_bytes, CC_DETAIL, .hidden = true, .note = "the mean over the workers"),      \
    CC_SIZE_COLUMNS,                                                                               \
    CC_COLUMN(compute_s, CC_DETAIL, .hidden = true, .origin = how),                                \
    CC_COLUMN(codec_s, CC_PART, .origin = how,                                                     \
              .note = "for each, processor time of the slowest rank, or of all that share a core"),\
    CC_COLUMN(comm_s, CC_MAIN, .origin = how, .note = "step_s less compute_s and codec_s"),        \
    CC_COLUMN(comm_busy_s, CC_PART, .origin = how,                                                 \
              .note = "while there is only one, without its own work on it"),                      \
    CC_COLUMN(exposed_s, CC_DETAIL, .hidden = true, .origin = how,                                 \
              .note = "the mean over the workers"),                                                \
    CC_COLUMN(added_s, CC_DETAIL, .hidden = true, .origin = how),                                  \
    CC_COLUMN(step_s, CC_ANSWER, .origin = how,                                                    \
              .note = "from the slowest rank's end of the previous one to its end of this one; in "\
                      "a run without those that lie further from the quartiles than these from "   \
                      "each other, unless there are stragglers"),                                  \
    CC_COLUMN(cu, CC_DETAIL, .hidden = true, .origin = how),                                       \
    CC_COLUMN(step_s_sd, CC_DETAIL, .hidden = true, .origin = how,                                 \
              .note = "empty if one was counted"),                                                 \
    CC_COLUMN(step_s_q25, CC_DETAIL, .origin = how),                                               \
    CC_COLUMN(step_s_q75, CC_DETAIL, .origin = how),                                               \
    CC_COLUMN(speedup, CC_ANSWER, .origin = how,                                                   \
              .note = "with --bw none, call of fp32 over mpi / call of the row"),                  \
    CC_COLUMN(sum_error, CC_PART), CC_COLUMN(scaling, CC_DETAIL, .origin = how)

/* the model beside it, */
#define CC_MODEL_COLUMNS                                                                           \
    CC_COLUMN(step_s_model, CC_MAIN, .note = "in a dry run, from the profile's"),                  \
    CC_COLUMN(model_error, CC_MAIN),                                                               \
    CC_COLUMN(step_s_forecast, CC_DETAIL, .hidden = true),                                         \
    CC_COLUMN(bottleneck, CC_DETAIL, .hidden = true)

/* and parts of it. */
#define CC_PART_COLUMNS(how)                                                                       \
    CC_COLUMN(encode_s, CC_DETAIL, .origin = how), CC_COLUMN(hop_codec_s, CC_DETAIL, .origin = how),\
    CC_COLUMN(reduce_s, CC_DETAIL, .origin = how),                                                 \
    CC_COLUMN(server_codec_s, CC_DETAIL, .origin = how),                                           \
    CC_COLUMN(decode_s, CC_DETAIL, .origin = how), CC_COLUMN(waking_s, CC_DETAIL, .origin = how),  \
    CC_COLUMN(message_s, CC_DETAIL, .hidden = true, .origin = how),                                \
    CC_COLUMN(wait_s, CC_DETAIL, .origin = how), CC_COLUMN(messages, CC_DETAIL, .origin = how)

/* Columns of steps that are not bulk synchronous. */
#define CC_STALENESS_COLUMNS(how)                                                                  \
    CC_COLUMN(communicate, CC_SETTING), CC_COLUMN(staleness_mean, CC_MAIN, .origin = how),         \
    CC_COLUMN(staleness_p95, CC_DETAIL, .origin = how),                                            \
    CC_COLUMN(staleness_counts, CC_DETAIL, .origin = how),                                         \
    CC_COLUMN(bound_wait_s, CC_PART, .origin = how),                                               \
    CC_COLUMN(updates_per_s, CC_MAIN, .origin = how)
/* clang-format on */

/* The command line of run, sim or validate, read and opened once. */
struct cc_experiment_input {
    struct cc_given given;
    struct cc_forecast forecast; /* net, trace, cluster, schemes, and the codecs' profile */
    size_t trace_steps;          /* the steps of a trace that all workers have */
    uint64_t steps, warmup;
    bool errors; /* whether the errors of applied updates are measured */
    bool dry_run, quiet;
};
extern const struct cc_option cc_experiment_options[];

/* The share of the drawn values that are not zero. */
static inline double cc_experiment_nonzeros(const struct cc_experiment_input *in)
{
    const struct cc_source_options *o = &in->forecast.cluster.source;
    return o->shares > 0 ? o->nonzeros[0] : 1;
}

/* A scheme in a setting. */
struct cc_experiment_row {
    size_t scheme;                 /* index in the list of schemes */
    struct cc_prediction forecast; /* the answer of `model` */
    /* warmup and steps: whole periods; with --local-steps, rounds, which an exchange ends: */
    size_t period, warmup, steps;
    bool fills;              /* its payloads change while residuals fill: */
    size_t filling, settled; /* steps until they have settled, and of which sizes are then a mean */
    /* expected, of a step, or round, with the codecs on this machine's cores; */
    double step_s;
    double bare_step_s; /* the same without computing, as most that warm up are */
    double bytes;       /* the same, on the links of all hosts */
    /* sim: codecs take the times measured by a run of the same row, and not the profile's */
    bool codec_measured;
    struct cc_codec_times codec;
    double update_s; /* update_s of that run */
};

/* The steps of a round of a setting: those from one exchange to the next. */
static inline size_t cc_experiment_round(const struct cc_setting *s)
{
    return s->timing.local.steps > 0 ? s->timing.local.steps : 1;
}

/* The steps in which all tensors are exchanged once: a round for each part. */
static inline size_t cc_experiment_turn(const struct cc_setting *s)
{
    const size_t parts = s->timing.local.parts;
    return cc_experiment_round(s) * (parts > 1 ? parts : 1);
}

/* The periods of this number of steps. */
static inline size_t cc_experiment_periods(uint64_t steps, size_t period)
{
    return (size_t)((steps + period - 1) / period);
}

/* Whether the formulas describe the network of a setting. */
enum cc_formula {
    CC_FORMULA_HOLDS,     /* yes: equal hosts on one switch */
    CC_FORMULA_ELSEWHERE, /* no; but their answer for such hosts is given for comparison */
    CC_FORMULA_LACKS,     /* no; there is none for such steps */
    CC_NO_FORMULA         /* no; its links have no bandwidth or latency that they could use */
};

/* A setting with all schemes, uncompressed gradients first: one job. */
struct cc_experiment_setting {
    struct cc_setting setting;
    struct cc_experiment_row *row;
    size_t rows;
    enum cc_formula formula;
    /* sim's own: */
    bool data; /* payloads are made, not only their sizes */
    /* run's own: */
    int cores;              /* a lab's, which all ranks share; 0: every rank has its own */
    double shaped_bps;      /* rate for tc; 0: nothing is shaped */
    double added_latency_s; /* by netem; 0: none */
    bool yield_when_idle;   /* more ranks than cores */
    bool oversubscribed;    /* more busy ranks than cores */
    double ranks_per_core;  /* busy ranks / cores, at least 1 */
};

/* The measurements of a row, per step, with the model's answer for the same step. Numbers that are
 * not known are NaN. */
struct cc_measured_row {
    const struct cc_experiment_setting *setting;
    const struct cc_experiment_row *row;
    double push_bytes; /* payload of a worker's push, or of all values, of which it sends a part */
    double pull_bytes; /* all pulls'; NaN without servers */
    double compute_s;  /* with the update */
    double update_s;
    double codec_s, comm_s, comm_busy_s;
    double reduce_s;     /* the part of comm_s that adds floats or merges pairs */
    double step_s;       /* mean of the counted periods' steps, without outliers */
    double step_s_error; /* its standard error */
    double step_s_sd, step_s_q25, step_s_q75; /* over whole periods; NaN if there is but one */
    double speedup; /* NaN if plain gradients were not measured in this setting */
    struct cc_codec_times codec;
    double wait_s, exposed_s, messages;
    double collective_s[CC_MOST_COLLECTIVES]; /* by collective, with sharded states */
    double kept_values;                       /* NaN: everything is kept */
    /* Steps that are not bulk synchronous; otherwise NaN and NULL: */
    double staleness, staleness_p95, bound_wait_s, updates_per_s;
    char *staleness_counts;
    double applied_error, applied_error_settled;      /* NaN: not measured */
    double waking_s, message_s;                       /* from the report */
    double core_wait_s, core_wait_all_s, other_cores; /* from the report; NaN: not known */
    struct cc_prediction model; /* from the measured sizes and times; step_s NaN: no formula */
    double model_error;
    double wire_bytes; /* sent by the busiest host: counted (run), or computed (sim) */
    char chose[160];   /* ssar-auto: which exchange how often; or "" */
    /* run's own: */
    double wire_bytes_model, wire_bytes_received, wire_bytes_all, burst_share;
    /* sim's own: */
    double wall_s, peak_bytes; /* the simulation itself */
};

struct cc_experiment {
    const struct cc_experiment_input *input; /* borrowed, as the next: validate has two of it */
    struct cc_forecast *forecast;            /* the input's */
    struct cc_record *record; /* gets rows and notes as they come; NULL: nobody does */
    struct cc_experiment_setting *setting;
    size_t settings, setting_capacity;
    struct cc_measured_row *measured; /* in the order of settings and their rows */
    size_t measured_rows, measured_capacity;
    char mpi[128]; /* the MPI library, once ranks have reported it */
    bool launched; /* a program that runs the ranks was started, whatever became of it */
    struct cc_progress progress;
    struct cc_timeline_output *timeline; /* --timeline, or NULL */
    const struct cc_experiment_ops *ops;
    void *arg;
    /* While cc_experiment_all measures: the setting under way, its row and step (row == rows:
     * none), and when the row began, or the setting before its first row. */
    const struct cc_experiment_setting *now;
    size_t row, step;
    double began;
};

/* The parts of an experiment that are the command's own. */
struct cc_experiment_ops {
    /* Completes a setting: its link, its cores. */
    void (*complete)(void *arg, struct cc_experiment_setting *s);
    /* Chooses a row's warmup and steps; those of the options replace them. */
    int (*choose)(void *arg, const struct cc_experiment_setting *s, struct cc_experiment_row *row,
                  struct cc_error *e);
    /* Starts the ranks of a setting, and passes on their reports. */
    int (*measure)(void *arg, const struct cc_experiment_setting *s, struct cc_error *e);
    /* The model_error beyond which a setting's rows differ, and the likeliest cause of it; `first`
     * is the first of these rows. */
    double (*limit)(const struct cc_setting *s);
    const char *(*cause)(void *arg, const struct cc_experiment_setting *s, size_t first,
                         double worst);
    bool exact; /* the clock is simulated: nothing but the setting makes steps differ */
};

/* --- preparing --- */

/* Reads the options, opens net and trace, and refuses what `model` predicts but no rank does.
 * Nothing is measured yet: cc_experiment_load does that, after the command has refused what it
 * cannot do. Free with cc_experiment_input_free, also after
 * an error. */
int cc_experiment_parse(struct cc_args *args, struct cc_experiment_input *out, struct cc_error *e);
/* Refuses schemes without code (--profile), where codecs are to run: a usage error that names
 * `what` asks for it. */
int cc_experiment_need_code(const struct cc_experiment_input *in, const char *what,
                            struct cc_error *e);
/* Refuses schemes that --communicate does not go with, and loads the forecast; with `errors` if
 * several schemes are compared, whose fastest is to be named. */
int cc_experiment_load(struct cc_experiment_input *in, bool errors, struct cc_error *e);
void cc_experiment_input_free(struct cc_experiment_input *in);

/* Makes the settings and their rows from the input, whose forecast is loaded. *x was zeroed before;
 * free it also after an error. `ops` and `arg` must live as long. */
int cc_experiment_prepare(struct cc_experiment *x, struct cc_experiment_input *input,
                          struct cc_record *record, const struct cc_experiment_ops *ops, void *arg,
                          struct cc_error *e);
void cc_experiment_free(struct cc_experiment *x);

/* Ranks of a setting: workers, and servers if its exchange has any. */
int cc_experiment_ranks(const struct cc_setting *s);
/* Whether the formulas have an answer for a setting. */
static inline bool cc_experiment_has_formula(const struct cc_experiment_setting *s)
{
    return s->formula == CC_FORMULA_HOLDS || s->formula == CC_FORMULA_ELSEWHERE;
}
/* Its hosts: as many, or fewer if servers are on workers' hosts. */
int cc_experiment_hosts(const struct cc_setting *s);
/* Whether the scheme sends uncompressed gradients in the setting (cc_exchange_plain). */
bool cc_experiment_is_plain(const struct cc_experiment *x, const struct cc_setting *s,
                            size_t scheme);
const char *cc_experiment_scheme(const struct cc_experiment *x,
                                 const struct cc_experiment_row *row);
/* Bytes of gradients, models, payloads and codec states of all ranks, which share this machine. The
 * buffers of sparse exchanges, also the several sets of ssar-auto, are reserved for the most pairs
 * and take memory only as far as streams fill them: they fit in with up to a tenth of the values;
 * ranks whose sums are dense take up to 2.4 times as much. */
size_t cc_experiment_bytes(const struct cc_setting *s);
/* Refuses settings for which this machine has too little memory, for them and `more` bytes. */
int cc_experiment_check_memory(const struct cc_setting *s, size_t more, struct cc_error *e);
/* Draws a factor on the compute time for every worker and every step of the longest row, if there
 * are stragglers. */
int cc_experiment_job_stragglers(const struct cc_setting *s, struct cc_job *job,
                                 struct cc_error *e);
/* Adds the costs of gathered parameters, which are encoded by their owners and decoded by all; p
 * NULL: none. */
int cc_experiment_job_weight_costs(const struct cc_step_payloads *p, struct cc_job_row *out,
                                   struct cc_error *e);
/* Adds the choices of ssar-auto to a row that has its messages, of a job whose tensors are laid
 * out; other exchanges have none. unions: of the row's scheme, or NULL. */
int cc_experiment_job_choices(const struct cc_setting *s, const struct cc_unions *unions,
                              const struct cc_job *job, struct cc_job_row *row, struct cc_error *e);

/* Sets *out to a job with the exchange, the cluster and the step of a setting, and neither tensors
 * nor rows. */
int cc_experiment_job_setting(const struct cc_setting *from, struct cc_job *out,
                              struct cc_error *e);
/* Makes the job of a setting, with everything in which run and sim agree. Free with cc_job_free,
 * also after an error if *out was zeroed before. */
int cc_experiment_job(const struct cc_experiment *x, const struct cc_experiment_setting *s,
                      struct cc_job *out, struct cc_error *e);

/* --- measuring --- */

/* Measures all settings, one after the other, with the notes on each. x->measured has the rows in
 * the order of the settings; after an error or an interrupt, those that were complete. */
int cc_experiment_all(struct cc_experiment *x, struct cc_error *e);
/* Takes what all commands take of a report: the MPI library's name, the place, the timeline. */
int cc_experiment_take_report(struct cc_experiment *x, const struct cc_report *report,
                              struct cc_error *e);

/* --- rows --- */

/* The ranks' report of a row, with the means of its rounds turned into those of a step; step_s, and
 * what belongs to tensors, remain those of rounds. */
struct cc_report_row cc_experiment_per_step(const struct cc_setting *s,
                                            const struct cc_report_row *got);
/* Adds what the ranks report of a setting's row, per step, to x->measured; the command sets its own
 * numbers in *out, which is valid until the next call. */
int cc_experiment_add_measured(struct cc_experiment *x, const struct cc_experiment_setting *s,
                               const struct cc_report_row *got, struct cc_measured_row **out,
                               struct cc_error *e);

/* Gives the setting's link what the measured hosts need for a message: its receiver is as late to
 * wake, and its sender as long busy, unless the link has a time of its own for that. */
void cc_experiment_use_host(double waking_s, double message_s, struct cc_setting *s);

/* Adds a row with the columns of its setting; sets *at to its index, as the next two. */
int cc_experiment_add_row(const struct cc_experiment *x, struct cc_record *r,
                          const struct cc_experiment_setting *s,
                          const struct cc_experiment_row *row, size_t *at, struct cc_error *e);
/* Sets the columns of a row's payload, of the parts of its step, and the model's step. */
void cc_experiment_print_parts(struct cc_record *r, size_t at, const struct cc_measured_row *m);
/* Adds a row to x->record with the columns that run and sim share: of a measured row, or of a dry
 * run. */
int cc_experiment_print_row(struct cc_experiment *x, const struct cc_measured_row *m, size_t *at,
                            struct cc_error *e);
int cc_experiment_print_dry_row(const struct cc_experiment *x, struct cc_record *r,
                                const struct cc_experiment_setting *s,
                                const struct cc_experiment_row *row, size_t *at,
                                struct cc_error *e);
/* Predicts a step of a setting from what a row of the scheme measured, as means over steps; bytes
 * of tensors are those of an exchange. */
int cc_experiment_predict(struct cc_forecast *f, size_t scheme, const struct cc_setting *s,
                          const struct cc_measured *m, struct cc_prediction *out,
                          struct cc_error *e);

/* --- notes, in x->record --- */

/* Notes on a setting, whose measured rows begin at `first`: the fastest, and which differ from the
 * model. */
int cc_experiment_note_setting(const struct cc_experiment *x, const struct cc_experiment_setting *s,
                               size_t first, struct cc_error *e);
/* Notes the gradients of the rows: of a trace, which of its steps and workers they use. */
int cc_experiment_note_gradients(const struct cc_experiment *x, struct cc_record *r,
                                 struct cc_error *e);

/* --- --timeline: the events that ranks report, as a file for trace viewers --- */

struct cc_timeline_output {
    struct cc_given given;
    const char *path;         /* NULL: not asked for, and nothing happens */
    struct cc_timeline *file; /* or NULL */
    char config[100];         /* "sim, alpha-beta": part of the rows' names */
    size_t rows;              /* in the file */
};
extern const struct cc_option cc_timeline_options[];

/* Creates the file if the options ask for it, before anything is measured. `config` may be replaced
 * until the first row. */
int cc_timeline_output_open(struct cc_timeline_output *t, const struct cc_args *args, bool dry_run,
                            const char *config, struct cc_error *e);
/* Adds the events of a rank in a row of a setting; ranks come in order. x->timeline must be set. */
int cc_timeline_output_add(const struct cc_experiment *x,
                           const struct cc_experiment_setting *setting,
                           const struct cc_report_events *events, struct cc_error *e);
/* Completes the file with the rows that it has, also after an error or an interrupt; without rows,
 * there will be no file. Notes its size in the record. Returns `status`, or an error of the file.
 */
int cc_timeline_output_close(struct cc_timeline_output *t, struct cc_record *record, int status,
                             struct cc_error *e);

#endif
