/* The options of `commcomp train`: their table, and the struct that they fill. */
#ifndef CC_CMD_TRAIN_OPTIONS_OPTIONS_H
#define CC_CMD_TRAIN_OPTIONS_OPTIONS_H

#include <math.h>

#include "cmd/cli/command.h"
#include "cmd/input/cluster.h"
#include "cmd/input/hosts.h"
#include "cmd/sim/sim.h"
#include "models/recipe.h"
#include "netsim/inprocess/training.h"

/* Where the workers are. */
enum cc_train_place { CC_TRAIN_LOCAL, CC_TRAIN_RUN, CC_TRAIN_SIM };
extern const char *const cc_train_places[]; /* ends with NULL */

/* How long a training is, and what follows from that. */
struct cc_train_length {
    size_t steps, eval_every;
    struct cc_rate_schedule schedule; /* its rate is set later */
};

/* The frameworks of Pipe-SGD's comparison, in the order of a recipe that has them. */
enum { CC_PS_SYNC, CC_D_SYNC, CC_PIPE_SGD, CC_TRAIN_FRAMEWORKS = CC_RECIPE_FRAMEWORKS };

/* --show: the rows of the table. */
enum cc_train_show { CC_SHOW_ALL, CC_SHOW_ENDS, CC_SHOW_MEANS };

enum { CC_TRAIN_MOST_ITEMS = 32, CC_TRAIN_MOST_HOSTS = 1024, CC_TRAIN_MOST_SEEDS = 1000 };

/* The options, and what follows from them. */
struct cc_train_options {
    struct cc_given given;
    /* Options that `model` and `sim` have, too; of `cluster`, train has the options alone. */
    struct cc_cluster_args cluster;
    struct sim sim; /* --on sim: its network's options */
    struct cc_hosts hosts;
    struct cc_consistency_args consistency;
    const char *recipe, *paper, *net;
    const char *data;
    struct cc_shape input; /* n 0: that of the samples */
    size_t coordinates, svrg_steps;
    struct cc_train_step_counts {
        size_t item[CC_TRAIN_MOST_ITEMS], count;
    } steps; /* ascending */
    struct cc_train_rates {
        double item[CC_TRAIN_MOST_ITEMS];
        size_t count;
    } rates;
    int optimizer;   /* index in cc_train_optimizers */
    double momentum; /* as given; the optimizer has it as a float */
    double weight_decay, beta2;
    double last_rate; /* a share of the highest */
    enum cc_rate_kind schedule;
    uint64_t warmup;                /* UINT64_MAX: a tenth of the steps */
    size_t eval_every, evaluations; /* 0: by the length */
    bool quarters;                  /* trainings of 25, 50 and 75% of the steps, too */
    enum cc_train_show show;
    bool optimum;
    bool trial;
    double max_loss; /* --trial: accuracy that a scheme may lose */
    size_t seeds;
    int outer; /* index in cc_train_outers */
    double outer_rate, outer_momentum, outer_beta, quorum;
    double target; /* accuracy; NaN: none; training.target_loss is the other one */
    int threads;
    bool dry_run;
    const char *checkpoint, *capture, *capture_steps; /* folders, or NULL */
    int pull_what;                                    /* index in cc_train_pulls */
    const char *pull_scheme;                          /* or NULL */
    int system;                                       /* index in cc_train_systems; -1: none */
    const char *weight_scheme;                        /* or NULL */
    bool weight_differences, keep_params;
    const char *profile; /* --codec-time profile */
    enum cc_train_place on;
    /* Shared by all trainings. The task's batch, shards and augmentation, checkpoints and so on are
     * options; scheme, rate, length and seed are set later. */
    struct cc_training_config training;
    /* These follow from the options: */
    bool plain;                     /* on a network that is not shaped: --bw none */
    struct cc_train_length *length; /* those of --steps */
    size_t lengths;
    struct cc_spec_list pull;    /* --pull-scheme: one, or none */
    struct cc_spec_list weights; /* --weight-scheme: the same */
    uint64_t seed;
    bool scd;             /* --optimizer scd */
    struct cc_link *link; /* --bw x --latency; none: no network */
    size_t links;
    double compute_s;    /* --compute; NaN: as measured */
    double hidden_share; /* the part of it beside the exchange: a figure's, otherwise 0 */
};

/* The schemes of --system sdp4bit (Jia et al. 2024): of differences, and of
 * gradients inside hosts; between hosts, --scheme int4:block=128,hadamard=32. */
#define CC_TRAIN_SDP4BIT_WEIGHTS "int4:block=2048,rounding=nearest"
#define CC_TRAIN_SDP4BIT_INTRA   "int8:block=512,hadamard=32"

/* --trial: the net by default, and the null arm: a scheme that changes next to
 * nothing. */
#define CC_TRAIN_TRIAL_NET "resnet8"
#define CC_TRAIN_NULL_ARM  "fp16"

/* The outer optimizer's rate by default, but for the mean's, which is 1. */
#define CC_TRAIN_OUTER_RATE      0.7
#define CC_TRAIN_OUTER_RATE_TEXT "0.7" /* the same */

/* The name of an option of train's own, or of those that `model` has, if it was given; or NULL. */
#define CC_TRAIN_GIVEN(o, member)         cc_given(o, &(o)->member)
#define CC_TRAIN_CLUSTER_GIVEN(o, member) cc_given(&(o)->cluster, &(o)->cluster.member)

/* Whether all steps are bulk synchronous. */
static inline bool cc_train_is_bulk(const struct cc_train_options *o)
{
    return o->consistency.how.count == 1 && o->consistency.how.item[0] == CC_BULK;
}

/* The steps that a training counts as one. */
static inline size_t cc_train_counted_as_one(const struct cc_train_options *o)
{
    return o->training.local.steps > 0 ? o->training.local.steps : 1;
}

/* Reads all options. */
int cc_train_read_options(struct cc_args *args, struct cc_train_options *o, struct cc_error *e);

/* Parses "100,200" into a struct cc_train_step_counts: an option's parse. */
int cc_train_parse_steps(const char *text, void *member, struct cc_error *e);

/* Makes the links of --bw and --latency; without --bw, one of the usual rate. */
int cc_train_make_links(struct cc_train_options *o, struct cc_error *e);
/* Words of options; each list ends with NULL. */
extern const char *const cc_train_outers[], *const cc_train_figures[];
extern const char *const cc_train_optimizers[], *const cc_train_pulls[], *const cc_train_systems[];
extern const struct cc_option cc_train_own_options[];
extern const struct cc_option_use cc_train_uses[];

/* Whether there is a target, of accuracies or losses; and whether an evaluation reaches it. */
static inline bool cc_train_targets(const struct cc_train_options *o)
{
    return !isnan(o->target) || o->training.target_loss > 0;
}
static inline bool cc_train_reaches(const struct cc_train_options *o, const struct cc_evaluation *v)
{
    return o->training.target_loss > 0 ? v->loss <= o->training.target_loss
                                       : v->accuracy >= o->target;
}

#endif
