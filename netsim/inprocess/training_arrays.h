/* The arrays of a checkpoint and their names. */
#ifndef CC_NETSIM_INPROCESS_TRAINING_ARRAYS_H
#define CC_NETSIM_INPROCESS_TRAINING_ARRAYS_H

#include "netsim/inprocess/checkpoint.h"
#include "netsim/job/job.h"
#include "netsim/exchange/pack/pack.h"

/* The arrays come in this order; those in brackets where the training has them:
 *
 *     weights.TENSOR          the workers' parameters
 *     [server.TENSOR]         the servers', where they send model deltas
 *     [optimizer]             the optimizer's state, of the server's copy or the workers'
 *     [statistics]            running statistics, worker by worker
 *     [workers]               with local steps: each worker's parameters and optimizer's state
 *     [unsent]                the residual that is measured, in one process only
 *     [delayed.N.TENSOR]      results that are not applied yet, the oldest one as 0
 *     codec.RANK.PACK.TENSOR.BEGIN
 *                             codec states, rank by rank in the order of their packs
 */
struct cc_training_arrays {
    float *weights, *server; /* server: NULL: none */
    float *optimizer, *stats, *own, *unsent;
    size_t optimizer_count, stat_count, own_count; /* a worker's statistics and own; 0: none */
    float **delayed;
    size_t delayed_count;
};

/* Adds all but the states of codecs. */
int cc_training_add_arrays(struct cc_checkpoint *c, const struct cc_job *job,
                           const struct cc_training_arrays *a, struct cc_error *e);
/* Adds the state of a codec in the rank's pack number `pack`. */
int cc_training_add_state(struct cc_checkpoint *c, const struct cc_job *job, int rank, size_t pack,
                          const struct cc_pack_state *state, struct cc_error *e);

#endif
