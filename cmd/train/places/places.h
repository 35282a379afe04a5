/* Places: the trainings done, in this process (netsim/inprocess/training.h) or by ranks. */
#ifndef CC_CMD_TRAIN_PLACES_PLACES_H
#define CC_CMD_TRAIN_PLACES_PLACES_H

#include "cmd/train/train.h"

/* The threads that a training has. */
int cc_train_threads(const struct cc_train *t);

/* Trains every variant with every seed, and with ranks over every link. After one that fails none
 * begins; those under way and those before have rows. cc_train_failure then has its error. */
int cc_train_all(struct cc_train *t, struct cc_error *e);
/* --dry-run: notes how long cc_train_all would take, by the time of a few steps of each variant. */
int cc_train_dry(struct cc_train *t, struct cc_error *e);
int cc_train_failure(const struct cc_train *t, struct cc_error *e);
void cc_train_all_free(struct cc_train *t);

/* Trains as cc_training_run does, with ranks under MPI or in a simulation, over a link, or with
 * --bw none NULL. Residuals are not measured: NaN. */
int cc_train_by_ranks(const struct cc_train *t, const struct cc_training_config *c,
                      const struct cc_link *link, struct cc_training_result *out,
                      struct cc_error *e);

#endif
