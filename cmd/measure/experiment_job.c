/* The job of a setting: all that the ranks need to know. */
#include <gsl/gsl_rng.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/measure/experiment.h"
#include "core/memory.h"

/* What the models call it, the ranks do. */
_Static_assert((int)CC_JOB_HOPS == (int)CC_VIA_HOPS, "");
_Static_assert((int)CC_JOB_ALLGATHER == (int)CC_VIA_ALLGATHER, "");
_Static_assert((int)CC_JOB_SEQUENTIAL == (int)CC_SEQUENTIAL, "");
_Static_assert((int)CC_JOB_OVERLAP == (int)CC_OVERLAP, "");
_Static_assert((int)CC_JOB_PIPE == (int)CC_PIPE, "");
_Static_assert((int)CC_JOB_PULL_READY == (int)CC_PULL_READY, "");
_Static_assert((int)CC_JOB_PULL_FORWARD == (int)CC_PULL_FORWARD, "");

/* --- tensors --- */

static int add_tensors(struct cc_experiment *p, const struct cc_setting *s, struct cc_job *job,
                       struct cc_error *e)
{
    const struct cc_net *net = s->net;
    int *server = cc_alloc(net->count * sizeof *server, e);
    job->tensor = cc_alloc0(net->count * sizeof *job->tensor, e);
    job->tensors = job->tensor != NULL ? net->count : 0;
    int status = server != NULL && job->tensor != NULL
                     ? cc_predict_servers(&p->forecast.predictor, s, server, e)
                     : CC_FAIL;
    for (size_t i = 0; i < net->count && status == CC_OK; i++) {
        job->tensor[i] = (struct cc_job_tensor){.name = cc_strdup(net->tensors[i].name, e),
                                                .shape = net->tensors[i].shape,
                                                .share = net->share[i],
                                                .server = server[i],
                                                .raw = p->forecast.cluster.raw[i]};
        status = job->tensor[i].name != NULL ? CC_OK : CC_FAIL;
    }
    free(server);
    return status == CC_OK ? cc_job_lay_out(job, e) : status;
}

/* --- where gradients come from --- */

/* A trace beside --net: its tensors are the net's, and have their own names. */
static int match(const struct cc_trace *t, struct cc_job *job, const char *net, struct cc_error *e)
{
    if (cc_trace_tensors(t) != job->tensors)
        return cc_fail(e, "it has %zu tensors, and %s has %zu", cc_trace_tensors(t), net,
                       job->tensors);
    for (size_t i = 0; i < job->tensors; i++) {
        const struct cc_tensor_info *info = cc_trace_tensor(t, i);
        struct cc_job_tensor *mine = &job->tensor[i];
        if (info->shape.n != mine->shape.n)
            return cc_fail(e,
                           "tensor %zu, \"%.100s\", has %zu values, and \"%.100s\" of %s has %zu",
                           i, info->name, info->shape.n, mine->name, net, mine->shape.n);
        free(mine->name);
        mine->name = cc_strdup(info->name, e);
        mine->shape = info->shape;
        if (mine->name == NULL)
            return CC_FAIL;
    }
    return CC_OK;
}

/* The steps that all workers' streams have. */
static int count_steps(const struct cc_trace *t, size_t *out, struct cc_error *e)
{
    size_t least = 0;
    for (size_t i = 0; i < cc_trace_streams(t); i++) {
        size_t steps = cc_trace_steps(t, i);
        if (cc_trace_stream(t, i).direction == CC_PUSH && (least == 0 || steps < least))
            least = steps;
    }
    *out = least;
    return least > 0 ? CC_OK : cc_fail(e, "it has no pushes of a worker");
}

static int use_trace(const char *path, const char *net, struct cc_job *job, struct cc_error *e)
{
    struct cc_trace *t;
    job->trace = realpath(path, NULL);
    int status = cc_trace_open(path, &t, e);
    if (status != CC_OK)
        return status;
    if (job->trace == NULL)
        status = cc_fail(e, "%s: cannot be found", path);
    if (status == CC_OK)
        status = match(t, job, net, e);
    if (status == CC_OK)
        status = count_steps(t, &job->trace_steps, e);
    cc_trace_close(t);
    if (status != CC_OK)
        cc_error_in(e, "--trace %s", path);
    return status;
}

/* --- rows --- */

static int add_messages(struct cc_experiment *p, const struct cc_setting *s, size_t scheme,
                        struct cc_job_row *row, struct cc_error *e)
{
    struct cc_message *cut = cc_alloc(s->net->count * sizeof *cut, e);
    if (cut == NULL)
        return CC_FAIL;
    row->messages = cc_predict_messages(s, &p->forecast.payloads[scheme], cut);
    row->message = cc_alloc(row->messages * sizeof *row->message, e);
    for (size_t i = 0; i < row->messages && row->message != NULL; i++)
        row->message[i] = (struct cc_job_message){cut[i].first, cut[i].last};
    free(cut);
    return row->message != NULL ? CC_OK : CC_FAIL;
}

static int add_rows(struct cc_experiment *p, const struct cc_experiment_setting *s,
                    struct cc_job *job, struct cc_error *e)
{
    int status = CC_OK;
    job->row = cc_alloc0(s->rows * sizeof *job->row, e);
    if (job->row == NULL)
        return CC_FAIL;
    for (size_t i = 0; i < s->rows && status == CC_OK; i++) {
        const struct cc_experiment_row *from = &s->row[i];
        const struct cc_spec *spec = p->args->schemes.item[from->scheme];
        struct cc_job_row *row = &job->row[job->rows++];
        *row = (struct cc_job_row){.scheme = cc_strdup(spec->name, e),
                                   .sums = cc_sum_rounds(spec->scheme, spec->params) > 0,
                                   .period = from->period,
                                   .warmup = from->warmup,
                                   .steps = from->steps};
        status = row->scheme != NULL ? add_messages(p, &s->setting, from->scheme, row, e) : CC_FAIL;
    }
    return status;
}

/* --- stragglers --- */

/* Factors for as many steps as the longest row has. */
static int add_stragglers(const struct cc_setting *s, struct cc_job *job, struct cc_error *e)
{
    const struct cc_timing *t = &s->timing;
    size_t workers = (size_t)s->cluster.workers, steps = 0;
    if (t->straggler == CC_STEADY)
        return CC_OK;
    for (size_t i = 0; i < job->rows; i++)
        steps = (size_t)fmax((double)steps, (double)(job->row[i].warmup + job->row[i].steps));
    gsl_rng *draws = gsl_rng_alloc(gsl_rng_mt19937);
    job->slow = cc_alloc(workers * steps * sizeof *job->slow, e);
    if (draws == NULL || job->slow == NULL) {
        gsl_rng_free(draws);
        return cc_fail(e, "out of memory: %zu stragglers", workers);
    }
    gsl_rng_set(draws, (unsigned long)t->seed);
    job->slow_steps = steps;
    for (size_t i = 0; i < workers * steps; i++)
        job->slow[i] = cc_straggler_draw(t, draws);
    gsl_rng_free(draws);
    return CC_OK;
}

/* --- all of it --- */

/* Steps that are made differ from one another, as far as a row has several. */
enum { SYNTHETIC_STEPS = 8 };

static size_t synthetic_steps(const struct cc_job *job)
{
    size_t most = 1;
    for (size_t i = 0; i < job->rows; i++)
        most = (size_t)fmax((double)most, (double)(job->row[i].warmup + job->row[i].steps));
    return most < SYNTHETIC_STEPS ? most : SYNTHETIC_STEPS;
}

int cc_experiment_job(struct cc_experiment *p, const struct cc_experiment_setting *s,
                      struct cc_job *out, struct cc_error *e)
{
    const struct cc_setting *from = &s->setting;
    const struct cc_timing *t = &from->timing;
    const struct cc_experiment_options *o = &p->options;
    *out = (struct cc_job){.kind = CC_JOB_REPLAY,
                           .exchange = cc_strdup(cc_exchange_names[from->exchange], e),
                           .workers = from->cluster.workers,
                           .servers = from->exchange == CC_PS ? from->cluster.servers : 0,
                           .via = (enum cc_job_via)from->cluster.via,
                           .mode = (enum cc_job_mode)t->mode,
                           .pulls = t->mode == CC_SEQUENTIAL ? CC_JOB_PULL_READY
                                                             : (enum cc_job_pulls)t->pulls,
                           .compute_s = t->compute_s,
                           .update_s = t->update_s,
                           .forward_share = t->forward_share,
                           .hidden_share = t->hidden_share,
                           .seed = t->seed,
                           .yield_when_idle = s->yield_when_idle,
                           .rendezvous = true,
                           .data = true,
                           .events = p->story != NULL,
                           .distribution = (int)o->distribution};
    int status = out->exchange != NULL ? add_tensors(p, from, out, e) : CC_FAIL;
    if (status == CC_OK)
        status = add_rows(p, s, out, e);
    if (status == CC_OK)
        status = add_stragglers(from, out, e);
    out->trace_steps = synthetic_steps(out);
    if (status == CC_OK && o->trace != NULL)
        status = use_trace(o->trace, from->net->name, out, e);
    return status;
}
