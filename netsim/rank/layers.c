#include "netsim/rank/layers.h"

#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "netsim/exchange/collectives.h"
#include "netsim/exchange/shards.h"

int cc_layers_open(struct cc_layers *x, const struct cc_job *job, const struct cc_job_row *row,
                   int worker, const struct cc_model_layout *layout, struct cc_shard *shard,
                   float *weights, struct cc_error *e)
{
    const size_t values = layout->values;
    *x = (struct cc_layers){.job = job,
                            .row = row,
                            .list = cc_job_collectives(job),
                            .shard = shard,
                            .weights = weights,
                            .tied = layout->offset[layout->tied]};
    CC_TRY(cc_alloc_floats(values, &x->sent, e));
    CC_TRY(cc_alloc_floats(values, &x->gathered, e));
    for (int i = 0; i < x->list.count; i++)
        if (cc_collective_leads(&x->list, i))
            CC_TRY(cc_alloc_floats(values, &x->partial, e));
    CC_TRY(cc_shards_parts(job, row, worker, &x->part, e));
    cc_layers_begin(x);
    return CC_OK;
}

void cc_layers_close(struct cc_layers *x)
{
    free(x->sent);
    free(x->gathered);
    free(x->partial);
    free(x->part);
    *x = (struct cc_layers){.job = NULL};
}

/* Takes what is gathered of the own parts: main parameters, or their differences to the copy. */
static void take_sent(struct cc_layers *x)
{
    cc_shard_get(x->shard, x->sent, NULL);
    for (size_t i = 0; i < x->row->messages && !cc_job_forgets(x->job); i++)
        for (size_t k = x->part[i].from; k < x->part[i].to; k++)
            x->sent[k] -= x->weights[k];
}

void cc_layers_begin(struct cc_layers *x)
{
    if (cc_job_forgets(x->job))
        memset(x->weights, 0, cc_job_values(x->job) * sizeof *x->weights);
    take_sent(x);
}

void cc_layers_arrived(struct cc_layers *x, const struct cc_collective *of,
                       const struct cc_message *unit)
{
    const size_t from = x->job->offset[unit->first], to = x->job->offset[unit->last + 1];
    const size_t bytes = (to - from) * sizeof(float);
    if (of->op != CC_ALL_GATHER) {
        if (of->follows)
            memset(x->partial + from, 0, bytes);
        return;
    }
    for (size_t k = from; k < to; k++)
        x->weights[k] = cc_job_forgets(x->job) ? x->gathered[k] : x->weights[k] + x->gathered[k];
    memset(x->gathered + from, 0, bytes);
}

/* Parameters that the end of the net reads, too, are needed until their own backward pass. */
void cc_layers_used(struct cc_layers *x, const struct cc_message *unit, bool forward)
{
    const size_t from = x->job->offset[unit->first], to = x->job->offset[unit->last + 1];
    bool again = false;
    for (int i = 0; i < x->list.count; i++)
        again |= x->list.item[i].when == CC_WHEN_BACKWARD;
    if (cc_job_forgets(x->job) && (!forward || (again && from >= x->tied)))
        memset(x->weights + from, 0, (to - from) * sizeof *x->weights);
}

double cc_layers_square(const struct cc_layers *x, const float *mean)
{
    return cc_shards_square(x->part, x->row->messages, mean);
}

void cc_layers_clip(const struct cc_layers *x, float by, float *mean)
{
    for (size_t i = 0; i < x->row->messages; i++)
        for (size_t k = x->part[i].from; k < x->part[i].to; k++)
            mean[k] *= by;
}

void cc_layers_update(struct cc_layers *x, uint64_t step, float *mean)
{
    for (size_t i = 0; i < x->row->messages; i++) {
        const struct cc_shard_part p = x->part[i];
        cc_shard_update(x->shard, p.from, p.to, step, step, mean + p.from, NULL, false);
        memset(mean + p.from, 0, (p.to - p.from) * sizeof *mean);
    }
    take_sent(x);
}

const float *cc_layers_copy(struct cc_layers *x)
{
    const size_t values = cc_job_values(x->job);
    for (size_t k = 0; k < values && !cc_job_forgets(x->job); k++)
        x->gathered[k] = x->weights[k] + x->gathered[k];
    return x->gathered;
}

void cc_layers_forget(struct cc_layers *x)
{
    memset(x->gathered, 0, cc_job_values(x->job) * sizeof *x->gathered);
}
