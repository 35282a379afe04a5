#include "netsim/rank/preloaded.h"

#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "netsim/rank/emulated.h"

struct preloaded {
    struct cc_source head;
    struct cc_source_ops ops; /* with a name of its own */
    const struct cc_job *job;
    int worker;
    struct cc_emulated emulated; /* the row's */
    size_t values, steps;
    float *gradient; /* one step after the other; NULL without data */
    float *model;    /* NULL without data */
};

size_t cc_preloaded_fit(const struct cc_job *job, size_t bytes)
{
    const size_t steps = bytes / sizeof(float) / cc_job_values(job);
    return steps < 1 ? 1 : steps < job->trace_steps ? steps : job->trace_steps;
}

static int begin_row(struct cc_source *s, const struct cc_job_row *row, struct cc_error *e)
{
    struct preloaded *p = (struct preloaded *)s;
    (void)e;
    p->emulated = cc_emulated_make(p->job, row, p->worker);
    if (p->model != NULL)
        memset(p->model, 0, p->values * sizeof *p->model);
    return CC_OK;
}

static int compute(struct cc_source *s, uint64_t step, enum cc_compute_part part,
                   const struct cc_message *m, struct cc_source_progress *out, struct cc_error *e)
{
    const struct preloaded *p = (const struct preloaded *)s;
    (void)e;
    out->seconds = cc_emulated_compute_s(&p->emulated, step, part, m);
    return CC_OK;
}

static struct cc_source_buffers buffers(struct cc_source *s, uint64_t step)
{
    const struct preloaded *p = (const struct preloaded *)s;
    if (p->gradient == NULL)
        return (struct cc_source_buffers){NULL, NULL};
    return (struct cc_source_buffers){p->gradient + step % p->steps * p->values, p->model};
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

static int end_step(struct cc_source *s, uint64_t step, struct cc_error *e)
{
    (void)s;
    (void)step;
    (void)e;
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
    p->model = cc_alloc0(p->values * sizeof *p->model, e);
    if (p->gradient == NULL || p->model == NULL)
        return CC_FAIL;
    for (size_t i = 0; i < p->steps; i++)
        CC_TRY(cc_gradients_load(g, p->worker, i, p->gradient + i * p->values, e));
    return CC_OK;
}

int cc_preloaded_open(const struct cc_source_config *config, const char *name,
                      struct cc_gradients *g, struct cc_source **out, struct cc_error *e)
{
    int status = CC_OK;
    struct preloaded *p = cc_alloc0(sizeof *p, e);
    if (p == NULL)
        return CC_FAIL;
    *p = (struct preloaded){.head = {.emulated = true, .in_flight = config->in_flight},
                            .ops = {.name = name,
                                    .begin_row = begin_row,
                                    .compute = compute,
                                    .buffers = buffers,
                                    .apply = apply,
                                    .end_step = end_step,
                                    .close = close_preloaded},
                            .job = config->job,
                            .worker = config->worker,
                            .values = cc_job_values(config->job),
                            .steps = config->steps};
    p->head.ops = &p->ops;
    if (g != NULL)
        CC_TRY_OUT(load(p, g, e));
    *out = &p->head;
out:
    if (status != CC_OK)
        close_preloaded(&p->head);
    return status;
}
