/* A worker's parameters where they are divided among the workers (ZeRO-3, FSDP, HSDP): between uses
 * it has those of its shard alone. Others are gathered, a unit at a time, into `weights`, a flat
 * step, before they are used, and are zeros again behind that; or, by differences, they are a copy
 * that the worker keeps. */
#ifndef CC_NETSIM_RANK_LAYERS_H
#define CC_NETSIM_RANK_LAYERS_H

#include "core/collective.h"
#include "netsim/job/job.h"
#include "train/model.h"
#include "train/shard.h"

struct cc_layers {
    const struct cc_job *job; /* NULL: nothing is open */
    const struct cc_job_row *row;
    struct cc_collectives list;
    struct cc_shard *shard;
    float *weights;
    size_t tied; /* values, the first ones, that the end of the net reads, too */
    /* Flat steps: what the worker gathers of its own, what arrives of all, and the means inside the
     * host, or NULL. */
    float *sent, *gathered, *partial;
    struct cc_shard_part *part; /* the worker's, of each message */
};

/* Begins a row, or goes on from a checkpoint, with the shard's parameters; a copy that is kept is
 * in weights. shard and weights must outlive it. Close it also after an error. */
int cc_layers_open(struct cc_layers *x, const struct cc_job *job, const struct cc_job_row *row,
                   int worker, const struct cc_model_layout *layout, struct cc_shard *shard,
                   float *weights, struct cc_error *e);
void cc_layers_begin(struct cc_layers *x);
void cc_layers_close(struct cc_layers *x); /* all zeros are nothing to close */

/* A unit's message of a collective has ended. */
void cc_layers_arrived(struct cc_layers *x, const struct cc_collective *of,
                       const struct cc_message *unit);
/* A pass of a unit has been computed. */
void cc_layers_used(struct cc_layers *x, const struct cc_message *unit, bool forward);

/* The sum of squares of the worker's parts of the mean gradient, and a factor on them; updates them
 * by it, and clears it. */
double cc_layers_square(const struct cc_layers *x, const float *mean);
void cc_layers_clip(const struct cc_layers *x, float by, float *mean);
void cc_layers_update(struct cc_layers *x, uint64_t step, float *mean);

/* As cc_source_copy and cc_source_forget. */
const float *cc_layers_copy(struct cc_layers *x);
void cc_layers_forget(struct cc_layers *x);

#endif
