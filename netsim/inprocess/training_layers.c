/* Trainings whose parameters are divided among the workers, too: ZeRO-3, FSDP and HSDP (sources:
 * core/collective.h). A worker has the main parameters and the optimizer's state of its parts; all
 * gather a unit's parameters before they use them, and forget them behind that, or gather the
 * difference to a copy that they keep. Gradients are reduced to the owners of the parts, which
 * update them when all are there.
 *
 * In one process the workers have one copy, as all decode the same bytes. A step gathers all units
 * before it computes; ranks do it unit by unit (netsim/rank/source_training.c), with the same bits:
 * what is gathered depends on the parameters and the step alone. */
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/memory.h"
#include "netsim/exchange/collectives.h"
#include "netsim/exchange/shards.h"
#include "netsim/inprocess/training_impl.h"

struct cc_training_layers {
    struct cc_collectives list;
    struct cc_inprocess_collectives *exchange;
    float *sent;     /* what owners gather: main parameters, or their differences to the copy */
    float *gathered; /* what arrives of that; zeros otherwise */
    float *partial;  /* [hosts][values]: means inside hosts; NULL: there are none */
    const float **in;
    float **out; /* [workers] each */
};

static bool differs(const struct cc_training *s)
{
    return s->config->shards == CC_SHARDS_DIFFERENCES;
}

static size_t hosts_of(const struct cc_training *s)
{
    return (size_t)(s->job.workers / cc_shards_workers(&s->job));
}

int cc_training_layers_open(struct cc_training *s, struct cc_error *e)
{
    const struct cc_training_config *c = s->config;
    const size_t workers = c->task.workers;
    struct cc_training_layers *x;
    CC_TRY(CC_NEW(s->layers, 1, e));
    x = s->layers;
    x->list = c->collectives;
    CC_TRY(cc_alloc_floats(s->values, &x->sent, e));
    CC_TRY(cc_alloc_floats(s->values, &x->gathered, e));
    for (int i = 0; i < x->list.count; i++)
        if (cc_collective_leads(&x->list, i))
            CC_TRY(cc_alloc_floats(hosts_of(s) * s->values, &x->partial, e));
    CC_TRY(CC_NEW(x->in, workers, e));
    CC_TRY(CC_NEW(x->out, workers, e));
    return cc_inprocess_collectives_open(&s->job, s->job.row, c->spec, c->raw, &x->exchange, e);
}

void cc_training_layers_close(struct cc_training *s)
{
    struct cc_training_layers *x = s->layers;
    if (x == NULL)
        return;
    cc_inprocess_collectives_close(x->exchange);
    free(x->sent);
    free(x->gathered);
    free(x->partial);
    free(x->in);
    free(x->out);
    free(x);
}

const struct cc_pack_list *cc_training_layers_packs(const struct cc_training *s, int worker)
{
    return cc_inprocess_collectives_packs(s->layers->exchange, worker);
}

/* --- gathering --- */

/* Puts what is gathered in a step into x->gathered, by collective i. */
static int gather(struct cc_training *s, int i, uint64_t step, struct cc_inprocess_step *sent,
                  struct cc_error *e)
{
    struct cc_training_layers *x = s->layers;
    for (size_t k = 0; k < s->values; k++)
        x->sent[k] = differs(s) ? s->server[k] - s->weights[k] : s->server[k];
    for (size_t k = 0; k < s->config->task.workers; k++) {
        x->in[k] = x->sent;
        x->out[k] = k == 0 ? x->gathered : NULL;
    }
    return cc_inprocess_collective(x->exchange, i, step, x->in, x->out, sent, e);
}

void cc_training_layers_forget(struct cc_training *s)
{
    memset(s->layers->gathered, 0, s->values * sizeof(float));
}

static void take_sent(struct cc_training *s, const struct cc_inprocess_step *sent)
{
    s->log.sum.push_bytes += (double)sent->push_bytes;
    s->log.sum.pull_bytes += (double)sent->pull_bytes;
    s->log.sum.encode_s += sent->encode_s;
    s->log.sum.hop_s += sent->hop_s;
    s->log.sum.decode_s += sent->decode_s;
}

int cc_training_layers_gather(struct cc_training *s, struct cc_error *e)
{
    struct cc_training_layers *x = s->layers;
    struct cc_inprocess_step sent = {.push_bytes = 0};
    for (int i = 0; i < x->list.count; i++) {
        if (x->list.item[i].op != CC_ALL_GATHER)
            continue;
        CC_TRY(gather(s, i, s->log.step, &sent, e));
        for (size_t k = 0; k < s->values; k++)
            s->weights[k] = differs(s) ? s->weights[k] + x->gathered[k] : x->gathered[k];
        cc_training_layers_forget(s);
    }
    take_sent(s, &sent);
    return CC_OK;
}

int cc_training_layers_copy(struct cc_training *s, const float **out, struct cc_error *e)
{
    struct cc_training_layers *x = s->layers;
    CC_TRY(gather(s, 0, s->log.step, NULL, e));
    for (size_t k = 0; k < s->values && differs(s); k++)
        x->gathered[k] = s->weights[k] + x->gathered[k];
    *out = x->gathered;
    return CC_OK;
}

void cc_training_layers_save(struct cc_training *s)
{
    if (!differs(s))
        memcpy(s->weights, s->server, s->values * sizeof *s->weights);
}

/* --- reducing --- */

static int reduce(struct cc_training *s, int i, struct cc_inprocess_step *sent, struct cc_error *e)
{
    struct cc_training_layers *x = s->layers;
    const struct cc_collective *of = &x->list.item[i];
    const size_t sharing = (size_t)cc_shards_workers(&s->job);
    for (size_t k = 0; k < s->config->task.workers; k++) {
        float *partial = x->partial + k / sharing * s->values;
        x->in[k] = of->follows ? partial : s->gradient[k];
        x->out[k] = !of->follows && x->partial != NULL ? partial : s->mean;
        if (of->follows && k >= sharing) /* the hosts have the same means */
            x->out[k] = NULL;
    }
    return cc_inprocess_collective(x->exchange, i, s->log.step, x->in, x->out, sent, e);
}

/* Scales the mean by the norm of all its parts. */
static int clip(struct cc_training *s, struct cc_error *e)
{
    const int sharing = cc_shards_workers(&s->job);
    double *square;
    int status = CC_OK;
    if (!(s->config->clip > 0))
        return CC_OK;
    CC_TRY(CC_NEW(square, (size_t)sharing, e));
    for (int i = 0; i < sharing && status == CC_OK; i++) {
        struct cc_shard_part *part;
        status = cc_shards_parts(&s->job, s->job.row, i, &part, e);
        if (status == CC_OK) {
            square[i] = cc_shards_square(part, s->job.row->messages, s->mean);
            free(part);
        }
    }
    const float by = cc_shards_clip(&s->job, square);
    for (size_t k = 0; k < s->values; k++)
        s->mean[k] *= by;
    free(square);
    return status;
}

int cc_training_layers_reduce(struct cc_training *s, struct cc_error *e)
{
    struct cc_training_layers *x = s->layers;
    struct cc_inprocess_step sent = {.push_bytes = 0};
    for (int i = 0; i < x->list.count; i++)
        if (x->list.item[i].op != CC_ALL_GATHER)
            CC_TRY(reduce(s, i, &sent, e));
    if (x->partial != NULL)
        memset(x->partial, 0, hosts_of(s) * s->values * sizeof *x->partial);
    take_sent(s, &sent);
    if (s->measures_push)
        cc_unsent_arrive(&s->unsent, 0, s->values, s->mean);
    CC_TRY(clip(s, e));
    const double since = cc_now();
    cc_shard_update(&s->shard, 0, s->values, s->log.step, s->log.step, s->mean, NULL, false);
    s->log.sum.update_s += cc_now() - since;
    memset(s->mean, 0, s->values * sizeof *s->mean);
    return CC_OK;
}
