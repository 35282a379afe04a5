/* The job of a training: tensors and one row first, which a training in one process needs, then
 * what only ranks need. */
#include "netsim/inprocess/training_job.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/memory.h"
#include "netsim/job/training.h"

bool cc_training_raw_name(const char **names, const char *name)
{
    char pattern[256];
    const size_t length = strcspn(*names, ",");
    const bool fits = length < sizeof pattern;
    (void)snprintf(pattern, sizeof pattern, "%.*s", (int)length, *names);
    *names = (*names)[length] == ',' ? *names + length + 1 : NULL;
    return fits && fnmatch(pattern, name, 0) == 0;
}

bool cc_training_is_raw(const struct cc_training_config *c, const struct cc_tensor_info *tensor)
{
    bool raw = tensor->shape.n < c->min_size;
    for (const char *names = c->raw_names; names != NULL && !raw;)
        raw = cc_training_raw_name(&names, tensor->name);
    return raw;
}

static int add_tensors(const struct cc_training_config *c, const struct cc_tensor_info *tensor,
                       size_t tensors, struct cc_job *out, struct cc_error *e)
{
    CC_TRY(CC_NEW(out->tensor, tensors, e));
    for (size_t i = 0; i < tensors; i++) {
        out->tensor[i] = (struct cc_job_tensor){.name = cc_strdup(tensor[i].name, e),
                                                .shape = tensor[i].shape,
                                                .server = c->server != NULL  ? c->server[i]
                                                          : out->servers > 1 ? -1
                                                                             : 0,
                                                .raw = cc_training_is_raw(c, &tensor[i])};
        out->tensors++;
        if (out->tensor[i].name == NULL)
            return CC_FAIL;
    }
    return cc_job_lay_out(out, e);
}

static int add_row(const struct cc_training_config *c, struct cc_job *out, struct cc_error *e)
{
    const struct cc_spec *spec = c->spec;
    const size_t messages = c->messages > 0         ? c->messages
                            : c->mode == CC_OVERLAP ? out->tensors
                                                    : 1;
    CC_TRY(CC_NEW(out->row, 1, e));
    out->rows = 1;
    *out->row = (struct cc_job_row){.scheme = cc_strdup(spec->name, e),
                                    .reduction = cc_reduction(spec->scheme, spec->params),
                                    .period = cc_period(spec->scheme, spec->params),
                                    .steps = c->steps};
    if (out->row->scheme == NULL)
        return CC_FAIL;
    CC_TRY(CC_NEW(out->row->message, messages, e));
    out->row->messages = messages;
    if (c->choices > 0) {
        CC_TRY(CC_NEW(out->row->choice, c->choices, e));
        memcpy(out->row->choice, c->choice, c->choices * sizeof *out->row->choice);
        out->row->choices = c->choices;
    }
    for (size_t i = 0; i < messages; i++) {
        const size_t tensor = out->tensors - 1 - i;
        const struct cc_message usual = {messages > 1 ? tensor : 0, tensor};
        out->row->message[i] = c->messages > 0 ? c->message[i] : usual;
    }
    return CC_OK;
}

static int add_collectives(const struct cc_training_config *c, struct cc_job *out,
                           struct cc_error *e)
{
    struct cc_job_sharded *x = &out->sharded;
    if (c->collectives.count == 0)
        return CC_OK;
    CC_TRY(CC_NEW(x->collective, (size_t)c->collectives.count, e));
    x->collectives = (size_t)c->collectives.count;
    memcpy(x->collective, c->collectives.item, x->collectives * sizeof *x->collective);
    return CC_OK;
}

int cc_training_job(const struct cc_training_config *c, const struct cc_tensor_info *tensor,
                    size_t tensors, struct cc_job *out, struct cc_error *e)
{
    const bool servers = cc_exchange_has(c->exchange, CC_X_SERVERS);
    *out = (struct cc_job){.kind = CC_JOB_REPLAY,
                           .exchange = c->exchange,
                           .workers = (int)c->task.workers,
                           .servers = servers ? c->servers : 0,
                           .via = c->via,
                           .dtype = c->dtype,
                           .per_host = c->per_host > 1 ? c->per_host : 0,
                           .inner_exchange = c->inner_exchange,
                           .outer_exchange = c->outer_exchange,
                           .parts = c->parts,
                           .dense_bits =
                               cc_exchange_has(c->exchange, CC_X_MERGES) ? c->dense_bits : 32,
                           .mode = c->mode,
                           .pulls = CC_PULL_READY,
                           .seed = c->task.seed,
                           .rendezvous = true,
                           .data = true};
    out->training.depth = c->depth;
    out->training.sync_steps = c->sync_steps;
    if (c->local.steps > 0)
        out->training.local = c->local;
    out->consistency = (struct cc_job_consistency){.how = c->consistency,
                                                   .staleness = c->staleness,
                                                   .communicate = c->communicate,
                                                   .growth = c->growth};
    out->training.shards = c->shards;
    char **const gather = c->collectives.count > 0 ? &out->sharded.weights : &out->gather;
    if (c->gather != NULL && (*gather = cc_strdup(c->gather, e)) == NULL)
        return CC_FAIL;
    CC_TRY(add_collectives(c, out, e));
    if (c->intra_scheme != NULL && (out->intra_scheme = cc_strdup(c->intra_scheme, e)) == NULL)
        return CC_FAIL;
    CC_TRY(add_tensors(c, tensor, tensors, out, e));
    CC_TRY(add_row(c, out, e));
    return cc_job_set_training(out, &c->task, &c->optimizer, &c->rate, c->clip, e);
}

int cc_training_job_for_ranks(const struct cc_training_config *c, double compute_s,
                              const double *share, struct cc_job *job, struct cc_error *e)
{
    const bool emulated = !isnan(compute_s);
    job->compute_s = emulated ? compute_s : 0;
    job->forward_share = 1.0 / 3;
    for (size_t i = 0; i < job->tensors; i++)
        job->tensor[i].share = share[i];
    job->training.deltas = c->deltas;
    job->training.emulated = emulated;
    job->training.eval_every = c->eval_every;
    if (job->servers == 0)
        return CC_OK;
    job->training.pull = cc_strdup(c->pull->name, e);
    return job->training.pull != NULL ? CC_OK : CC_FAIL;
}
