/* A training task: a net, or a linear model, on a data set, shared out over workers. It computes
 * the gradient of any worker in any step, and the score on the test samples; parameters belong to
 * the caller (model.h), who exchanges gradients and applies them. */
#ifndef CC_TRAIN_TASK_H
#define CC_TRAIN_TASK_H

#include <stdbool.h>

#include "train/data/data.h"
#include "train/model.h"

struct cc_task_config {
    const char *net;            /* as in struct cc_model_config, or of cc_linear_names */
    const struct cc_data *data; /* must outlive the task */
    size_t height, width;       /* the net's input; the samples are interpolated to it */
    size_t workers, batch;      /* samples of a worker in a step */
    size_t by_class;            /* shards of a worker, as in train/data/order.h; 0: i.i.d. */
    bool flip;                  /* augmentation, as in train/data/batch.h */
    size_t shift;
    uint64_t seed; /* for the samples' order, shards and augmentation, and for initial parameters */
    int threads;
    /* Linear models: the objective's l2 (train/linear/objective.h), and the coordinates of a worker
     * in a step of coordinate descent, or 0: gradients. */
    double l2;
    size_t coordinates;
};

struct cc_task;

/* Opens the data set as the net takes it: linear models take sparse rows. */
int cc_task_data(const char *net, const char *text, struct cc_data **out, struct cc_error *e);

/* Fails if the net cannot take the images, or the set is too small for a step. Close with
 * cc_task_close, which NULL is allowed for. */
int cc_task_open(const struct cc_task_config *config, struct cc_task **out, struct cc_error *e);
void cc_task_close(struct cc_task *t);

/* Belongs to the task. */
const struct cc_model_layout *cc_task_layout(const struct cc_task *t);
/* Steps of an epoch: a pass over the samples, or in coordinate descent over the coordinates. */
size_t cc_task_epoch(const struct cc_task *t);

/* Writes initial parameters and statistics. */
void cc_task_init(const struct cc_task *t, float *weights, float *stats);
/* A worker's step in parts, as those of a model (model.h): begin takes its batch, score follows the
 * whole forward pass. */
void cc_task_begin(struct cc_task *t, size_t step, size_t worker);
void cc_task_forward(struct cc_task *t, const float *weights, float *stats, size_t end);
struct cc_model_score cc_task_score(const struct cc_task *t);
void cc_task_backward(struct cc_task *t, const float *weights, float *gradient, size_t first);
/* All of it: writes the gradient of a worker's mean loss in a step, and updates its running
 * statistics. */
struct cc_model_score cc_task_gradient(struct cc_task *t, size_t step, size_t worker,
                                       const float *weights, float *stats, float *gradient);
/* The mean of `count` workers' running statistics of `stats` values each, one worker after the
 * other: what evaluations take. */
void cc_mean_stats(const float *all, size_t count, size_t stats, float *out);

/* A training has diverged with a loss beyond this, or one that is not finite. */
#define CC_DIVERGED_LOSS 1e4
enum { CC_DIVERGED_TEXT = 80 };
/* Whether it has, by a worker's loss in a step; writes the reason. */
bool cc_loss_diverged(double loss, size_t worker, char reason[CC_DIVERGED_TEXT]);

/* The score on all test samples. */
struct cc_model_score cc_task_test(struct cc_task *t, const float *weights, const float *stats);
/* The same with the objective of a linear model on all training samples; 0 for other nets. */
struct cc_task_result {
    double loss, accuracy, objective;
};
struct cc_task_result cc_task_evaluate(struct cc_task *t, const float *weights, const float *stats);

#endif
