/* The gradients of a job's workers: read from its trace, or drawn. */
#include "netsim/exchange/pack/gradients.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/trace/synth.h"
#include "core/trace/trace.h"
#include "core/trace/trace_check.h"

/* Drawn gradients of consecutive steps are correlated as captured ones are: docs/traces.md. */
#define DECAY 0.1

struct cc_gradients {
    const struct cc_job *job;
    const struct cc_job *whole; /* of whose tensors origin[i] the job has pieces; or NULL */
    const size_t *origin;
    bool captured;
    struct cc_trace *trace;
    bool owned;     /* the trace; otherwise it is the caller's */
    size_t streams; /* streams of workers' pushes */
};

static int open_synthetic(const struct cc_job *job, struct cc_trace **out, struct cc_error *e)
{
    const struct cc_synth config = {.distribution = (enum cc_distribution)job->distribution,
                                    .seed = job->seed,
                                    .steps = job->trace_steps,
                                    .ranks = (size_t)job->workers,
                                    .decay = DECAY,
                                    .zeros = job->zeros,
                                    .indices = (enum cc_indices)job->indices};
    struct cc_tensor_info *info;
    CC_TRY(CC_NEW(info, job->tensors, e));
    for (size_t i = 0; i < job->tensors; i++)
        info[i] = (struct cc_tensor_info){job->tensor[i].name, job->tensor[i].shape};
    const int status = cc_trace_synth(&config, info, job->tensors, "job", out, e);
    free(info);
    return status;
}

static int check_tensors(const struct cc_job *job, const struct cc_trace *t, struct cc_error *e)
{
    if (cc_trace_tensors(t) != job->tensors)
        return cc_fail(e, "%s: %zu tensors, and the job has %zu", job->trace, cc_trace_tensors(t),
                       job->tensors);
    for (size_t i = 0; i < job->tensors; i++) {
        const struct cc_tensor_info *found = cc_trace_tensor(t, i);
        const struct cc_job_tensor *expected = &job->tensor[i];
        if (strcmp(found->name, expected->name) != 0 || found->shape.n != expected->shape.n)
            return cc_fail(e,
                           "%s: tensor %zu is '%.100s' of %zu values, and in the job '%.100s' of "
                           "%zu: was the job made from another trace?",
                           job->trace, i, found->name, found->shape.n, expected->name,
                           expected->shape.n);
    }
    return CC_OK;
}

static int open_trace(const struct cc_job *job, struct cc_gradients *g, struct cc_error *e)
{
    g->owned = true;
    if (job->trace == NULL)
        return open_synthetic(job, &g->trace, e);
    CC_TRY(cc_trace_open(job->trace, &g->trace, e));
    CC_TRY(check_tensors(job, g->trace, e));
    return cc_trace_skip(g->trace, job->skip, job->skips, e);
}

int cc_gradients_open(const struct cc_job *job, struct cc_trace *trace, struct cc_gradients **out,
                      struct cc_error *e)
{
    int status = CC_OK;
    struct cc_gradients *g;
    CC_TRY(CC_NEW(g, 1, e));
    g->job = job;
    g->trace = trace;
    CC_TRY_OUT(trace != NULL ? check_tensors(job, trace, e) : open_trace(job, g, e));
    /* A trace's streams are in order, pushes before pulls. */
    while (g->streams < cc_trace_streams(g->trace) &&
           cc_trace_stream(g->trace, g->streams).direction == CC_PUSH)
        g->streams++;
    if (g->streams == 0)
        status = cc_fail(e, "%s: no worker's gradients, only what a server sent", job->trace);
out:
    if (status == CC_OK)
        *out = g;
    else
        cc_gradients_close(g);
    return status;
}

int cc_gradients_open_part(const struct cc_job *whole, const struct cc_job *part,
                           const size_t *origin, struct cc_trace *trace, struct cc_gradients **out,
                           struct cc_error *e)
{
    const bool captured = trace != NULL || whole->trace != NULL;
    CC_TRY(cc_gradients_open(captured ? whole : part, trace, out, e));
    (*out)->job = part;
    (*out)->whole = whole;
    (*out)->origin = origin;
    (*out)->captured = captured;
    return CC_OK;
}

size_t cc_gradients_steps(const struct cc_gradients *g, int worker)
{
    const size_t have = cc_trace_steps(g->trace, (size_t)worker % g->streams);
    return g->job->trace_steps < have ? g->job->trace_steps : have;
}

/* A drawn tensor's norm hardly depends on its size (core/trace/synth.c), so that a piece's values
 * would be larger than the tensor's. */
static int load_piece(struct cc_gradients *g, size_t stream, size_t step, size_t i, float *to,
                      struct cc_error *e)
{
    const size_t n = g->job->tensor[i].shape.n, of = g->whole->tensor[g->origin[i]].shape.n;
    const float scale = (float)sqrt((double)n / (double)of);
    if (g->captured)
        return cc_trace_load_first(g->trace, stream, step, g->origin[i], n, to, e);
    CC_TRY(cc_trace_load_finite(g->trace, stream, step, i, to, e));
    for (size_t k = 0; k < n && n < of; k++)
        to[k] *= scale;
    return CC_OK;
}

int cc_gradients_load(struct cc_gradients *g, int worker, size_t step, float *out,
                      struct cc_error *e)
{
    const size_t stream = (size_t)worker % g->streams;
    for (size_t i = 0; i < g->job->tensors; i++) {
        float *to = out + g->job->offset[i];
        CC_TRY(g->whole != NULL ? load_piece(g, stream, step, i, to, e)
                                : cc_trace_load_finite(g->trace, stream, step, i, to, e));
        cc_element_round(g->job->dtype, to, g->job->tensor[i].shape.n);
    }
    return CC_OK;
}

void cc_gradients_close(struct cc_gradients *g)
{
    if (g == NULL)
        return;
    if (g->owned)
        cc_trace_close(g->trace);
    free(g);
}
