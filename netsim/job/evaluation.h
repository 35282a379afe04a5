/* An evaluation: how well a training does after one of its steps. */
#ifndef CC_NETSIM_JOB_EVALUATION_H
#define CC_NETSIM_JOB_EVALUATION_H

#include <stddef.h>

/* An evaluation, and means per step since the one before. Checkpoints have the members
 * that bulk synchronous steps have (netsim/inprocess/training_log.c). */
struct cc_evaluation {
    size_t step;                         /* the number of steps before it */
    double train_loss, train_accuracy;   /* on the training batches, before their update */
    double loss, accuracy;               /* on the test samples, of the server's copy, */
    double worker_loss, worker_accuracy; /* and of the workers' */
    double objective; /* a linear model's on all training samples, by the server's copy; else 0 */
    double distance;  /* the workers' parameters' from the optimum, relative to its norm, where one
                         process knows it; else NaN */
    double push_bytes, pull_bytes;              /* payload of a worker's push; of the pull, or 0 */
    double encode_s, hop_s, server_s, decode_s; /* codecs, as in struct cc_inprocess_step */
    double compute_s, update_s;                 /* a worker's; one update's */
    /* With error feedback, otherwise NaN: norms of what has been computed and has not arrived, and
     * of what the workers' parameters lack beside the server's, relative to the gradients and to
     * the model deltas; roots of sums of squares over the steps since the one before. Ranks do not
     * measure them. */
    double residual, pull_residual;
    double wall_s; /* since the beginning, without evaluations */
    /* Where steps are not bulk synchronous, otherwise 0; checkpoints have none of them. Updates of
     * the server's parameters by other workers between a worker's pull and the update by its push:
     * mean and 95th percentile over all updates since the beginning. */
    double staleness, staleness_p95;
    double wait_s;  /* for others, of a worker */
    double updates; /* updates of the server's parameters */
    double clock_s; /* since the beginning, by simulated clocks */
};

#endif
