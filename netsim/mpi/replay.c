#include "netsim/mpi/replay.h"

#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/trace.h"

/* Correlation between neighbouring steps, as in captured gradients: docs/traces.md. */
#define DECAY 0.1

struct cc_replay {
    size_t values, steps;
    float *gradient; /* one step after the other */
    float *model;
};

size_t cc_replay_fit(const struct cc_job *job, size_t bytes)
{
    size_t steps = bytes / sizeof(float) / cc_job_values(job);
    return steps < 1 ? 1 : steps < job->trace_steps ? steps : job->trace_steps;
}

/* --- traces --- */

static int open_synthetic(const struct cc_job *job, struct cc_trace **out, struct cc_error *e)
{
    const struct cc_synth how = {.distribution = (enum cc_distribution)job->distribution,
                                 .seed = job->seed,
                                 .steps = job->trace_steps,
                                 .ranks = (size_t)job->workers,
                                 .decay = DECAY};
    struct cc_tensor_info *info = cc_alloc(job->tensors * sizeof *info, e);
    if (info == NULL)
        return CC_FAIL;
    for (size_t i = 0; i < job->tensors; i++)
        info[i] = (struct cc_tensor_info){job->tensor[i].name, job->tensor[i].shape};
    int status = cc_trace_synth(&how, info, job->tensors, "job", out, e);
    free(info);
    return status;
}

static int check_tensors(const struct cc_job *job, const struct cc_trace *t, struct cc_error *e)
{
    if (cc_trace_tensors(t) != job->tensors)
        return cc_fail(e, "%s: %zu tensors, and the job has %zu", job->trace, cc_trace_tensors(t),
                       job->tensors);
    for (size_t i = 0; i < job->tensors; i++) {
        const struct cc_tensor_info *is = cc_trace_tensor(t, i);
        const struct cc_job_tensor *want = &job->tensor[i];
        if (strcmp(is->name, want->name) != 0 || is->shape.n != want->shape.n)
            return cc_fail(e,
                           "%s: tensor %zu is '%.100s' of %zu values, and in the job '%.100s' of "
                           "%zu: is it another trace than that which the job was made of?",
                           job->trace, i, is->name, is->shape.n, want->name, want->shape.n);
    }
    return CC_OK;
}

/* The streams come in order, pushes before pulls. */
static size_t pushes(const struct cc_trace *t)
{
    size_t n = 0;
    while (n < cc_trace_streams(t) && cc_trace_stream(t, n).direction == CC_PUSH)
        n++;
    return n;
}

static int open_trace(const struct cc_job *job, int worker, struct cc_trace **out, size_t *stream,
                      struct cc_error *e)
{
    *stream = (size_t)worker;
    if (job->trace == NULL)
        return open_synthetic(job, out, e);
    struct cc_trace *t;
    if (cc_trace_open(job->trace, &t, e) != CC_OK)
        return CC_FAIL;
    int status = check_tensors(job, t, e);
    const size_t streams = pushes(t);
    if (status == CC_OK && streams == 0)
        status = cc_fail(e, "%s: no worker's gradients, only what a server sent", job->trace);
    if (status == CC_OK) {
        *stream = (size_t)worker % streams;
        *out = t;
    } else {
        cc_trace_close(t);
    }
    return status;
}

/* --- steps --- */

static int load(struct cc_replay *r, const struct cc_job *job, struct cc_trace *t, size_t stream,
                size_t step, struct cc_error *e)
{
    int status = CC_OK;
    float *buffer = cc_alloc(cc_trace_largest(t) * sizeof *buffer, e);
    if (buffer == NULL)
        return CC_FAIL;
    for (size_t i = 0; i < job->tensors && status == CC_OK; i++) {
        const float *x;
        status = cc_trace_load(t, stream, step, i, buffer, &x, e);
        if (status == CC_OK)
            memcpy(r->gradient + step * r->values + job->offset[i], x,
                   job->tensor[i].shape.n * sizeof *x);
    }
    cc_trace_release(t, stream, step);
    free(buffer);
    return status;
}

static int prepare(struct cc_replay *r, const struct cc_job *job, struct cc_trace *t, size_t stream,
                   struct cc_error *e)
{
    size_t bytes, have = cc_trace_steps(t, stream);
    r->steps = r->steps < have ? r->steps : have;
    if (!cc_mul(r->steps, r->values * sizeof(float), &bytes))
        return cc_fail(e, "%zu steps of %zu values do not fit into memory", r->steps, r->values);
    if (cc_memory_check(bytes + r->values * sizeof(float), "a worker's gradients and model", e) !=
        CC_OK)
        return CC_FAIL;
    r->gradient = cc_alloc(bytes, e);
    r->model = cc_alloc0(r->values * sizeof *r->model, e);
    int status = r->gradient != NULL && r->model != NULL ? CC_OK : CC_FAIL;
    for (size_t i = 0; i < r->steps && status == CC_OK; i++)
        status = load(r, job, t, stream, i, e);
    return status;
}

int cc_replay_open(const struct cc_job *job, int worker, size_t steps, struct cc_replay **out,
                   struct cc_error *e)
{
    struct cc_trace *t;
    size_t stream;
    struct cc_replay *r = cc_alloc0(sizeof *r, e);
    if (r == NULL)
        return CC_FAIL;
    r->values = cc_job_values(job);
    r->steps = steps;
    int status = CC_OK;
    if (worker >= 0) {
        status = open_trace(job, worker, &t, &stream, e);
        if (status == CC_OK) {
            status = prepare(r, job, t, stream, e);
            cc_trace_close(t);
        }
    }
    if (status == CC_OK)
        *out = r;
    else
        cc_replay_close(r);
    return status;
}

void cc_replay_close(struct cc_replay *r)
{
    if (r == NULL)
        return;
    free(r->gradient);
    free(r->model);
    free(r);
}

const float *cc_replay_gradient(const struct cc_replay *r, uint64_t step)
{
    return r->gradient != NULL ? r->gradient + step % r->steps * r->values : NULL;
}

float *cc_replay_model(struct cc_replay *r)
{
    return r->model;
}

void cc_replay_reset(struct cc_replay *r)
{
    if (r->model != NULL)
        memset(r->model, 0, r->values * sizeof *r->model);
}
