/* Replays a trace, draws synthetic values, or computes without any. */
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "netsim/exchange/pack/gradients.h"
#include "netsim/rank/sources.h"

struct preloaded {
    struct cc_source head;
    const struct cc_job *job;
    int worker;
    struct cc_emulated emulated; /* the row's */
    size_t values, steps;
    float *gradient; /* one step after the other; NULL without data */
    float *model;    /* NULL without data */
};

static int begin_row(struct cc_source *s, const struct cc_job_row *row, struct cc_error *e)
{
    struct preloaded *p = (struct preloaded *)s;
    (void)e;
    p->emulated = cc_emulated_make(p->job, row, p->worker);
    if (p->model != NULL)
        memset(p->model, 0, p->values * sizeof *p->model);
    return CC_OK;
}

/* The steps that a part of a round's computing is; 1 without local steps. */
static double steps_of(const struct cc_job *job, enum cc_compute_part part)
{
    const struct cc_local_config *l = &job->training.local;
    const size_t ahead = l->delay;
    return l->steps == 0 ? 1 : (double)(part == CC_COMPUTE_AHEAD ? ahead : l->steps - ahead);
}

static int compute(struct cc_source *s, uint64_t step, enum cc_compute_part part,
                   const struct cc_message *m, struct cc_source_progress *out, struct cc_error *e)
{
    const struct preloaded *p = (const struct preloaded *)s;
    (void)e;
    out->seconds = steps_of(p->job, part) * cc_emulated_compute_s(&p->emulated, step, part, m);
    return CC_OK;
}

static struct cc_source_buffers buffers(struct cc_source *s, uint64_t step)
{
    const struct preloaded *p = (const struct preloaded *)s;
    if (p->gradient == NULL)
        return (struct cc_source_buffers){.gradient = NULL};
    return (struct cc_source_buffers){.gradient = p->gradient + step % p->steps * p->values,
                                      .result = p->model};
}

/* The exchange has already added the result to the model. */
static int apply(struct cc_source *s, int64_t step, const struct cc_message *m,
                 struct cc_source_progress *out, struct cc_error *e)
{
    const struct preloaded *p = (const struct preloaded *)s;
    (void)step;
    (void)e;
    out->seconds = cc_emulated_update_s(&p->emulated, m);
    return CC_OK;
}

static void close_preloaded(struct cc_source *s)
{
    struct preloaded *p = (struct preloaded *)s;
    free(p->gradient);
    free(p->model);
    free(p);
}

static int load(struct preloaded *p, struct cc_gradients *g, struct cc_error *e)
{
    const size_t have = cc_gradients_steps(g, p->worker);
    size_t bytes;
    p->steps = p->steps < have ? p->steps : have;
    if (!cc_mul(p->steps, p->values * sizeof(float), &bytes))
        return cc_fail(e, "%zu steps of %zu values do not fit into memory", p->steps, p->values);
    CC_TRY(cc_memory_check(bytes + p->values * sizeof(float), "a worker's gradients and model", e));
    p->gradient = cc_alloc(bytes, e);
    CC_TRY(p->gradient != NULL ? CC_NEW(p->model, p->values, e) : CC_FAIL);
    for (size_t i = 0; i < p->steps; i++)
        CC_TRY(cc_gradients_load(g, p->worker, i, p->gradient + i * p->values, e));
    return CC_OK;
}

int cc_source_preloaded_open(const struct cc_source_config *config, struct cc_source **out,
                             struct cc_error *e)
{
    static const struct cc_source_ops ops = {.begin_row = begin_row,
                                             .compute = compute,
                                             .buffers = buffers,
                                             .apply = apply,
                                             .close = close_preloaded};
    const struct cc_job *job = config->job;
    struct cc_gradients *g = NULL;
    int status = CC_OK;
    struct preloaded *p;
    CC_TRY(CC_NEW(p, 1, e));
    *p = (struct preloaded){.head = {.ops = &ops,
                                     .name = config->steps == 0   ? "empty"
                                             : job->trace != NULL ? "replay"
                                                                  : "synthetic",
                                     .emulated = true,
                                     .in_flight = config->in_flight},
                            .job = job,
                            .worker = config->worker,
                            .values = cc_job_values(job),
                            .steps = config->steps};
    if (config->steps > 0) {
        CC_TRY_OUT(cc_gradients_open(job, NULL, &g, e));
        CC_TRY_OUT(load(p, g, e));
    }
    *out = &p->head;
out:
    cc_gradients_close(g);
    if (status != CC_OK)
        close_preloaded(&p->head);
    return status;
}
