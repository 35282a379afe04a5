#include "netsim/mpi/rank/replay.h"

#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "netsim/message/gradients.h"

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

static int prepare(struct cc_replay *r, struct cc_gradients *g, int worker, struct cc_error *e)
{
    size_t bytes, have = cc_gradients_steps(g, worker);
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
        status = cc_gradients_load(g, worker, i, r->gradient + i * r->values, e);
    return status;
}

int cc_replay_open(const struct cc_job *job, int worker, size_t steps, struct cc_replay **out,
                   struct cc_error *e)
{
    struct cc_gradients *g;
    struct cc_replay *r = cc_alloc0(sizeof *r, e);
    if (r == NULL)
        return CC_FAIL;
    r->values = cc_job_values(job);
    r->steps = steps;
    int status = CC_OK;
    if (worker >= 0) {
        status = cc_gradients_open(job, &g, e);
        if (status == CC_OK) {
            status = prepare(r, g, worker, e);
            cc_gradients_close(g);
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
