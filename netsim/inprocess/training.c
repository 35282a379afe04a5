/* The steps of a training. All workers have the same parameters, as they receive the same bytes, so
 * there is one copy for them and, where servers send model deltas, one for the server. Gradients
 * are computed worker by worker; the exchange is netsim/inprocess.
 *
 * The running statistics of batch normalizations are not parameters, and no gradient depends on
 * them: each worker updates its own by its batch, and evaluations take their mean over the
 * workers. */
#include "netsim/inprocess/training.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/format/crc32.h"
#include "core/interrupt.h"
#include "core/memory.h"
#include "core/reduce.h"
#include "core/trace/trace_step.h"
#include "netsim/inprocess/training_impl.h"
#include "netsim/inprocess/training_job.h"
#include "netsim/job/training.h"
#include "train/linear/linear.h"

/* --- opening --- */

/* The clock of computing: processor time, which other trainings do not add to, where one thread
 * computes. */
static double clock_of(const struct cc_training *s)
{
    return s->config->task.threads == 1 ? cc_thread_now() : cc_now();
}

/* Turns the mean gradient into what workers pull: the change of the server's parameters, or what is
 * gathered of shards. */
static int serve(void *arg, uint64_t step, uint64_t updates, size_t from, size_t to, float *mean,
                 struct cc_error *e)
{
    struct cc_training *s = arg;
    (void)e;
    if (s->measures_push && s->server != NULL)
        cc_unsent_arrive(&s->unsent, from, to, mean);
    const double since = clock_of(s);
    if (s->config->shards != CC_SHARDS_NONE)
        cc_shard_update(&s->shard, from, to, step, updates, mean, s->weights,
                        s->config->shards == CC_SHARDS_DIFFERENCES);
    else if (s->config->deltas)
        cc_learner_change(&s->learner, from, to, step, updates, mean, s->server);
    s->log.sum.update_s += clock_of(s) - since;
    if (s->pulled != NULL)
        memcpy(s->pulled + from, mean, (to - from) * sizeof *mean);
    if (s->measures_pull)
        s->log.delta_sq += k_reduce()->sum_sq(mean, to - from);
    return CC_OK;
}

static int open_exchange(struct cc_training *s, struct cc_error *e)
{
    const struct cc_training_config *c = s->config;
    const struct cc_inprocess_config config = {
        .job = &s->job,
        .row = s->job.row,
        .spec = c->spec,
        .raw = c->raw,
        .pull = c->pull,
        .serve = s->server != NULL || s->pulled != NULL ? serve : NULL,
        .arg = s};
    if (c->collectives.count > 0)
        return cc_training_layers_open(s, e);
    return c->consistency == CC_BULK ? cc_inprocess_open(&config, &s->exchange, e) : CC_OK;
}

static int open_pipe(struct cc_training *s, struct cc_error *e)
{
    const size_t waiting = s->config->depth - 1;
    if (s->config->mode != CC_PIPE)
        return CC_OK;
    CC_TRY(CC_NEW(s->delayed, waiting, e));
    for (size_t i = 0; i < waiting; i++)
        CC_TRY(cc_alloc_floats(s->values, &s->delayed[i], e));
    return CC_OK;
}

static void close_pipe(struct cc_training *s)
{
    for (size_t i = 0; s->delayed != NULL && i + 1 < s->config->depth; i++)
        free(s->delayed[i]);
    free(s->delayed);
}

static int open_state(struct cc_training *s, struct cc_error *e)
{
    const struct cc_training_config *c = s->config;
    const size_t workers = c->task.workers;
    const bool bulk = c->consistency == CC_BULK;
    CC_TRY(cc_task_open(&c->task, &s->task, e));
    s->layout = cc_task_layout(s->task);
    s->values = s->layout->values;
    CC_TRY(cc_training_job(c, s->layout->tensors, s->layout->count, &s->job, e));
    struct cc_learner_config learner = cc_job_learner(&s->job, s->job.row);
    learner.layout = s->layout;
    learner.threads = c->task.threads;
    const bool shards = c->shards != CC_SHARDS_NONE;
    if (!shards)
        CC_TRY(cc_learner_open(&s->learner, &learner, c->deltas && bulk, e));
    s->out->epoch = cc_task_epoch(s->task);
    CC_TRY(cc_alloc_floats(s->values, &s->weights, e));
    CC_TRY(cc_alloc_floats((bulk ? workers : 1) * s->values, &s->gradients, e));
    CC_TRY(cc_alloc_floats(bulk ? s->values : 0, &s->mean, e));
    CC_TRY(open_pipe(s, e));
    CC_TRY(cc_alloc_floats(s->layout->stats, &s->stats, e));
    CC_TRY(cc_alloc_floats(workers * s->layout->stats, &s->worker_stats, e));
    CC_TRY(CC_NEW(s->gradient, workers, e));
    for (size_t i = 0; i < workers; i++) {
        s->gradient[i] = s->gradients + (bulk ? i : 0) * s->values;
        cc_task_init(s->task, s->weights, s->worker_stats + i * s->layout->stats);
    }
    if (c->local.steps > 0)
        CC_TRY(cc_training_local_open(s, e));
    if (c->svrg_steps > 0)
        CC_TRY(cc_training_svrg_open(s, e));
    if (shards) {
        const struct cc_shard_part all = {0, s->values};
        CC_TRY(cc_shard_open(&s->shard, &learner, &all, 1, s->weights, e));
        s->server = s->shard.weights;
    }
    if (c->deltas) {
        CC_TRY(cc_alloc_floats(s->values, &s->server, e));
        memcpy(s->server, s->weights, s->values * sizeof *s->server);
    }
    if (c->capture != NULL && cc_exchange_has(c->exchange, CC_X_SERVERS))
        CC_TRY(cc_alloc_floats(s->values, &s->pulled, e));
    /* Workers that do not send keep more than a residual, and a median norm scales what arrives. */
    s->measures_push = bulk && c->local.quorum == 0 && !c->local.median &&
                       cc_spec_has_feedback(c->spec) &&
                       !(cc_own_momentum(c->spec->scheme, c->spec->params) > 0);
    /* In a pipeline the workers' copy lacks what is under way, too. */
    s->measures_pull = bulk && c->deltas && cc_spec_has_feedback(c->pull) && c->mode != CC_PIPE;
    if (s->measures_push)
        CC_TRY(cc_unsent_open(&s->unsent, workers, s->values, e));
    return open_exchange(s, e);
}

static void close_state(struct cc_training *s)
{
    cc_inprocess_close(s->exchange);
    cc_training_layers_close(s);
    cc_unsent_close(&s->unsent);
    cc_task_close(s->task);
    cc_job_free(&s->job);
    free(s->weights);
    if (s->server != s->shard.weights)
        free(s->server);
    cc_shard_close(&s->shard);
    free(s->pulled);
    cc_learner_close(&s->learner);
    free(s->gradients);
    free(s->gradient);
    free(s->own);
    free(s->slope);
    free(s->mean);
    close_pipe(s);
    cc_training_svrg_close(s);
    free(s->stats);
    free(s->worker_stats);
}

/* --- a step --- */

static struct cc_training_batch compute_gradient(struct cc_training *s, size_t worker)
{
    const struct cc_model_score score = cc_task_gradient(
        s->task, (size_t)s->log.step, worker, s->weights,
        s->worker_stats + worker * s->layout->stats, s->gradients + worker * s->values);
    return (struct cc_training_batch){score.loss, (double)score.correct};
}

/* The gradients of all workers, or after local steps their differences, and the mean of their
 * losses. A loss that is too large is divergence. */
static double compute(struct cc_training *s)
{
    const struct cc_task_config *c = &s->config->task;
    const size_t workers = c->workers;
    const double since = clock_of(s);
    double sum = 0, correct = 0;
    for (size_t i = 0; i < workers; i++) {
        char text[CC_DIVERGED_TEXT];
        const struct cc_training_batch batch = s->own != NULL    ? cc_training_local_compute(s, i)
                                               : s->svrg != NULL ? cc_training_svrg_compute(s, i)
                                                                 : compute_gradient(s, i);
        cc_element_round(s->config->dtype, s->gradients + i * s->values, s->values);
        sum += batch.loss;
        correct += batch.correct;
        if (!s->out->diverged && cc_loss_diverged(batch.loss, i, text))
            cc_training_diverge(s, text);
    }
    s->log.sum.compute_s += (clock_of(s) - since) / (double)workers;
    s->log.sum.train_accuracy += correct / (double)(workers * c->batch * s->layout->labels);
    return sum / (double)workers;
}

/* Writes what a step has sent: the workers' gradients, and what the server has encoded. */
static int capture(const struct cc_training *s, bool sent, struct cc_error *e)
{
    const struct cc_training_config *c = s->config;
    if (c->capture == NULL || s->log.step < c->capture_from || s->log.step >= c->capture_to)
        return CC_OK;
    for (size_t i = 0; i < c->task.workers; i++)
        CC_TRY(cc_trace_write_flat(c->capture, (struct cc_trace_sender){CC_PUSH, (int64_t)i},
                                   s->log.step, s->layout->tensors, s->layout->count,
                                   s->gradient[i], e));
    if (!sent || s->pulled == NULL)
        return CC_OK;
    return cc_trace_write_flat(c->capture, (struct cc_trace_sender){CC_PULL, -1}, s->log.step,
                               s->layout->tensors, s->layout->count, s->pulled, e);
}

/* Sums up what has not arrived, of model deltas. */
static void measure_behind(struct cc_training *s)
{
    for (size_t i = 0; i < s->values; i++) {
        const double behind = (double)s->server[i] - (double)s->weights[i];
        s->log.behind_sq += behind * behind;
    }
}

/* Applies what the workers have received in a step: the mean gradient, or deltas, of the messages
 * that were sent. */
static void apply_received(struct cc_training *s, uint64_t step, float *received)
{
    for (size_t i = 0; i < s->job.row->messages; i++)
        cc_training_apply(&s->job, s->job.row, i, step, s->server != NULL ? NULL : &s->learner,
                          received, s->weights);
}

/* Pipe-SGD (Li et al., NeurIPS 2018, Algorithm 1) in one process: with K steps under way, step t is
 * computed with parameters to which the results of the steps up to t - K have been applied, where
 * synchronous steps have those up to t - 1. Here the exchange of a step ends within it, and its
 * result waits for K - 1 steps.
 *
 * The first steps may be synchronous, as in the paper's section 4, where deep nets begin without
 * the pipeline. After the last step everything is applied, so that trainings of any K have as many
 * updates: the paper's algorithm ends with the last K results unused. The result of step t is
 * applied with the learning rate of step t. */
static void apply_piped(struct cc_training *s)
{
    const uint64_t step = s->log.step, ended = step + 1;
    const uint64_t until = ended - cc_job_delayed(&s->job, s->job.row, ended);
    const size_t waiting = s->config->depth - 1;
    for (; s->applied < until && s->applied < step; s->applied++)
        apply_received(s, s->applied, s->delayed[s->applied % waiting]);
    if (s->applied < until)
        apply_received(s, s->applied++, s->mean);
    else { /* what was there has been applied */
        float *const zeros = s->delayed[step % waiting];
        s->delayed[step % waiting] = s->mean;
        s->mean = zeros;
    }
}

/* Exchanges the gradients and updates the parameters. Values that are refused, as they or their sum
 * with the residual are not finite, are divergence. */
static int exchange(struct cc_training *s, struct cc_error *e)
{
    const struct cc_training_config *c = s->config;
    struct cc_inprocess_step sent = {.sent = false};
    const bool pipe = c->mode == CC_PIPE;
    float *result = c->deltas && !pipe ? s->weights : s->mean;
    struct cc_error why = {""};
    if (s->measures_push)
        cc_unsent_begin(&s->unsent, s->gradient);
    const int status = s->layers != NULL ? cc_training_layers_reduce(s, &why)
                                         : cc_inprocess_exchange(s->exchange, s->log.step,
                                                                 s->gradient, result, &sent, &why);
    if (status == CC_DIVERGED) {
        cc_training_diverge(s, why.text);
        return CC_OK;
    }
    if (status != CC_OK)
        return cc_fail(e, "%s", why.text);
    if (s->measures_push && s->server == NULL) /* otherwise `serve` has seen the mean */
        cc_unsent_arrive(&s->unsent, 0, s->values, s->mean);
    if (s->measures_push)
        cc_unsent_end(&s->unsent);
    if (pipe || (sent.sent && !c->deltas)) { /* not with layers, which are updated */
        const double since = clock_of(s);
        if (pipe)
            apply_piped(s);
        else
            apply_received(s, s->log.step, s->mean);
        s->log.sum.update_s += clock_of(s) - since;
    }
    if (s->measures_pull)
        measure_behind(s);
    CC_TRY(capture(s, sent.sent, e));
    s->log.sum.push_bytes += (double)sent.push_bytes;
    s->log.sum.pull_bytes += (double)sent.pull_bytes;
    s->log.sum.encode_s += sent.encode_s;
    s->log.sum.hop_s += sent.hop_s;
    s->log.sum.server_s += sent.server_s;
    s->log.sum.decode_s += sent.decode_s;
    return CC_OK;
}

/* Gathers the parameters that are divided. */
static int gather(struct cc_training *s, struct cc_error *e)
{
    struct cc_error why = {""};
    const int status = s->layers != NULL ? cc_training_layers_gather(s, &why) : CC_OK;
    if (status == CC_DIVERGED)
        cc_training_diverge(s, why.text);
    return status == CC_OK || status == CC_DIVERGED ? CC_OK : cc_fail(e, "%s", why.text);
}

static int step(struct cc_training *s, struct cc_error *e)
{
    const double since = cc_now();
    if (s->svrg != NULL)
        CC_TRY(cc_training_svrg_begin(s, e));
    CC_TRY(gather(s, e));
    const double loss = s->out->diverged ? (double)NAN : compute(s);
    s->log.sum.train_loss += loss;
    if (s->config->is_behind != NULL && !s->out->diverged)
        s->out->loss[s->out->losses++] = loss;
    const int status = s->out->diverged ? CC_OK : exchange(s, e);
    if (s->svrg != NULL)
        cc_training_svrg_end(s);
    s->log.wall_s += cc_now() - since;
    s->log.since++;
    cc_training_show(s, 1, loss);
    return status;
}

/* --- all steps --- */

/* Whether the last evaluation has reached the loss at which the training ends. */
static bool reaches(const struct cc_training *s)
{
    const size_t evals = s->log.evals;
    return evals > 0 && s->log.eval[evals - 1].loss <= s->config->target_loss;
}

/* Writes a checkpoint if one is due: after every checkpoint_every steps, at the end, and when
 * interrupted. */
static int save(struct cc_training *s, struct cc_error *e)
{
    const struct cc_training_config *c = s->config;
    const bool last = s->log.step == c->steps || reaches(s) || cc_interrupted();
    if (c->checkpoint == NULL || s->log.step == s->saved ||
        (s->log.step % c->checkpoint_every != 0 && !last))
        return CC_OK;
    return cc_training_save(s, e);
}

static int train(struct cc_training *s, struct cc_error *e)
{
    const struct cc_training_config *c = s->config;
    while (s->log.step < c->steps && !reaches(s) && !cc_interrupted()) {
        CC_TRY(step(s, e));
        if (s->out->diverged)
            return CC_OK;
        s->log.step++;
        if (s->log.step % c->eval_every == 0 || s->log.step == c->steps)
            CC_TRY(cc_training_evaluate(s, e));
        if (s->out->diverged)
            return CC_OK;
        if (c->is_behind != NULL && c->is_behind(c->arg, c, s->out->loss, s->out->losses)) {
            s->out->ended_step = (size_t)s->log.step;
            return CC_OK;
        }
        CC_TRY(save(s, e));
    }
    s->out->complete = s->log.step == c->steps || reaches(s);
    const float *copy = s->weights;
    if (s->layers != NULL)
        CC_TRY(cc_training_layers_copy(s, &copy, e));
    s->out->weights_crc = cc_crc32(0, copy, s->values * sizeof(float));
    return CC_OK;
}

int cc_training_run(const struct cc_training_config *config, struct cc_training_result *out,
                    struct cc_error *e)
{
    struct cc_training s = {.config = config, .out = out};
    int status = CC_OK;
    CC_TRY_OUT(open_state(&s, e));
    if (config->is_behind != NULL)
        CC_TRY_OUT(CC_NEW(out->loss, config->steps, e));
    if (config->resume) {
        CC_TRY_OUT(cc_training_load(&s, e));
        out->resumed = (size_t)s.log.step;
        memcpy(out->version, s.log.version, sizeof out->version);
        if (s.log.step > 0)
            cc_training_show(&s, (size_t)s.log.step,
                             s.log.evals > 0 ? s.log.eval[s.log.evals - 1].loss : NAN);
    }
    CC_TRY_OUT(config->consistency == CC_BULK ? train(&s, e) : cc_training_by_clocks(&s, e));
out:
    out->eval = s.log.eval;
    out->evals = s.log.evals;
    close_state(&s);
    return status;
}

void cc_training_free(struct cc_training_result *t)
{
    free(t->eval);
    free(t->loss);
    *t = (struct cc_training_result){0};
}
