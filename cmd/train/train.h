/* The files of `commcomp train`: train.c parses the options; train_all.c has the trainings done
 * (netsim/inprocess/training.h); train_time.c says how long their steps take on a network;
 * train_rows.c turns all of it into rows and notes. */
#ifndef CC_CMD_TRAIN_TRAIN_H
#define CC_CMD_TRAIN_TRAIN_H

#include "cmd/cli/command.h"
#include "cmd/cli/progress.h"
#include "netsim/inprocess/training.h"
#include "models/predict.h"

/* The parsed options. */
struct cc_train_options {
    struct cc_training_config training; /* of every scheme and seed; these two are set later */
    struct cc_spec_list pull;           /* --pull-scheme: one, or none */
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
    struct cc_training_result *training; /* [scheme][seed] */
    struct cc_error *failed;             /* of each training; an empty text: none */
    char **checkpoint, **capture;        /* the file, or folder, of each; or NULL */
    struct cc_net *net;                  /* of the model's tensors, for predictions */
    bool *is_raw;                        /* of each tensor: travels as fp32 */
};

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
int cc_train_steps(const struct cc_train *t, size_t scheme, const struct cc_training_result *of,
                   const struct cc_link *link, struct cc_train_step *out, struct cc_error *e);

/* Trains every scheme with every seed. The first training that fails is the error. */
int cc_train_all(struct cc_train *t, struct cc_error *e);
void cc_train_all_free(struct cc_train *t);

/* Adds all rows: evaluations, then a summary of each scheme; and the notes. */
int cc_train_rows(const struct cc_train *t, struct cc_error *e);

#endif
