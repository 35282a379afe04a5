/* Variance-reduced SGD (train/linear/svrg.h) in one process. An epoch begins with an exchange of
 * its own: the workers' parts of the full gradient travel as fp32, by the same way as the vectors.
 */
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "netsim/inprocess/training_impl.h"
#include "netsim/inprocess/training_job.h"
#include "train/linear/svrg.h"

struct cc_training_svrg {
    struct cc_linear_objective f;
    struct cc_job job; /* with fp32 */
    struct cc_inprocess *exchange;
    float *anchor, *full; /* y, and the gradient there */
    double *sum;          /* the sum of the points from which this epoch's steps were made */
    double *room;
    uint32_t *row; /* [batch] */
};

int cc_training_svrg_open(struct cc_training *s, struct cc_error *e)
{
    const struct cc_training_config *c = s->config;
    struct cc_training_config raw = *c;
    CC_TRY(CC_NEW(s->svrg, 1, e));
    struct cc_training_svrg *v = s->svrg;
    v->f = (struct cc_linear_objective){.loss = CC_LOGISTIC,
                                        .samples = &c->task.data->train,
                                        .features = s->values,
                                        .l2 = c->task.l2};
    raw.spec = raw.pull = c->raw;
    CC_TRY(cc_training_job(&raw, s->layout->tensors, s->layout->count, &v->job, e));
    const struct cc_inprocess_config config = {
        .job = &v->job, .row = v->job.row, .spec = c->raw, .raw = c->raw, .pull = c->raw};
    CC_TRY(cc_inprocess_open(&config, &v->exchange, e));
    CC_TRY(cc_alloc_floats(s->values, &v->anchor, e));
    CC_TRY(cc_alloc_floats(s->values, &v->full, e));
    CC_TRY(CC_NEW(v->sum, s->values, e));
    CC_TRY(CC_NEW(v->room, s->values, e));
    return CC_NEW(v->row, c->task.batch, e);
}

void cc_training_svrg_close(struct cc_training *s)
{
    struct cc_training_svrg *v = s->svrg;
    if (v == NULL)
        return;
    cc_inprocess_close(v->exchange);
    cc_job_free(&v->job);
    free(v->anchor);
    free(v->full);
    free(v->sum);
    free(v->room);
    free(v->row);
    free(v);
}

static int begin_epoch(struct cc_training *s, struct cc_error *e)
{
    struct cc_training_svrg *v = s->svrg;
    const size_t workers = s->config->task.workers;
    struct cc_inprocess_step sent;
    memcpy(v->anchor, s->weights, s->values * sizeof *v->anchor);
    memset(v->full, 0, s->values * sizeof *v->full);
    memset(v->sum, 0, s->values * sizeof *v->sum);
    for (size_t i = 0; i < workers; i++)
        cc_svrg_part(&v->f, i, workers, v->anchor, v->room, s->gradients + i * s->values);
    CC_TRY(cc_inprocess_exchange(v->exchange, s->log.step, s->gradient, v->full, &sent, e));
    s->log.sum.push_bytes += (double)sent.push_bytes;
    s->log.sum.pull_bytes += (double)sent.pull_bytes;
    return CC_OK;
}

int cc_training_svrg_begin(struct cc_training *s, struct cc_error *e)
{
    if (s->log.step % s->config->svrg_steps == 0)
        CC_TRY(begin_epoch(s, e));
    for (size_t j = 0; j < s->values; j++)
        s->svrg->sum[j] += (double)s->weights[j];
    return CC_OK;
}

struct cc_training_batch cc_training_svrg_compute(struct cc_training *s, size_t worker)
{
    const struct cc_training_svrg *v = s->svrg;
    const struct cc_task_config *c = &s->config->task;
    cc_svrg_draw(c->seed, s->log.step, worker, v->f.samples->count, c->batch, v->row);
    const struct cc_model_score score =
        cc_svrg_vector(&v->f, v->row, c->batch, s->weights, v->anchor, v->full, v->room,
                       s->gradients + worker * s->values);
    return (struct cc_training_batch){score.loss, (double)score.correct};
}

void cc_training_svrg_end(struct cc_training *s)
{
    const size_t steps = s->config->svrg_steps;
    for (size_t j = 0; j < s->values && (s->log.step + 1) % steps == 0; j++)
        s->weights[j] = (float)(s->svrg->sum[j] / (double)steps);
}
