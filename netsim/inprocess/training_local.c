/* Local steps of a training in one process. Every worker has parameters of its own, and takes the
 * shared ones of a part, which the exchange has left, at the beginning of the next step, or some
 * local steps later: the results were there, and a worker on a network waits for them that long. */
#include <string.h>

#include "core/memory.h"
#include "netsim/inprocess/training_impl.h"
#include "netsim/job/training.h"

int cc_training_local_open(struct cc_training *s, struct cc_error *e)
{
    const struct cc_training_config *c = s->config;
    s->local = cc_job_local(&s->job, s->job.row);
    s->local.inner.layout = s->layout;
    s->local.inner.threads = c->task.threads;
    const size_t floats = cc_local_floats(&s->local);
    CC_TRY(cc_alloc_floats(c->task.workers * floats, &s->own, e));
    CC_TRY(cc_alloc_floats(s->values, &s->slope, e));
    for (size_t i = 0; i < c->task.workers; i++)
        memcpy(s->own + i * floats, s->weights, s->values * sizeof *s->own);
    return CC_OK;
}

struct cc_training_batch cc_training_local_compute(struct cc_training *s, size_t worker)
{
    const size_t steps = s->local.config.steps, first = (size_t)s->log.step * steps;
    float *own = s->own + worker * cc_local_floats(&s->local);
    float *difference = s->gradients + worker * s->values;
    struct cc_training_batch sum = {0, 0};
    for (size_t i = 0; i < steps; i++) {
        if (i == s->local.config.delay)
            cc_training_take(&s->job, s->job.row, &s->local, s->log.step, s->weights, own);
        const struct cc_model_score score =
            cc_local_step(&s->local, s->task, first + i, worker, own,
                          s->worker_stats + worker * s->layout->stats, s->slope);
        sum.loss += score.loss;
        sum.correct += (double)score.correct;
    }
    if (s->local.config.delay == steps)
        cc_training_take(&s->job, s->job.row, &s->local, s->log.step, s->weights, own);
    memset(difference, 0, s->values * sizeof *difference);
    cc_training_difference(&s->job, s->job.row, s->log.step, s->weights, own, difference);
    cc_training_keep(&s->job, &s->local, s->log.step, (int)worker, own, difference);
    return (struct cc_training_batch){sum.loss / (double)steps, sum.correct / (double)steps};
}
