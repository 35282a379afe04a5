/* Trainings whose steps are not bulk synchronous, by simulated clocks (struct
 * cc_inprocess_clocks). The server applies the optimizer to each push as it arrives; a worker
 * computes with its own copy of the parameters. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/format/crc32.h"
#include "core/interrupt.h"
#include "core/memory.h"
#include "netsim/inprocess/training_impl.h"

struct state {
    struct cc_training *s;
    struct cc_inprocess_clocks clocks;
    double *ready;
    size_t step; /* computed last */
    double loss; /* the steps' since the last progress */
    uint64_t computed;
    struct cc_inprocess_figures figures; /* at the latest evaluation */
};

/* --- steps --- */

static void show(struct state *x)
{
    const size_t workers = x->s->config->task.workers;
    if (++x->computed % workers != 0)
        return;
    cc_training_show(x->s, 1, x->loss / (double)workers);
    x->loss = 0;
}

static int compute(void *arg, size_t w, size_t step, struct cc_error *e)
{
    struct state *x = arg;
    struct cc_training *s = x->s;
    const struct cc_training_config *c = s->config;
    const double workers = (double)c->task.workers;
    char reason[CC_DIVERGED_TEXT];
    const struct cc_model_score score =
        cc_task_gradient(s->task, step, w, x->clocks.copy + w * s->values,
                         s->worker_stats + w * s->layout->stats, s->gradients);
    cc_element_round(c->dtype, s->gradients, s->values);
    s->log.sum.train_loss += score.loss / workers;
    s->log.sum.train_accuracy +=
        (double)score.correct / (workers * (double)(c->task.batch * s->layout->labels));
    x->loss += score.loss;
    x->step = step;
    show(x);
    return cc_loss_diverged(score.loss, w, reason) ? cc_diverged(e, "%s", reason) : CC_OK;
}

static int update(void *arg, uint64_t step, uint64_t updates, size_t from, size_t to, float *push,
                  struct cc_error *e)
{
    struct cc_training *s = ((struct state *)arg)->s;
    (void)e;
    cc_learner_update(&s->learner, from, to, step, updates, push, s->server);
    return CC_OK;
}

/* --- opening --- */

/* When a message is computed, as a share of the step. */
static double ready_at(const struct cc_training *s, const struct cc_message *m)
{
    const struct cc_training_clocks *k = &s->config->clocks;
    double backward = 0;
    if (s->config->mode == CC_SEQUENTIAL || m->first == 0)
        return 1;
    for (size_t i = m->first; i < s->job.tensors; i++)
        backward += k->share[i];
    return fmin(1, k->forward_share + (1 - k->forward_share) * backward);
}

static int open_state(struct state *x, struct cc_error *e)
{
    struct cc_training *s = x->s;
    const struct cc_training_config *c = s->config;
    const struct cc_job_row *row = s->job.row;
    const struct cc_inprocess_config config = {.job = &s->job,
                                               .row = row,
                                               .spec = c->spec,
                                               .raw = c->raw,
                                               .pull = c->pull,
                                               .serve = update,
                                               .clocks = &x->clocks,
                                               .arg = x};
    CC_TRY(CC_NEW(x->ready, row->messages, e));
    for (size_t i = 0; i < row->messages; i++)
        x->ready[i] = ready_at(s, &row->message[i]);
    x->clocks = (struct cc_inprocess_clocks){.links = c->clocks.links,
                                             .compute_s = c->clocks.compute_s,
                                             .slow = c->clocks.slow,
                                             .ready = x->ready,
                                             .gradient = s->gradients,
                                             .model = s->server,
                                             .compute = compute};
    CC_TRY(cc_alloc_floats(c->task.workers * s->values, &x->clocks.copy, e));
    for (size_t w = 0; w < c->task.workers; w++)
        memcpy(x->clocks.copy + w * s->values, s->server, s->values * sizeof *s->server);
    return cc_inprocess_open(&config, &s->exchange, e);
}

/* --- evaluations --- */

/* The figures since the evaluation before, of `steps` steps. */
static void sum_up(struct cc_training_log *l, const struct cc_inprocess_figures *before,
                   const struct cc_inprocess_figures *now, size_t workers, size_t steps)
{
    l->since = steps;
    l->sum.push_bytes = (double)(now->push_bytes - before->push_bytes);
    l->sum.pull_bytes = (double)(now->pull_bytes - before->pull_bytes) / (double)workers;
    l->sum.staleness = now->staleness;
    l->sum.staleness_p95 = now->staleness_p95;
    l->sum.wait_s = (now->wait_s - before->wait_s) / (double)workers;
    l->sum.updates = now->updates - before->updates;
    l->sum.clock_s = now->time_s;
}

/* Continues to the next evaluation. Values that are refused are divergence, as a loss is. */
static int run_to_evaluation(struct state *x, struct cc_error *e)
{
    struct cc_training *s = x->s;
    const struct cc_training_config *c = s->config;
    const size_t workers = c->task.workers, begun = (size_t)s->log.step;
    const size_t next = begun - begun % c->eval_every + c->eval_every;
    const size_t end = next < c->steps ? next : c->steps;
    const double since = cc_now();
    struct cc_error why = {""};
    const int status = cc_inprocess_run(s->exchange, (uint64_t)end * workers, &why);
    const struct cc_inprocess_figures now = cc_inprocess_figures(s->exchange);
    s->log.wall_s += cc_now() - since;
    s->log.step = now.ended / workers;
    if (status == CC_DIVERGED) {
        cc_training_diverge(s, why.text);
        s->out->diverged_step = x->step + 1;
        return CC_OK;
    }
    if (status != CC_OK)
        return cc_fail(e, "%s", why.text);
    if (s->log.step < end) /* interrupted */
        return CC_OK;
    sum_up(&s->log, &x->figures, &now, workers, end - begun);
    x->figures = now;
    memcpy(s->weights, x->clocks.copy, s->values * sizeof *s->weights);
    return cc_training_evaluate(s, e);
}

int cc_training_by_clocks(struct cc_training *s, struct cc_error *e)
{
    struct state x = {.s = s};
    int status = CC_OK;
    CC_TRY_OUT(open_state(&x, e));
    while (s->log.step < s->config->steps && !s->out->diverged && !cc_interrupted())
        CC_TRY_OUT(run_to_evaluation(&x, e));
    s->out->complete = !s->out->diverged && s->log.step == s->config->steps;
    s->out->weights_crc = cc_crc32(0, s->server, s->values * sizeof(float));
out:
    cc_inprocess_close(s->exchange);
    s->exchange = NULL;
    free(x.ready);
    free(x.clocks.copy);
    return status;
}
