/* The job of a setting: its tensors, rows, messages and stragglers, as the ranks read them. */
#include <gsl/gsl_rng.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/measure/experiment.h"
#include "core/memory.h"
#include "models/sharded.h"

/* --- tensors --- */

/* The net's tensors; with a trace, which has the same sizes, under the trace's names. */
static int add_tensors(const struct cc_experiment *x, const struct cc_setting *s,
                       struct cc_job *job, struct cc_error *e)
{
    const struct cc_net *net = s->net;
    const struct cc_cluster_args *c = &x->forecast->cluster;
    int status = CC_OK, *server;
    CC_TRY(CC_NEW(job->tensor, net->count, e));
    CC_TRY(CC_NEW(server, net->count, e));
    job->tensors = net->count;
    CC_TRY_OUT(cc_predict_servers(&x->forecast->predictor, s, server, e));
    for (size_t i = 0; i < net->count; i++) {
        const struct cc_tensor_info *info =
            c->trace != NULL ? cc_trace_tensor(c->trace, i) : &net->tensors[i];
        job->tensor[i] = (struct cc_job_tensor){
            .shape = info->shape, .share = net->share[i], .server = server[i], .raw = c->raw[i]};
        CC_TRY_OUT(cc_text(&job->tensor[i].name, e, "%s", info->name));
    }
    status = cc_job_lay_out(job, e);
out:
    free(server);
    return status;
}

/* --- rows --- */

int cc_experiment_job_choices(const struct cc_setting *s, const struct cc_unions *unions,
                              const struct cc_job *job, struct cc_job_row *row, struct cc_error *e)
{
    struct cc_cluster cluster = s->cluster;
    size_t capacity = 0;
    cluster.unions = unions;
    for (size_t i = 0; i < row->messages && cc_exchange_has(s->exchange, CC_X_CHOOSES); i++) {
        const struct cc_message *m = &row->message[i];
        const size_t values = job->offset[m->last + 1] - job->offset[m->first];
        struct cc_exchange_choice choice[CC_EXCHANGE_CHOICES];
        const size_t count =
            cc_exchange_choices(&cluster, &s->link, row->reduction, (double)values, choice);
        CC_TRY(CC_GROW(row->choice, &capacity, row->choices + count, e));
        for (size_t k = 0; k < count; k++)
            row->choice[row->choices++] = (struct cc_job_choice){
                .message = i, .pairs = choice[k].pairs, .exchange = choice[k].exchange};
    }
    return CC_OK;
}

/* Messages, or units of sharded states, from the end of the net. */
static size_t cut_step(const struct cc_setting *s, const struct cc_step_payloads *payloads,
                       struct cc_message *message)
{
    return s->sharded.collectives.count > 0 ? cc_sharded_messages(s, message)
                                            : cc_predict_messages(s, payloads, message);
}

static int add_rows(const struct cc_experiment *x, const struct cc_experiment_setting *s,
                    struct cc_job *job, struct cc_error *e)
{
    CC_TRY(CC_NEW(job->row, s->rows, e));
    for (size_t i = 0; i < s->rows; i++) {
        const struct cc_experiment_row *from = &s->row[i];
        const struct cc_spec *spec = x->forecast->schemes->item[from->scheme];
        const struct cc_step_payloads *payloads = &x->forecast->payloads[from->scheme];
        struct cc_job_row *row = &job->row[job->rows++];
        *row = (struct cc_job_row){
            .reduction = cc_reduction(spec->scheme, spec->params),
            .period = cc_period(spec->scheme, spec->params),
            .warmup = from->warmup,
            .parts = s->setting.cluster.chunks == CC_CHUNKS_AUTO ? from->forecast.chunks : 0,
            .steps = from->steps};
        CC_TRY(cc_text(&row->scheme, e, "%s", spec->name));
        CC_TRY(CC_NEW(row->message, s->setting.net->count, e));
        row->messages = cut_step(&s->setting, payloads, row->message);
        CC_TRY(cc_experiment_job_choices(&s->setting, &payloads->unions, job, row, e));
    }
    return CC_OK;
}

/* Steps of the longest row. */
static size_t most_steps(const struct cc_job *job)
{
    size_t most = 1;
    for (size_t i = 0; i < job->rows; i++)
        most = cc_larger(most, job->row[i].warmup + job->row[i].steps);
    return most;
}

/* --- stragglers --- */

int cc_experiment_job_stragglers(const struct cc_setting *s, struct cc_job *job, struct cc_error *e)
{
    const struct cc_timing *t = &s->timing;
    const size_t workers = (size_t)s->cluster.workers, steps = most_steps(job);
    if (t->straggler == CC_STEADY)
        return CC_OK;
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    job->slow = cc_alloc(workers * steps * sizeof *job->slow, e);
    if (rng == NULL || job->slow == NULL) {
        gsl_rng_free(rng);
        return cc_fail(e, "out of memory: %zu stragglers", workers);
    }
    gsl_rng_set(rng, (unsigned long)t->seed);
    job->slow_steps = steps;
    /* A round of local steps takes the mean of as many draws. */
    const size_t draws = t->local.steps > 0 ? t->local.steps : 1;
    for (size_t i = 0; i < workers * steps; i++) {
        job->slow[i] = 0;
        for (size_t k = 0; k < draws; k++)
            job->slow[i] += cc_straggler_draw(t, rng) / (double)draws;
    }
    gsl_rng_free(rng);
    return CC_OK;
}

/* --- gradients --- */

/* The ranks leave out the steps that the trace lacks here, without looking for them again. */
static int add_skipped_steps(const struct cc_trace *t, struct cc_job *job, struct cc_error *e)
{
    const uint64_t *numbers;
    job->skips = cc_trace_skipped(t, &numbers);
    if (job->skips == 0)
        return CC_OK;
    CC_TRY(CC_NEW(job->skip, job->skips, e));
    memcpy(job->skip, numbers, job->skips * sizeof *job->skip);
    return CC_OK;
}

static int add_gradients(const struct cc_experiment_input *in, struct cc_job *job,
                         struct cc_error *e)
{
    const struct cc_trace *t = in->forecast.cluster.trace;
    if (t == NULL) {
        job->distribution = (int)in->forecast.cluster.source.distribution;
        job->zeros = 1 - cc_experiment_nonzeros(in);
        job->indices = (int)in->forecast.cluster.source.indices;
        /* Synthetic steps are used in turn. */
        job->trace_steps = cc_smaller(most_steps(job), CC_FIGURES_STEPS);
        return CC_OK;
    }
    job->trace_steps = in->trace_steps;
    CC_TRY(add_skipped_steps(t, job, e));
    job->trace = realpath(cc_trace_name(t), NULL);
    return job->trace != NULL ? CC_OK : cc_fail(e, "--trace %s: cannot be found", cc_trace_name(t));
}

/* --- sharded states --- */

int cc_experiment_job_weight_costs(const struct cc_step_payloads *p, struct cc_job_row *out,
                                   struct cc_error *e)
{
    if (p == NULL)
        return CC_OK;
    CC_TRY(CC_NEW(out->weight_cost, p->count, e));
    for (size_t i = 0; i < p->count; i++)
        out->weight_cost[i] = (struct cc_job_cost){.encode_s = p->each[i].push_encode_s,
                                                   .decode_s = p->each[i].push_decode_s,
                                                   .add_s = p->each[i].push_add_s};
    return CC_OK;
}

static int add_sharded(const struct cc_sharded_args *args, const struct cc_setting *s,
                       struct cc_job *job, struct cc_error *e)
{
    const struct cc_collectives *c = &s->sharded.collectives;
    const char *weights = cc_sharded_weight_name(args);
    struct cc_job_sharded *x = &job->sharded;
    if (c->count == 0)
        return CC_OK;
    CC_TRY(CC_NEW(x->collective, (size_t)c->count, e));
    for (int i = 0; i < c->count; i++)
        x->collective[x->collectives++] = c->item[i];
    return weights == NULL || (x->weights = cc_strdup(weights, e)) != NULL ? CC_OK : CC_FAIL;
}

/* --- all of it --- */

/* With local steps each has an update, which counts as computing. */
static void use_local(const struct cc_timing *t, struct cc_job *out)
{
    const struct cc_local_timing *l = &t->local;
    if (l->steps == 0)
        return;
    out->training.local = (struct cc_local_config){
        .steps = l->steps, .parts = l->parts, .delay = t->mode == CC_OVERLAP ? l->delay : 0};
    out->compute_s += out->update_s;
    out->update_s = 0;
}

int cc_experiment_job_setting(const struct cc_setting *from, struct cc_job *out, struct cc_error *e)
{
    const struct cc_timing *t = &from->timing;
    *out = (struct cc_job){
        .kind = CC_JOB_REPLAY,
        .exchange = from->exchange,
        .workers = from->cluster.workers,
        .servers = cc_exchange_has(from->exchange, CC_X_SERVERS) ? from->cluster.servers : 0,
        .per_host = from->cluster.per_host > 1 ? from->cluster.per_host : 0,
        .colocated = from->cluster.colocated,
        .in_turn =
            t->in_turn && t->mode == CC_OVERLAP && !cc_exchange_has(from->exchange, CC_X_SERVERS),
        .via = from->cluster.via,
        .op = from->cluster.op,
        .dtype = from->dtype,
        .inner_exchange = from->cluster.inner_exchange,
        .outer_exchange = from->cluster.outer_exchange,
        .parts = from->cluster.chunks > 1 ? from->cluster.chunks : 0,
        .wire = from->cluster.wire,
        .dense_bits = (int)from->cluster.dense_bits,
        .keep = from->cluster.keep,
        .mode = t->mode,
        .pulls = t->mode == CC_SEQUENTIAL ? CC_PULL_READY : t->pulls,
        .micro_steps = cc_sharded_micro_steps(from) > 1 ? from->sharded.micro_steps : 0,
        .compute_s = t->compute_s,
        .update_s = t->update_s,
        .forward_share = t->forward_share,
        .hidden_share = t->hidden_share,
        .consistency = {.how = t->consistency, .staleness = t->staleness},
        .seed = t->seed,
        .rendezvous = true,
        .data = true};
    use_local(t, out);
    const char *gather = from->cluster.gather, *inner = from->cluster.intra_scheme;
    if (gather != NULL && (out->gather = cc_strdup(gather, e)) == NULL)
        return CC_FAIL;
    if (inner != NULL && (out->intra_scheme = cc_strdup(inner, e)) == NULL)
        return CC_FAIL;
    return CC_OK;
}

int cc_experiment_job(const struct cc_experiment *x, const struct cc_experiment_setting *s,
                      struct cc_job *out, struct cc_error *e)
{
    const struct cc_setting *from = &s->setting;
    CC_TRY(cc_experiment_job_setting(from, out, e));
    out->yield_when_idle = s->yield_when_idle;
    out->events = x->timeline != NULL;
    out->errors = x->input->errors;
    out->consistency.communicate = x->forecast->cluster.consistency.communicate.when;
    out->consistency.growth = x->forecast->cluster.consistency.communicate.growth;
    CC_TRY(add_sharded(&x->forecast->cluster.sharded, from, out, e));
    CC_TRY(add_tensors(x, from, out, e));
    CC_TRY(add_rows(x, s, out, e));
    CC_TRY(cc_experiment_job_stragglers(from, out, e));
    CC_TRY(cc_job_schemes_take(out, e));
    return add_gradients(x->input, out, e);
}
