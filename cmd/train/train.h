/* The files of `commcomp train`: train.c parses the options; train_all.c has the trainings done
 * (netsim/inprocess/training.h); train_time.c says how long their steps take on a network;
 * train_rows.c turns all of it into rows, and
 * train_notes.c into notes. */
#ifndef CC_CMD_TRAIN_TRAIN_H
#define CC_CMD_TRAIN_TRAIN_H

#include "cmd/cli/command.h"
#include "cmd/cli/progress.h"
#include "netsim/inprocess/training.h"
#include "models/predict.h"

/* The parsed options. */
struct cc_train_options {
    struct cc_training_config training; /* of all; scheme, rate and seed are set later */
    const char *recipe;                 /* --recipe, or NULL */
    double *rate;                       /* --rate */
    size_t rates;
    struct cc_spec_list pull; /* --pull-scheme: one, or none */
    uint64_t seed;
    size_t seeds;
    int threads;
    double momentum;      /* as given; the optimizer has it as a float */
    double target;        /* accuracy; NaN: none */
    struct cc_link *link; /* --bw x --latency; none: no network */
    size_t links;
    double compute_s;                 /* --compute; NaN: as measured */
    const char *checkpoint, *capture; /* folders, or NULL */
};

struct cc_train {
    const struct cc_args *args;
    struct cc_record *record;
    struct cc_train_options options;
    struct cc_data *data;
    struct cc_spec *raw;                 /* fp32 */
    struct cc_training_result *training; /* [variant][seed] */
    struct cc_error *failed;             /* of each training; an empty text: none */
    char **checkpoint, **capture;        /* the file, or folder, of each; or NULL */
    struct cc_net *net;                  /* of the model's tensors, for predictions */
    bool *is_raw;                        /* of each tensor: travels as fp32 */
};

/* A variant is a scheme with a learning rate: the schemes of one rate, then those of the next. */
static inline size_t cc_train_variants(const struct cc_train *t)
{
    return t->options.rates * t->args->schemes.count;
}

static inline const struct cc_spec *cc_train_spec(const struct cc_train *t, size_t variant)
{
    return t->args->schemes.item[variant % t->args->schemes.count];
}

static inline double cc_train_rate(const struct cc_train *t, size_t variant)
{
    return t->options.rate[variant / t->args->schemes.count];
}

/* The columns of the record. */
extern const struct cc_column cc_train_columns[];

/* The steps of a training on a link. */
struct cc_train_step {
    double compute_s, codec_s, comm_s, step_s;
    double time_s; /* from the beginning to the evaluation */
};

/* The threads that a training has. */
int cc_train_threads(const struct cc_train *t);

/* Predicts the steps of training `t` before each of its evaluations by the alpha-beta model, from
 * the sizes and codec times that were measured in it. out[t->evals]. Without a link, times are
 * those that this process took, and the others NaN. */
int cc_train_steps(const struct cc_train *t, size_t variant, const struct cc_training_result *of,
                   const struct cc_link *link, struct cc_train_step *out, struct cc_error *e);

/* Trains every variant with every seed. The first training that fails is the error. */
int cc_train_all(struct cc_train *t, struct cc_error *e);
void cc_train_all_free(struct cc_train *t);

/* Adds all rows: evaluations, then a summary of each variant; and the notes. */
int cc_train_rows(const struct cc_train *t, struct cc_error *e);
int cc_train_notes(const struct cc_train *t, struct cc_error *e);

/* The options that recipes set where they are not given; ends with one without a recipe. */
struct cc_train_preset {
    const char *recipe, *option, *value;
};
extern const struct cc_train_preset cc_train_presets[];

#endif
