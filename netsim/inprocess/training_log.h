/* The figures of a training under way, in this process or of ranks, and their texts in checkpoints.
 */
#ifndef CC_NETSIM_INPROCESS_TRAINING_LOG_H
#define CC_NETSIM_INPROCESS_TRAINING_LOG_H

#include "netsim/inprocess/checkpoint.h"
#include "netsim/inprocess/training.h"

struct cc_training_log {
    uint64_t step; /* number of steps that have ended */
    struct cc_evaluation *eval;
    size_t evals, capacity;
    /* Since the last evaluation: */
    size_t since;             /* steps */
    struct cc_evaluation sum; /* the sum of their figures; push_bytes: for all workers */
    /* Sums of squares over them, of residuals and of what they are relative to: of the pushes
     * (struct cc_unsent), and of the pulls. NaN: not measured in all of these steps. */
    double unsent_sq, gradient_sq, behind_sq, delta_sq;
    double wall_s;     /* all steps' */
    char version[256]; /* of the programs that the steps are by, if they are several; or "" */
};

/* The evaluation that ends the steps since the last one: their means, without scores and residuals.
 * The sums start again from zero. */
struct cc_evaluation cc_training_log_end(struct cc_training_log *l, size_t workers);
/* Appends an evaluation. */
int cc_training_log_add(struct cc_training_log *l, const struct cc_evaluation *v,
                        struct cc_error *e);
void cc_training_log_free(struct cc_training_log *l);

/* All that decides the weights of a training, a line each; to be freed. */
int cc_training_settings(const struct cc_training_config *c, char **out, struct cc_error *e);

/* Writes a checkpoint of the arrays and the log (checkpoint.h). */
int cc_training_log_save(const struct cc_training_log *l, const char *settings,
                         const struct cc_checkpoint *arrays, const char *path, struct cc_error *e);
/* Reads the log of a checkpoint into *out, which was zeroed before; free it also after an error. A
 * checkpoint of a training with other settings is an error that names the first one that differs,
 * as is one of more than `steps` steps. */
int cc_training_log_read(const struct cc_checkpoint_file *f, const char *settings, size_t steps,
                         struct cc_training_log *out, struct cc_error *e);

#endif
