/* Shards of a training by ranks, put together on rank 0. */
#include <stdlib.h>

#include "core/memory.h"
#include "netsim/exchange/shards.h"
#include "netsim/rank/messages.h"
#include "netsim/rank/step_modes.h"
#include "netsim/rank/training.h"
#include "netsim/transport/mpi_calls.h"
#include "train/shard.h"

/* Receives the shard of a worker, and puts it into the flat arrays. */
static int take(struct cc_rank *r, const struct cc_job_row *row, int worker,
                const struct cc_learner_config *config, float *weights, float *state,
                struct cc_error *e)
{
    const size_t states = state != NULL ? cc_optimizer_state(&config->optimizer, 1) : 0;
    struct cc_shard_part *part;
    struct cc_shard shard = {.parts = 0};
    int status = CC_OK;
    CC_TRY(cc_shards_parts(&r->job, row, worker, &part, e));
    CC_TRY_OUT(cc_shard_open(&shard, config, part, row->messages, NULL, e));
    CC_TRY_OUT(cc_mpi_move(r->comm, worker, false, shard.weights, shard.values, MPI_FLOAT, e));
    CC_TRY_OUT(
        cc_mpi_move(r->comm, worker, false, shard.state, states * shard.values, MPI_FLOAT, e));
    cc_shard_get(&shard, weights, state);
out:
    cc_shard_close(&shard);
    free(part);
    return status;
}

int cc_rank_gather_shards(struct cc_rank *r, const struct cc_job_row *row,
                          const struct cc_shard *own, bool with_state, float *weights, float *state,
                          struct cc_error *e)
{
    const size_t states = with_state ? cc_optimizer_state(&own->config.optimizer, 1) : 0;
    if (r->rank != 0) {
        CC_TRY(cc_mpi_move(r->comm, 0, true, own->weights, own->values, MPI_FLOAT, e));
        return cc_mpi_move(r->comm, 0, true, own->state, states * own->values, MPI_FLOAT, e);
    }
    float *const to = with_state ? state : NULL;
    cc_shard_get(own, weights, to);
    for (int i = 1; i < r->job.workers; i++)
        CC_TRY(take(r, row, i, &own->config, weights, to, e));
    return CC_OK;
}

int cc_rank_clip_shards(struct cc_rank_loop *l, struct cc_error *e)
{
    const struct cc_job *job = l->s.job;
    double own, *all;
    if (job->training.net == NULL || !(job->training.clip > 0))
        return CC_OK;
    CC_TRY(CC_NEW(all, (size_t)job->workers, e));
    own = cc_source_square(l->source);
    const int code = MPI_Allgather(&own, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, l->mpi.comm);
    const int status = cc_mpi_check(code, "MPI_Allgather", e);
    if (status == CC_OK)
        cc_source_clip(l->source, cc_shards_clip(job, all));
    free(all);
    return status;
}

int cc_rank_gather_copy(struct cc_rank_loop *l, struct cc_error *e)
{
    struct cc_queues *q = l->queues;
    for (size_t u = 0; u < q->units; u++) { /* the first collective is that of the forward pass */
        cc_queues_state(q, u)->step = l->to;
        CC_TRY(cc_message_ask(l, u, e));
        CC_TRY(cc_messages_finish(l, u, e));
    }
    return CC_OK;
}
