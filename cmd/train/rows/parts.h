/* The columns that rows of evaluations, of their means over seeds and of summaries share. `link`:
 * by which times are computed, one of the options' links, or NULL. */
#ifndef CC_CMD_TRAIN_ROWS_PARTS_H
#define CC_CMD_TRAIN_ROWS_PARTS_H

#include "cmd/train/times/times.h"
#include "cmd/train/train.h"

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

/* A worker's payload bytes in both directions up to an evaluation, and the mean of a linear model's
 * objectives at the evaluations until then. */
double cc_train_bytes_until(const struct cc_training_result *of, size_t eval);
double cc_train_mean_objective(const struct cc_training_result *of, size_t eval);

#endif
