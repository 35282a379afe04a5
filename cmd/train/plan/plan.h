/* A training's plan: what follows from its options, checked, before anything is trained. */
#ifndef CC_CMD_TRAIN_PLAN_PLAN_H
#define CC_CMD_TRAIN_PLAN_PLAN_H

#include "cmd/train/train.h"

/* Checks all options, and makes of them what follows. */
int cc_train_plan(struct cc_train *t, struct cc_error *e);

/* Makes the lengths of --steps, the evaluations and of the rate over the steps, which follow from
 * it. */
int cc_train_parse_lengths(struct cc_train_options *o, struct cc_error *e);

/* --- convex problems --- */

/* --optimizer svrg: sets the options that are not given once the data are there; refuses what it
 * cannot go with; and, without it, --svrg-steps. */
int cc_train_svrg_defaults(struct cc_train *t, struct cc_error *e);
int cc_train_parse_svrg(struct cc_train_options *o, struct cc_error *e);
/* --optimum: finds it. */
int cc_train_find_optimum(struct cc_train *t, struct cc_error *e);
int cc_train_note_convex(const struct cc_train *t, struct cc_error *e);

/* --- trials --- */

/* --trial: what the options are that are not given; refuses those that it cannot go with; and makes
 * the schemes, fp32 first and the null arm second, then those of --scheme or, without it, one or
 * more of each kind that the exchange carries. Without --trial they do nothing. */
void cc_train_trial_defaults(struct cc_train_options *o);
int cc_train_check_trial(const struct cc_train_options *o, struct cc_error *e);
int cc_train_trial_schemes(struct cc_train *t, struct cc_error *e);

/* --- local steps --- */

const char *cc_train_outer(const struct cc_train_options *o);
/* With a quorum: what a worker's difference is multiplied with while it is kept: 1, and with
 * --outer ef as the scheme's residual. */
double cc_train_kept(const struct cc_train *t, const struct cc_spec *spec);
/* --outer ef: gives the residuals of all schemes the decay --beta, or refuses those without. */
int cc_train_feed_back(struct cc_train *t, struct cc_error *e);

/* Checks --local-steps and the options that go with it, after the lengths, which must be whole
 * exchanges; and checks them once net, exchange and schemes are known. */
int cc_train_parse_local(struct cc_train_options *o, struct cc_error *e);
int cc_train_check_local(const struct cc_train *t, struct cc_error *e);
/* Makes each part of the net a message, the parts about equal. */
int cc_train_local_messages(struct cc_train *t, struct cc_error *e);
/* A training counts as many local steps as are made from one exchange to the next as one step: its
 * lengths are divided by them, and its results multiplied. Without local steps both do nothing. */
void cc_train_local_config(struct cc_training_config *c);
void cc_train_local_result(const struct cc_training_config *c, struct cc_training_result *of);

/* Refuses more coordinates than a worker's slice of the features has. */
int cc_train_check_coordinates(size_t coordinates, size_t features, size_t workers,
                               struct cc_error *e);
/* Checks the options of linear models, after the optimizer, the exchange and the consistency. */
int cc_train_parse_linear(struct cc_train_options *o, struct cc_error *e);

/* --system: its exchange and schemes where none are given, before the exchange is parsed; its other
 * options, after the exchange, the consistency and local steps; schemes that it does not take. */
void cc_train_choose_system(struct cc_train_options *o);
int cc_train_parse_system(struct cc_train_options *o, struct cc_error *e);
int cc_train_check_system(const struct cc_train *t, struct cc_error *e);
/* The one of models/system.h; NULL: none. */
const struct cc_system *cc_train_system(const struct cc_train_options *o);
/* How often a step gathers parameters. */
int cc_train_gathers(const struct cc_training_config *c);

/* Checks --on and the options of that place, and makes its links. */
int cc_train_parse_place(const struct cc_args *args, struct cc_train_options *o,
                         struct cc_error *e);

/* Checks --placement and --stragglers, after the exchange. */
int cc_train_check_messages(const struct cc_train_options *o, struct cc_error *e);
/* Parses --consistency and its options, after the exchange, the place and --compute. */
int cc_train_parse_consistency(const struct cc_args *args, struct cc_train_options *o,
                               struct cc_error *e);
/* Takes --depth and --sync-steps, after the steps, the exchange and the place. */
int cc_train_parse_pipe(struct cc_train_options *o, struct cc_error *e);
/* The share of the steps from `from` to before `to` that are synchronous ones before a pipeline. */
double cc_train_sync_share(const struct cc_train *t, size_t from, size_t to);
/* Refuses schemes that its options do not go with. */
int cc_train_check_consistency(const struct cc_train *t, struct cc_error *e);
/* Sets the clocks of a training in this process over a link, or without one NULL, if it is not bulk
 * synchronous. *drawn has what they point to: its `slow` is to be freed. */
int cc_train_clocks(const struct cc_train *t, const struct cc_link *link,
                    struct cc_training_config *c, struct cc_job *drawn, struct cc_error *e);
/* The columns of the consistency in a row. */
int cc_train_put_consistency(const struct cc_train *t, size_t row, enum cc_consistency how,
                             struct cc_error *e);
/* With --fuse and --placement, cuts the step into messages, and places the tensors. */
int cc_train_messages(struct cc_train *t, struct cc_error *e);

/* The training's steps over a link, for the formulas and for platforms. */
void cc_train_setting(const struct cc_train *t, const struct cc_link *link, struct cc_setting *out);

#endif
