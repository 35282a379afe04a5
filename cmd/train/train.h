/* The files of `commcomp train`: train_options.c has the options and recipes; train.c parses them,
 * train_length.c those of the steps and train_pipe.c those of a pipeline, train_linear.c those of
 * linear models, train_svrg.c those of variance-reduced SGD and of optima; train_table.c has
 * SparCML's Table 2; train_paper.c sets those of a paper's figure, and has its numbers, and
 * train_frameworks.c those of Pipe-SGD's; train_all.c has the trainings done, in this process
 * (netsim/inprocess/training.h) or by ranks (train_ranks.c); train_time.c says how long their steps
 * take on a network, and train_costs.c how long codecs do in a simulation; train_messages.c cuts
 * steps into messages; train_consistency.c has steps that are not bulk synchronous, train_local.c
 * local steps; train_rows.c turns all of it into rows, whose columns train_columns.c has, and
 * train_notes.c into notes. */
#ifndef CC_CMD_TRAIN_TRAIN_H
#define CC_CMD_TRAIN_TRAIN_H

#include "cmd/cli/command.h"
#include "cmd/cli/progress.h"
#include "cmd/input/cluster.h"
#include "cmd/input/codec_models.h"
#include "cmd/input/hosts.h"
#include "cmd/sim/sim.h"
#include "models/predict.h"
#include "netsim/inprocess/training.h"
#include "train/linear/optimum.h"

/* Where the workers are. */
enum cc_train_place { CC_TRAIN_LOCAL, CC_TRAIN_RUN, CC_TRAIN_SIM };
extern const char *const cc_train_places[]; /* ends with NULL */

/* How long a training is, and what follows from that. */
struct cc_train_length {
    size_t steps, eval_every;
    struct cc_rate_schedule schedule; /* its rate is set later */
};

/* PS-Sync, D-Sync and Pipe-SGD. */
enum { CC_TRAIN_FRAMEWORKS = 3 };

/* A table or figure of a paper. */
struct cc_train_figure {
    const char *name, *title;
    const char *schemes, *bw; /* as options; bw: NULL without times */
    const char *columns;      /* of its table */
    bool quarters;            /* trainings of 25, 50, 75 and 100% of the steps */
    size_t points;            /* the evaluations of a training that it shows; 0: its end alone */
    bool summary;             /* with `points`, it shows the end alone */
    const char *says;         /* the paper's text about it; NULL: nothing but the numbers */
    /* For Pipe-SGD: the recipe, how often a training is evaluated, the share of a pipeline's steps
     * that are synchronous, the constant of the paper's table that has D-Sync's traffic over its
     * computing, and its accuracies in percent, by framework and scheme. */
    const char *recipe;
    size_t evaluations;
    double sync_share;
    const char *constant;
    double accuracy[CC_TRAIN_FRAMEWORKS][3];
};

enum { CC_TRAIN_MOST_ITEMS = 32, CC_TRAIN_MOST_HOSTS = 1024, CC_TRAIN_MOST_SEEDS = 1000 };

/* The options, and what follows from them. */
struct cc_train_options {
    struct cc_given given;
    /* Those that `model` and `sim` have, too; of `cluster`, train has the options alone. */
    struct cc_cluster_args cluster;
    struct sim sim; /* --on sim: its network's options */
    struct cc_hosts hosts;
    struct cc_consistency_args consistency;
    const char *recipe, *paper, *net;
    const char *data;      /* NULL: the net's default */
    struct cc_shape input; /* n 0: that of the samples */
    size_t batch, shift, by_class, coordinates, svrg_steps;
    struct cc_train_steps {
        size_t item[CC_TRAIN_MOST_ITEMS], count;
    } steps; /* ascending */
    struct cc_train_rates {
        double item[CC_TRAIN_MOST_ITEMS];
        size_t count;
    } rates;
    int optimizer;   /* of cc_train_optimizers */
    double momentum; /* as given; the optimizer has it as a float */
    double weight_decay;
    enum cc_rate_kind schedule;
    uint64_t warmup;   /* UINT64_MAX: a tenth of the steps */
    size_t eval_every; /* 0: by the length */
    bool flip, optimum, resume;
    size_t seeds;
    size_t local_steps, stream_parts, stream_delay; /* local_steps 0: none */
    int outer;                                      /* of cc_train_outers */
    double outer_rate, outer_momentum, stream_mix;
    double target; /* accuracy; NaN: none */
    int threads;
    const char *checkpoint, *capture, *capture_steps; /* folders, or NULL */
    size_t checkpoint_every, sync_steps;
    int pull_what;           /* of cc_train_pulls */
    const char *pull_scheme; /* or NULL */
    const char *profile;     /* --codec-time profile */
    enum cc_train_place on;
    /* What follows: */
    bool plain;                           /* on a network that is not shaped: --bw none */
    struct cc_training_config training;   /* of all; scheme, rate, length and seed are set later */
    const struct cc_train_figure *figure; /* --paper, or NULL */
    struct cc_train_length *length;       /* of --steps */
    size_t lengths;
    struct cc_spec_list pull; /* of --pull-scheme: one, or none */
    uint64_t seed;
    bool scd;             /* --optimizer scd */
    struct cc_link *link; /* --bw x --latency; none: no network */
    size_t links;
    double compute_s;            /* --compute; NaN: as measured */
    double hidden_share;         /* of it, beside the exchange: a figure's, otherwise 0 */
    double fuse_bytes;           /* --fuse, of gradients; < 0: not given */
    enum cc_placement placement; /* of tensors on several servers */
    enum cc_straggler straggler;
    double spread; /* of the stragglers' compute times */
};

/* The name of an option of train's own, or of those that `model` has, if it was given; or NULL. */
#define CC_TRAIN_GIVEN(o, member)         cc_given(o, &(o)->member)
#define CC_TRAIN_CLUSTER_GIVEN(o, member) cc_given(&(o)->cluster, &(o)->cluster.member)

struct cc_train {
    struct cc_args *args;
    struct cc_record *record;
    struct cc_train_options options;
    struct cc_data *data;
    struct cc_spec *raw; /* fp32 */
    /* [cc_train_links][variant][seed]. Weights and accuracies are the same over each link. */
    struct cc_training_result *training;
    struct cc_error *failed;      /* of each training; an empty text: none */
    char **checkpoint, **capture; /* [variant][seed]: the file, or folder, of each; or NULL */
    struct cc_net *net;           /* of the model's tensors, for predictions */
    bool *is_raw;                 /* of each tensor: travels as fp32 */
    /* --codec-time profile: the schemes that it has times of, which others own; else none. */
    struct cc_spec_list timed;
    struct cc_codec_models codecs;
    struct cc_message *message; /* --fuse; and --placement; or NULL */
    int *server;
    struct cc_linear_optimum optimum; /* --optimum; else all zeros */
    size_t epoch;                     /* steps */
    struct cc_paper *paper[2]; /* of a figure of 3LC: Table 1, for accuracies, and Table 2; of
                                  Pipe-SGD: its table alone */
    const struct cc_train *frameworks; /* [CC_TRAIN_FRAMEWORKS], of which this is one; or NULL */
    size_t framework;
};

/* A variant is a scheme with a learning rate, a length and a consistency: the schemes of one rate,
 * then those of the next, and all of one length, then those of the next, and so on. */
static inline size_t cc_train_variants(const struct cc_train *t)
{
    const struct cc_train_options *o = &t->options;
    return o->consistency.how.count * o->lengths * o->rates.count * t->args->schemes.count;
}

/* Whether all steps are bulk synchronous. */
static inline bool cc_train_is_bulk(const struct cc_train_options *o)
{
    return o->consistency.how.count == 1 && o->consistency.how.item[0] == CC_BULK;
}

/* Ranks train over each link by themselves, one process for all of them: bulk synchronous steps
 * compute the same over each. */
static inline size_t cc_train_links(const struct cc_train *t)
{
    const bool same = t->options.on == CC_TRAIN_LOCAL && cc_train_is_bulk(&t->options);
    return same || t->options.links == 0 ? 1 : t->options.links;
}

static inline const struct cc_spec *cc_train_spec(const struct cc_train *t, size_t variant)
{
    return t->args->schemes.item[variant % t->args->schemes.count];
}

static inline double cc_train_rate(const struct cc_train *t, size_t variant)
{
    return t->options.rates.item[variant / t->args->schemes.count % t->options.rates.count];
}

static inline const struct cc_train_length *cc_train_length(const struct cc_train *t,
                                                            size_t variant)
{
    const size_t at = variant / (t->args->schemes.count * t->options.rates.count);
    return &t->options.length[at % t->options.lengths];
}

static inline enum cc_consistency cc_train_consistency(const struct cc_train *t, size_t variant)
{
    const struct cc_train_options *o = &t->options;
    return o->consistency.how
        .item[variant / (t->args->schemes.count * o->rates.count * o->lengths)];
}

/* The scheme of what the server sends for a scheme of the pushes: that of --pull-scheme; otherwise
 * the same, or fp32 where it has momentum of its own, which would be applied twice. */
static inline const struct cc_spec *cc_train_pull(const struct cc_train *t,
                                                  const struct cc_spec *push)
{
    if (t->options.pull.count > 0)
        return t->options.pull.item[0];
    return cc_own_momentum(push->scheme, push->params) > 0 ? t->raw : push;
}

/* Parses "100,200" into a struct cc_train_steps: an option's parse. */
int cc_train_parse_steps(const char *text, void *member, struct cc_error *e);
/* Makes the lengths of --steps, the evaluations and of the rate over the steps, which follow from
 * it. */
int cc_train_parse_lengths(struct cc_train_options *o, struct cc_error *e);

/* --- convex problems --- */

/* --optimizer svrg: sets the options that are not given once the data are there; refuses what it
 * cannot go with; and, without it, --svrg-steps. */
int cc_train_svrg_defaults(struct cc_train *t, struct cc_error *e);
int cc_train_parse_svrg(struct cc_train_options *o, struct cc_error *e);
/* --optimum: finds it. */
int cc_train_find_optimum(struct cc_train *t, struct cc_error *e);
int cc_train_note_convex(const struct cc_train *t, struct cc_error *e);

/* --- local steps --- */

extern const char *const cc_train_outers[]; /* ends with NULL */
const char *cc_train_outer(const struct cc_local_config *c);

/* Parses --local-steps and the options that go with it, after the lengths, which must be whole
 * exchanges; and checks them once net, exchange and schemes are known. */
int cc_train_parse_local(struct cc_train_options *o, struct cc_error *e);
int cc_train_check_local(const struct cc_train *t, struct cc_error *e);
/* Makes each part of the net a message, the parts about equal. */
int cc_train_local_messages(struct cc_train *t, struct cc_error *e);
/* A training counts as many local steps as are made from one exchange to the next as one step: its
 * lengths are divided by them, and its results multiplied. Without local steps both do nothing. */
void cc_train_local_config(struct cc_training_config *c);
void cc_train_local_result(const struct cc_training_config *c, struct cc_training_result *of);

/* The steps that a training counts as one. */
static inline size_t cc_train_counted_as_one(const struct cc_train_options *o)
{
    return o->training.local.steps > 0 ? o->training.local.steps : 1;
}

/* --- figures of papers --- */

extern const char *const cc_train_figures[]; /* ends with NULL */

/* --paper: sets the options of the figure that are not given, before they are parsed; NULL if it is
 * not given. */
int cc_train_paper_set(struct cc_args *args, const struct cc_train_figure **out,
                       struct cc_error *e);
/* Opens the paper's tables, and sets the proportion of computing to traffic, once the net is known.
 */
int cc_train_paper_open(struct cc_train *t, struct cc_error *e);
void cc_train_paper_free(struct cc_train *t);
/* The paper's numbers beside those of a summary: all four NaN if it has none, as for a training
 * that is shorter than the standard steps. */
struct cc_train_printed {
    double accuracy, difference, speedup, bits;
};
struct cc_train_printed cc_train_paper_printed(const struct cc_train *t, size_t variant,
                                               const struct cc_link *link);
int cc_train_paper_notes(const struct cc_train *t, struct cc_error *e);

/* Parses the options of linear models, after the optimizer, the exchange and the consistency. */
int cc_train_parse_linear(struct cc_train_options *o, struct cc_error *e);

/* --- the frameworks of Pipe-SGD's figures --- */

extern const struct cc_train_figure cc_train_pipe_figures[]; /* ends with one without a name */

/* Trains all of them, and adds their rows. */
int cc_train_frameworks(struct cc_args *args, const struct cc_train_figure *figure,
                        struct cc_error *e);
/* Opens the paper's table, and sets the time of computing, once the net is known. */
int cc_train_framework_open(struct cc_train *t, struct cc_error *e);
/* NULL without frameworks, as the two with which others are compared, whose first scheme is fp32.
 */
const char *cc_train_framework_name(const struct cc_train *t);
const struct cc_train *cc_train_ps_sync(const struct cc_train *t);
const struct cc_train *cc_train_d_sync(const struct cc_train *t);
/* The paper's accuracy. */
double cc_train_framework_accuracy(const struct cc_train *t, size_t variant);
int cc_train_framework_notes(const struct cc_train *t, struct cc_error *e);

/* --data, or the default of the net. */
const char *cc_train_data(const struct cc_train_options *o);

/* Opens all that a training needs by the options, before it is done. Close it also after an error.
 */
int cc_train_open(struct cc_train *t, struct cc_error *e);
void cc_train_close(struct cc_train *t);

/* --paper with this table: measures, and adds its rows (train_table.c). */
#define CC_TRAIN_TABLE "sparcml-table2"
int cc_train_table(struct cc_args *args, struct cc_error *e);

/* Makes the links of --bw and --latency; without --bw, one of the usual rate. */
int cc_train_make_links(struct cc_train_options *o, struct cc_error *e);
/* Parses --on and the options of that place. */
int cc_train_parse_place(const struct cc_args *args, struct cc_train_options *o,
                         struct cc_error *e);

/* Trains as cc_training_run does, with ranks under MPI or in a simulation, over a link, or with
 * --bw none NULL. Residuals are not measured: NaN. */
int cc_train_by_ranks(const struct cc_train *t, const struct cc_training_config *c,
                      const struct cc_link *link, struct cc_training_result *out,
                      struct cc_error *e);

/* Parses --fuse, --placement and --stragglers, after the exchange. */
int cc_train_parse_messages(struct cc_train_options *o, struct cc_error *e);
/* Parses --consistency and its options, after the exchange, the place and --compute. */
int cc_train_parse_consistency(const struct cc_args *args, struct cc_train_options *o,
                               struct cc_error *e);
/* Parses --depth and --sync-steps, after the steps, the exchange and the place. */
int cc_train_parse_pipe(struct cc_train_options *o, struct cc_error *e);
/* The share of the steps from `from` to before `to` that are synchronous ones before a pipeline. */
double cc_train_sync_share(const struct cc_train *t, size_t from, size_t to);
/* Refuses schemes that its options do not go with. */
int cc_train_check_consistency(const struct cc_train *t, struct cc_error *e);
/* Sets the clocks of a training in this process over a link, or without one NULL, if it is not bulk
 * synchronous. *drawn has what they point to: its `slow` is to be freed. */
int cc_train_clocks(const struct cc_train *t, const struct cc_link *link,
                    struct cc_training_config *c, struct cc_job *drawn, struct cc_error *e);
/* The columns of the consistency in a row. */
int cc_train_put_consistency(const struct cc_train *t, size_t row, enum cc_consistency how,
                             struct cc_error *e);
/* The figures of steps that are not bulk synchronous, all until an evaluation; otherwise, and times
 * where no clock has them, NaN. */
struct cc_train_unsynced {
    double mean, p95, wait_s, updates_per_s;
};
struct cc_train_unsynced cc_train_unsynced(const struct cc_train *t, size_t variant,
                                           const struct cc_training_result *of, size_t at);
/* With --fuse and --placement, cuts the step into messages, and places the tensors. */
int cc_train_messages(struct cc_train *t, struct cc_error *e);

/* With --codec-time profile, opens the profile; and adds its times to the job of a training.
 * Without it, both do nothing. */
int cc_train_costs_open(struct cc_train *t, struct cc_error *e);
void cc_train_costs_free(struct cc_train *t);
int cc_train_costs(const struct cc_train *t, const struct cc_training_config *c,
                   const struct cc_link *link, struct cc_job *job, struct cc_error *e);

/* The columns of the record. */
extern const struct cc_column cc_train_columns[];
/* Sets a row's column `clock`, and with it the origin of its times. */
int cc_train_put_clock(struct cc_record *r, size_t row, const char *clock, struct cc_error *e);

/* The steps of a training on a link. */
struct cc_train_step {
    double compute_s, codec_s, comm_s, step_s;
    double time_s; /* from the beginning to the evaluation */
};

/* The threads that a training has. */
int cc_train_threads(const struct cc_train *t);

/* The training's steps over a link, for the formulas and for platforms. */
void cc_train_setting(const struct cc_train *t, const struct cc_link *link, struct cc_setting *out);

/* The link by which ssar-auto chooses: the first one, or without any the one that `model` has by
 * default. */
int cc_train_link_of_choices(const struct cc_train *t, struct cc_link *out, struct cc_error *e);

/* Sets the choices of ssar-auto in *out, to be freed, by the formulas for that link. Other
 * exchanges have none. */
int cc_train_choices(const struct cc_train *t, const struct cc_training_config *c,
                     struct cc_job_row *out, struct cc_error *e);

/* The time of a step's communication with fp32 on a link. */
int cc_train_raw_comm_s(const struct cc_train *t, const struct cc_link *link, double *out,
                        struct cc_error *e);

/* Predicts the steps of training `t` before each of its evaluations by the alpha-beta model, from
 * the sizes and codec times that were measured in it; those of ranks are as measured.
 * out[t->evals]. Without a link, times are those that this process took, and the others NaN. */
int cc_train_steps(const struct cc_train *t, size_t variant, const struct cc_training_result *of,
                   const struct cc_link *link, struct cc_train_step *out, struct cc_error *e);

/* Trains every variant with every seed, and with ranks over every link. After one that fails none
 * begins; those under way and those before have rows. cc_train_failure then has its error. */
int cc_train_all(struct cc_train *t, struct cc_error *e);
int cc_train_failure(const struct cc_train *t, struct cc_error *e);
void cc_train_all_free(struct cc_train *t);

/* Adds all rows: evaluations, then a summary of each variant; and the notes. */
int cc_train_rows(const struct cc_train *t, struct cc_error *e);
int cc_train_notes(const struct cc_train *t, struct cc_error *e);

extern const char *const cc_train_optimizers[], *const cc_train_pulls[];
extern const struct cc_option cc_train_own_options[];
extern const struct cc_option_use cc_train_uses[];

/* Sets the options of a recipe that are not given, and returns its schemes. */
const char *cc_train_apply_recipe(struct cc_args *args, const char *recipe);

/* The options that recipes set where they are not given; ends with one without a recipe. */
struct cc_train_preset {
    const char *recipe, *option, *value;
};
extern const struct cc_train_preset cc_train_presets[];

#endif
