/* The step of a shard (train/shard.h) within an exchange: between the reduce-scatter of gradients
 * and the all-gather of parameters, the owner of a chunk updates its values by their mean.
 *
 * Where gradients are clipped, the ranks first send each other the sums of squares of their chunks
 * of the mean, so that all clip by the norm of the whole gradient. A message is then one double
 * from each rank to each other one, between those that reduce and those that gather. */
#ifndef CC_NETSIM_EXCHANGE_SHARDS_H
#define CC_NETSIM_EXCHANGE_SHARDS_H

#include "netsim/exchange/block_stream.h"
#include "netsim/exchange/pack/pack.h"
#include "train/shard.h"

/* The workers among whom the states are divided: those of a host, where a list of collectives says
 * so, and hosts then have the same; otherwise all. */
int cc_shards_workers(const struct cc_job *job);

/* The values whose sums a worker owns: of each of the row's messages some, or none. The list is to
 * be freed. For exchanges with CC_X_STAGES. */
int cc_shards_parts(const struct cc_job *job, const struct cc_job_row *row, int worker,
                    struct cc_shard_part **out, struct cc_error *e);

/* Steps with a list of collectives (core/collective.h) update when all gradients are reduced. To
 * clip them, each worker has the sum of squares of its parts of the mean, a flat step, and the
 * factor follows from those of the workers that share the states, in their order. */
double cc_shards_square(const struct cc_shard_part *part, size_t parts, const float *mean);
float cc_shards_clip(const struct cc_job *job, const double *squares);

struct cc_shard_step;

/* Opens the shard of the values `own`; *out is NULL where the job has no shards, or a list of
 * collectives, which updates outside of exchanges. Close it with
 * cc_shards_close, which NULL is allowed for. */
int cc_shards_open(struct cc_rank_state *s, const struct cc_message *m, struct cc_range own,
                   struct cc_shard_step **out, struct cc_error *e);
void cc_shards_close(struct cc_shard_step *x);

/* Appends what is received of the norm, once in each step, behind what reduces; nothing where no
 * gradients are clipped. */
void cc_shards_post(struct cc_shard_step *x, struct cc_block_streams *streams);
/* Turns the sums of the own values into means, and sends the sum of their squares, if gradients are
 * clipped. */
void cc_shards_begin(struct cc_shard_step *x, float *sum, struct cc_block_streams *streams);
/* Whether the norm is known. */
bool cc_shards_ready(const struct cc_shard_step *x);
/* Updates the own values by their means, which become what is gathered. */
int cc_shards_update(struct cc_shard_step *x, float *mean, struct cc_error *e);
/* Encodes it: that counts as gathered payload. `values` begin with the pack's origin. */
int cc_shards_encode(struct cc_shard_step *x, struct cc_pack *pack, const float *values,
                     uint8_t *out, size_t *len, struct cc_error *e);

#endif
