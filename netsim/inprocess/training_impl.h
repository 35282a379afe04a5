/* The parts of a training in one process, for the files training*.c alone: training.c has its
 * steps, training_evaluate.c its evaluations, training_clocks.c those that are not bulk
 * synchronous, training_layers.c those whose parameters are divided, training_save.c its
 * checkpoints. */
#ifndef CC_NETSIM_INPROCESS_TRAINING_IMPL_H
#define CC_NETSIM_INPROCESS_TRAINING_IMPL_H

#include "netsim/inprocess/collectives.h"
#include "netsim/inprocess/inprocess.h"
#include "netsim/inprocess/training.h"
#include "netsim/inprocess/training_log.h"
#include "netsim/inprocess/unsent.h"
#include "train/learner.h"
#include "train/local_steps.h"
#include "train/shard.h"

/* One training, by a single process. */
struct cc_training {
    const struct cc_training_config *config;
    struct cc_training_result *out;
    struct cc_task *task;
    const struct cc_model_layout *layout;
    struct cc_job job;
    struct cc_inprocess *exchange;
    size_t values;
    float *weights;            /* the workers' */
    float *server;             /* NULL: the same; of shards, which keep it */
    struct cc_learner learner; /* for the server's copy, or the workers' */
    struct cc_shard shard;     /* those of all workers; or nothing */
    float *gradients;          /* [workers][values]; not CC_BULK: of one worker */
    const float **gradient;
    float *mean;      /* the workers receive it: the mean gradient, or in a pipeline the deltas;
                         CC_BULK only */
    float **delayed;  /* [depth - 1] of a pipeline: what they have received and not applied, that of
                         step t at t modulo them */
    uint64_t applied; /* a pipeline: the step that is applied next */
    struct cc_training_svrg *svrg; /* or NULL */
    struct cc_training_layers
        *layers; /* parameters are divided, too (training_layers.c); or NULL */
    /* With local steps the gradients are differences of parameters. */
    struct cc_local_steps local;
    float *own;                  /* [workers][cc_local_floats]; NULL: there are none */
    float *slope;                /* [values]: a worker's gradient in a local step */
    float *stats, *worker_stats; /* the mean; [workers][stats] */
    float *pulled; /* captured steps: what the server is about to encode; NULL: no servers, or no
                      capture */
    bool measures_push, measures_pull; /* residuals */
    struct cc_unsent unsent;           /* the unsent part of the pushes */
    struct cc_training_log log;        /* its sums of squares of the pushes: when it is saved */
    uint64_t saved;                    /* the step of the last checkpoint; 0: none */
};

/* Ends the training by divergence in the step under way. */
void cc_training_diverge(struct cc_training *s, const char *reason);
/* Scores the parameters, and appends the evaluation of the steps since the one before. */
int cc_training_evaluate(struct cc_training *s, struct cc_error *e);
/* Shows that `steps` more steps have ended, the last one with this loss. */
void cc_training_show(const struct cc_training *s, size_t steps, double loss);
/* The steps of a training that is not CC_BULK, in training_clocks.c. */
int cc_training_by_clocks(struct cc_training *s, struct cc_error *e);

/* The loss of a worker in a step, the mean over its local steps, and its hits likewise. */
struct cc_training_batch {
    double loss, correct;
};

/* Local steps (training_local.c): makes room for the workers' own parameters; makes one worker's
 * steps up to the next exchange, and writes the difference that it sends. */
int cc_training_local_open(struct cc_training *s, struct cc_error *e);
struct cc_training_batch cc_training_local_compute(struct cc_training *s, size_t worker);

/* Variance-reduced SGD (training_svrg.c), if config->svrg_steps: before the vectors of a step,
 * which begins an epoch with an exchange; a worker's vector; and after the update. Without it there
 * is nothing to close. */
int cc_training_svrg_open(struct cc_training *s, struct cc_error *e);
void cc_training_svrg_close(struct cc_training *s);
int cc_training_svrg_begin(struct cc_training *s, struct cc_error *e);
struct cc_training_batch cc_training_svrg_compute(struct cc_training *s, size_t worker);
void cc_training_svrg_end(struct cc_training *s);

/* Parameters that are divided, too (training_layers.c), if config->collectives: before a step's
 * gradients, the workers gather what they compute with; after them they reduce, and update what
 * each owns. The last two: CC_DIVERGED as cc_inprocess_exchange. */
int cc_training_layers_open(struct cc_training *s, struct cc_error *e);
void cc_training_layers_close(struct cc_training *s);
int cc_training_layers_gather(struct cc_training *s, struct cc_error *e);
int cc_training_layers_reduce(struct cc_training *s, struct cc_error *e);
/* *out: the parameters that the next step gathers, until cc_training_layers_forget; the training
 * stays as it is. */
int cc_training_layers_copy(struct cc_training *s, const float **out, struct cc_error *e);
void cc_training_layers_forget(struct cc_training *s);
/* Before a checkpoint is written: parameters that are not kept become the main ones. */
void cc_training_layers_save(struct cc_training *s);
const struct cc_pack_list *cc_training_layers_packs(const struct cc_training *s, int worker);

/* Writes the checkpoint of config->checkpoint, after whole steps. */
int cc_training_save(struct cc_training *s, struct cc_error *e);
/* Continues from it, if there is one: state and evaluations are then those after its last step. A
 * checkpoint of a training with other settings, or on other data, is an error that names the first
 * one that differs. */
int cc_training_load(struct cc_training *s, struct cc_error *e);

#endif
