/* The columns that rows of evaluations, of their means over seeds and of summaries share. `link`:
 * by which times are computed, one of the options' links, or NULL. */
#ifndef CC_CMD_TRAIN_ROWS_PARTS_H
#define CC_CMD_TRAIN_ROWS_PARTS_H

#include "cmd/train/times/times.h"
#include "cmd/train/train.h"

/* Sums over the evaluations of one training, from its first on; all zero before. */
struct cc_train_sums {
    size_t evals, step;     /* how many, and the step of the last */
    double bytes;           /* a worker's payloads in both directions */
    double objective;       /* of a linear model */
    double updates, wait_s; /* of steps that are not bulk synchronous */
};
/* Adds the evaluation that follows. */
void cc_train_sum(struct cc_train_sums *s, const struct cc_evaluation *v);

/* The figures of steps that are not bulk synchronous, all until the last evaluation of the sums;
 * otherwise, and times where no clock has them, NaN. */
struct cc_train_unsynced {
    double mean, p95, wait_s, updates_per_s;
};
struct cc_train_unsynced cc_train_unsynced(const struct cc_train *t, size_t variant,
                                           const struct cc_training_result *of,
                                           const struct cc_train_sums *sums);

/* Adds a row of a kind (eval, mean, summary) with the settings of a variant. */
int cc_train_new_row(const struct cc_train *t, size_t variant, const struct cc_link *link,
                     const char *kind, size_t *row, struct cc_error *e);

/* Sizes in bits, from a worker's bytes of a step; pull NaN without servers. */
void cc_train_put_sizes(const struct cc_train *t, size_t row, const struct cc_spec *spec,
                        double push, double pull);
/* The objective of a linear model and its mean over evaluations, and its times of a pass. */
void cc_train_put_linear(const struct cc_train *t, size_t row, double objective,
                         double objective_mean, double distance, const struct cc_train_step *step);
/* The losses of a language model, in bits. */
void cc_train_put_bits(const struct cc_train *t, size_t row, double loss, double workers);

#endif
