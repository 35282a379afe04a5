/* Times: how long the steps of a training take on a network, and its codecs in a simulation. */
#ifndef CC_CMD_TRAIN_TIMES_TIMES_H
#define CC_CMD_TRAIN_TIMES_TIMES_H

#include "cmd/train/train.h"

/* With --codec-time profile, opens the profile; and adds its times to the job of a training.
 * Without it, both do nothing. */
int cc_train_costs_open(struct cc_train *t, struct cc_error *e);
void cc_train_costs_free(struct cc_train *t);
int cc_train_costs(const struct cc_train *t, const struct cc_training_config *c,
                   const struct cc_link *link, struct cc_job *job, struct cc_error *e);

/* The steps of a training on a link. */
struct cc_train_step {
    double compute_s, codec_s, comm_s, step_s;
    double time_s; /* from the beginning to the evaluation */
};

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

#endif
