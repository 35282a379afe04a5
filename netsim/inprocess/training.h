/* One training: a scheme and a seed, in this process, which plays all workers and the server. */
#ifndef CC_NETSIM_INPROCESS_TRAINING_H
#define CC_NETSIM_INPROCESS_TRAINING_H

#include "core/collective.h"
#include "core/exchange.h"
#include "core/unions.h"
#include "netsim/job/evaluation.h"
#include "netsim/job/job.h"
#include "netsim/transport/process.h"
#include "schemes/spec.h"
#include "train/learner.h"
#include "train/local_steps.h"
#include "train/task.h"

/* The simulated clocks of workers and servers that are not bulk synchronous: how long computing and
 * messages take. In an order that follows from them alone, pushes arrive. */
struct cc_training_clocks {
    double compute_s;     /* a step's */
    double forward_share; /* its share; the rest is the backward pass */
    const double *share;  /* [tensors]: of the backward pass */
    const double *slow;   /* [workers][steps]: factors on computing; NULL: 1 */
    struct cc_process_links links;
};

struct cc_training_config {
    struct cc_task_config task;
    enum cc_exchange exchange;
    enum cc_via via;
    int servers;           /* for an exchange that has any */
    int dense_bits;        /* bits of a value in the second stage of an exchange that has one */
    enum cc_element dtype; /* that gradients, or differences, are rounded to */
    int per_host;          /* workers of a host, which their number is a multiple of; 0: 1 */
    const char *gather;    /* CC_X_STAGES: the scheme of sums, or of shards' parameters; NULL: that
                              of gradients */
    enum cc_shards shards; /* CC_X_STAGES, CC_BULK, without local steps; not CC_PIPE */
    /* With shards: those of a system whose parameters are divided, too, and gathered by `gather`
     * before they are used; the messages are its units. Count 0: none. CC_TWOSHOT only. */
    struct cc_collectives collectives;
    const char *intra_scheme; /* CC_X_INSIDE: that of gradients inside hosts; or NULL */
    enum cc_stage_exchange inner_exchange, outer_exchange; /* CC_X_INSIDE */
    int parts; /* CC_X_RECODES: in which messages are exchanged; 0: 1 */
    /* Exchanges with CC_X_CHOOSES: as in struct cc_job_row; otherwise none. */
    const struct cc_job_choice *choice;
    size_t choices;
    enum cc_step_mode mode;
    /* ps with `deltas`. Other than CC_BULK, the server applies the optimizer to each push as it
     * arrives, at 1 / workers of the rate, so that as many pushes as there are workers move the
     * parameters as far as a bulk synchronous step; and sends each worker all that has changed
     * since its last pull. Every worker makes `steps` steps. Checkpoints and captures are of
     * CC_BULK alone. */
    enum cc_consistency consistency;
    int staleness; /* CC_STALE */
    enum cc_communicate communicate;
    double growth;                    /* CC_AT_NORM */
    struct cc_training_clocks clocks; /* not CC_BULK, in one process */
    /* CC_PIPE: Pipe-SGD's K, from 2 on; and the steps at the beginning that are synchronous. */
    size_t depth, sync_steps;
    /* The row's messages, in the order in which they leave; none: CC_OVERLAP: one for each tensor,
     * otherwise one for the step. */
    const struct cc_message *message;
    size_t messages;
    const int *server; /* [tensors]: the one that keeps it; NULL: each is cut over all */
    size_t tensors;
    /* ps: the server applies the optimizer and the workers pull model deltas (3LC, figure 2); else
     * they pull the mean gradient, and every worker applies the optimizer. */
    bool deltas;
    const struct cc_spec *spec, *raw, *pull; /* pull: of what the server sends */
    struct cc_optimizer optimizer;           /* without momentum for a scheme that has its own */
    struct cc_rate_schedule rate;
    double clip; /* of the mean gradient, as in struct cc_learner_config; CC_BULK only */
    /* With local steps a step of the training is as many of them as are made from one exchange to
     * the next. The optimizer above is then the workers', and its schedule counts local steps. The
     * row's messages are the parts. */
    struct cc_local_config local;
    /* Variance-reduced SGD (train/linear/svrg.h): the steps of an epoch; 0: gradients are sent. For
     * logistic regression without deltas; the optimizer is SGD without momentum and decay. */
    size_t svrg_steps;
    const double *optimum; /* parameters to measure the distance from; or NULL */
    size_t steps, eval_every;
    double target_loss; /* CC_BULK: ends with the first evaluation up to this loss; 0: with steps */
    size_t min_size;    /* tensors with fewer values travel as fp32 */
    /* And so do those whose names match one of these patterns of the shell (fnmatch), with commas
     * between them; or NULL. */
    const char *raw_names;
    /* The file of the checkpoint, written after every checkpoint_every steps, at the end and when
     * the training is interrupted; NULL: none. resume: continues from it if it is there, and ends
     * with the same weights and evaluations, bit for bit, but times. */
    const char *checkpoint;
    size_t checkpoint_every;
    bool resume;
    /* The folder to which the steps [capture_from, capture_to), from 0, are written as a trace:
     * what the workers, and the server, would encode if their codecs had no states; NULL: none. */
    const char *capture;
    size_t capture_from, capture_to;
    /* Called after every step with 1, or with the steps that a checkpoint has; accuracy: at the
     * last evaluation, NaN before, and with ranks the loss, too. */
    void (*progress)(void *arg, const char *scheme, size_t steps, double loss, double accuracy);
    /* A trial, CC_BULK only: the result has the losses of all steps, and this is called after each
     * with those so far; if it returns true, the training ends early. NULL: no trial. */
    bool (*is_behind)(void *arg, const struct cc_training_config *c, const double *loss,
                      size_t steps);
    void *arg;
};

struct cc_training_result {
    struct cc_evaluation *eval;
    size_t evals;
    size_t epoch;      /* steps */
    size_t resumed;    /* steps that were read from a checkpoint; 0: none was there */
    char version[256]; /* of the programs that the steps are by, if they are several; or "" */
    bool complete, diverged;
    size_t diverged_step; /* from 1 */
    /* A trial: the workers' mean loss in each of its steps, and how many it has; after how many it
     * was ended early, 0: it was not. */
    double *loss;
    size_t losses, ended_step;
    char reason[512];     /* why it has diverged */
    uint32_t weights_crc; /* the workers' copy's at the end; not CC_BULK: the server's */
    double peak_bytes;    /* a simulation's memory; 0: not known */
    /* The workers' gradients in the step before the last evaluation, of a linear model in this
     * process; otherwise none. */
    struct cc_unions unions;
};

/* Whether a tensor travels as fp32, by its size or its name. */
bool cc_training_is_raw(const struct cc_training_config *config,
                        const struct cc_tensor_info *tensor);
/* Whether the first pattern of *names matches the name; *names goes on behind it and its comma, and
 * is NULL after the last one. */
bool cc_training_raw_name(const char **names, const char *name);

/* Trains until the last step, Ctrl-C or divergence, which is a result. *out was zeroed before; free
 * it with cc_training_free, also after an error. */
int cc_training_run(const struct cc_training_config *config, struct cc_training_result *out,
                    struct cc_error *e);
void cc_training_free(struct cc_training_result *t);

#endif
