/* Trains: gradients of a net on a data set, with the parameters that the exchange and the optimizer
 * leave. A sequential step is computed in one call; an overlapped one in a call for each message's
 * part, so that a message leaves as soon as the layers behind it are done; and one of a pipeline,
 * whose time is not given, in two calls for each tensor, between which messages make progress.
 *
 * Ranks that share a process, those of a simulation, share the data set and, where a step is
 * computed in one call, the memory of activations: nothing of it outlasts the call. Each rank has
 * parameters of its own. Ranks switch only where they wait, which no call here does. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "netsim/job/training.h"
#include "netsim/exchange/pack/pack.h"
#include "netsim/exchange/shards.h"
#include "netsim/rank/layers.h"
#include "netsim/rank/sources.h"
#include "train/shard.h"

/* All sources of a process, which have the same job. */
static struct {
    size_t users;
    struct cc_data *data;
    struct cc_task *task;
} shared;

struct training {
    struct cc_source head;
    const struct cc_job *job;
    const struct cc_job_row *row;
    int worker;                /* -1 - i: server i */
    struct cc_task *task;      /* its own, or shared.task */
    struct cc_task *evaluator; /* where steps overlap, made when it is needed */
    const struct cc_model_layout *layout;
    struct cc_learner learner;
    struct cc_shard shard;   /* in place of the learner, or nothing */
    struct cc_layers layers; /* where parameters are divided; or nothing */
    struct cc_emulated emulated;
    float *weights;
    float *stats, *stats_before; /* before_: at the beginning of the latest step */
    /* Workers: the gradient, and what comes back, where it is not added to the weights. Pipelines
     * have K of each, those of step t at t modulo K, the others one. */
    float *gradient[CC_JOB_DEPTH], *mean[CC_JOB_DEPTH];
    size_t buffers;
    float *delayed[CC_JOB_DEPTH];  /* the list of struct cc_source_learned */
    bool in_parts;                 /* a step is computed in many calls: */
    size_t forward, backward;      /* the number of tensors whose forward pass is done, and whose
                                      backward pass is not */
    struct cc_source_batch *batch; /* by step */
    /* Local steps: */
    struct cc_local_steps local;
    float *own, *slope; /* workers: cc_local_floats; a gradient. Or NULL */
    size_t made;        /* in the latest step */
    bool taken;         /* the results of the step before it */
    float *pulled;      /* the values that a server encoded last; NULL: nobody asks */
    uint64_t next;      /* the step that begins next */
    bool scored;        /* the latest step's loss is known */
    size_t rounded;     /* from this value on, the latest step's gradient has its type */
};

/* --- opening --- */

static int open_shared(const struct cc_job *job, struct cc_error *e)
{
    if (shared.users++ > 0)
        return shared.task != NULL ? CC_OK : cc_fail(e, "another rank has failed");
    CC_TRY(cc_task_data(job->training.net, job->training.data, &shared.data, e));
    const struct cc_task_config config = cc_job_task(job, shared.data);
    return cc_task_open(&config, &shared.task, e);
}

static void close_shared(void)
{
    if (--shared.users > 0)
        return;
    cc_task_close(shared.task);
    cc_data_free(shared.data);
    shared.task = NULL;
    shared.data = NULL;
}

/* The job's tensors must be the net's, which parameters are laid out by. */
static int check_layout(const struct training *t, struct cc_error *e)
{
    const struct cc_job *job = t->job;
    bool same = job->tensors == t->layout->count && cc_job_values(job) == t->layout->values;
    for (size_t i = 0; same && i < job->tensors; i++)
        same = job->offset[i] == t->layout->offset[i];
    return same ? CC_OK
                : cc_fail(e, "the job's tensors are not those of \"%s\" on \"%s\"",
                          job->training.net, job->training.data);
}

static int open_training(struct training *t, struct cc_error *e)
{
    const struct cc_job *job = t->job;
    CC_TRY(open_shared(job, e));
    t->task = shared.task;
    t->buffers = job->mode == CC_PIPE ? t->head.in_flight : 1;
    t->in_parts = job->mode == CC_PIPE && !t->head.emulated;
    const bool by_message =
        job->sharded.collectives > 0 || (job->mode == CC_OVERLAP && job->training.local.steps == 0);
    if ((by_message || t->in_parts) && t->worker >= 0) {
        const struct cc_task_config config = cc_job_task(job, shared.data);
        CC_TRY(cc_task_open(&config, &t->task, e));
    }
    t->layout = cc_task_layout(t->task);
    CC_TRY(check_layout(t, e));
    CC_TRY(cc_alloc_floats(t->layout->values, &t->weights, e));
    CC_TRY(cc_alloc_floats(t->layout->stats, &t->stats, e));
    CC_TRY(cc_alloc_floats(t->layout->stats, &t->stats_before, e));
    if (t->worker < 0)
        return job->training.capture != NULL ? cc_alloc_floats(t->layout->values, &t->pulled, e)
                                             : CC_OK;
    for (size_t i = 0; i < t->buffers; i++) {
        CC_TRY(cc_alloc_floats(t->layout->values, &t->gradient[i], e));
        if (job->mode == CC_PIPE || !job->training.deltas)
            CC_TRY(cc_alloc_floats(t->layout->values, &t->mean[i], e));
    }
    return CC_OK;
}

static void close_training(struct cc_source *s)
{
    struct training *t = (struct training *)s;
    if (t->task != shared.task)
        cc_task_close(t->task);
    cc_task_close(t->evaluator);
    cc_learner_close(&t->learner);
    cc_layers_close(&t->layers);
    cc_shard_close(&t->shard);
    free(t->weights);
    free(t->stats);
    free(t->stats_before);
    for (size_t i = 0; i < t->buffers; i++) {
        free(t->gradient[i]);
        free(t->mean[i]);
    }
    free(t->batch);
    free(t->pulled);
    free(t->own);
    free(t->slope);
    free(t);
    close_shared();
}

/* --- a row --- */

/* Sets those values of a flat step to 0 that other servers keep. */
static int keep_own(struct training *t, float *x, struct cc_error *e)
{
    const int server = -1 - t->worker;
    float *kept;
    CC_TRY(cc_alloc_floats(t->layout->values, &kept, e));
    int status = CC_OK;
    for (size_t i = 0; i < t->row->messages; i++) {
        struct cc_slice *slice;
        size_t slices;
        CC_TRY_OUT(cc_kept_slices(t->job, &t->row->message[i], server, &slice, &slices, e));
        for (size_t k = 0; k < slices; k++) {
            const size_t at = t->job->offset[slice[k].tensor] + slice[k].begin;
            memcpy(kept + at, x + at, slice[k].count * sizeof *kept);
        }
        free(slice);
    }
    memcpy(x, kept, t->layout->values * sizeof *kept);
out:
    free(kept);
    return status;
}

static int begin_local(struct training *t, struct cc_error *e)
{
    t->local = cc_job_local(t->job, t->row);
    t->local.inner.layout = t->layout;
    free(t->own);
    free(t->slope);
    t->own = t->slope = NULL;
    CC_TRY(cc_alloc_floats(cc_local_floats(&t->local), &t->own, e));
    memcpy(t->own, t->weights, t->layout->values * sizeof *t->own);
    return cc_alloc_floats(t->layout->values, &t->slope, e);
}

static bool has_shards(const struct training *t)
{
    return t->job->training.shards != CC_SHARDS_NONE;
}

/* Takes the values of each message that the rank owns. */
static int begin_shard(struct training *t, const struct cc_learner_config *config,
                       struct cc_error *e)
{
    struct cc_shard_part *part;
    cc_layers_close(&t->layers);
    cc_shard_close(&t->shard);
    CC_TRY(cc_shards_parts(t->job, t->row, t->worker, &part, e));
    const int status = cc_shard_open(&t->shard, config, part, t->row->messages, t->weights, e);
    free(part);
    return status != CC_OK || t->job->sharded.collectives == 0
               ? status
               : cc_layers_open(&t->layers, t->job, t->row, t->worker, t->layout, &t->shard,
                                t->weights, e);
}

static int begin_row(struct cc_source *s, const struct cc_job_row *row, struct cc_error *e)
{
    struct training *t = (struct training *)s;
    const bool serves = t->worker < 0, deltas = t->job->training.deltas;
    struct cc_learner_config config = cc_job_learner(t->job, row);
    config.layout = t->layout;
    t->row = row;
    t->emulated = cc_emulated_make(t->job, row, t->worker);
    t->next = 0;
    free(t->batch);
    CC_TRY(CC_NEW(t->batch, row->steps, e));
    cc_task_init(t->task, t->weights, t->stats);
    if (t->job->training.local.steps > 0 && !serves)
        CC_TRY(begin_local(t, e));
    cc_learner_close(&t->learner);
    if (has_shards(t))
        return begin_shard(t, &config, e);
    if (serves == deltas)
        CC_TRY(cc_learner_open(&t->learner, &config, deltas, e));
    return serves && deltas ? keep_own(t, t->weights, e) : CC_OK;
}

/* --- steps --- */

static void begin_step(struct training *t, uint64_t step)
{
    if (step < t->next)
        return;
    t->next = step + 1;
    t->scored = false;
    t->rounded = cc_job_values(t->job);
    t->forward = 0;
    t->backward = t->layout->count;
    t->made = 0;
    t->taken = false;
    memcpy(t->stats_before, t->stats, t->layout->stats * sizeof *t->stats);
    if (t->own == NULL)
        cc_task_begin(t->task, (size_t)step, (size_t)t->worker);
}

/* The backward pass down to tensor `first`, after the rest of the forward pass. */
static int backward(struct training *t, uint64_t step, size_t first, struct cc_error *e)
{
    char why[CC_DIVERGED_TEXT];
    if (!t->scored) {
        cc_task_forward(t->task, t->weights, t->stats, t->layout->count);
        const struct cc_model_score score = cc_task_score(t->task);
        t->scored = true;
        t->batch[step] = (struct cc_source_batch){score.loss, (double)score.correct};
        if (cc_loss_diverged(score.loss, (size_t)t->worker, why))
            return cc_diverged(e, "%s", why);
    }
    float *gradient = t->gradient[step % t->buffers];
    cc_task_backward(t->task, t->weights, gradient, first);
    const size_t from = t->job->offset[first];
    if (from < t->rounded) {
        cc_element_round(t->job->dtype, gradient + from, t->rounded - from);
        t->rounded = from;
    }
    return CC_OK;
}

/* The next tensor's pass of a step. */
static int compute_part(struct training *t, uint64_t step, bool *done, struct cc_error *e)
{
    *done = false;
    if (t->forward < t->layout->count) {
        cc_task_forward(t->task, t->weights, t->stats, ++t->forward);
        return CC_OK;
    }
    CC_TRY(backward(t, step, --t->backward, e));
    *done = t->backward == 0;
    return CC_OK;
}

/* Makes one local step of those of a part, if any are left. */
static int compute_local(struct training *t, uint64_t step, enum cc_compute_part part,
                         struct cc_source_progress *out, struct cc_error *e)
{
    const size_t steps = t->local.config.steps;
    const size_t until = part == CC_COMPUTE_AHEAD ? t->local.config.delay : steps;
    const uint64_t at = step * steps + t->made;
    char why[CC_DIVERGED_TEXT];
    if (part == CC_COMPUTE_STEP && !t->taken)
        cc_training_take(t->job, t->row, &t->local, step, t->weights, t->own);
    t->taken |= part == CC_COMPUTE_STEP;
    out->seconds = 0;
    if (t->made < until) {
        const struct cc_model_score score = cc_local_step(
            &t->local, t->task, (size_t)at, (size_t)t->worker, t->own, t->stats, t->slope);
        out->seconds = cc_emulated_compute_s(&t->emulated, at, CC_COMPUTE_STEP, NULL);
        t->batch[step].loss += score.loss;
        t->batch[step].correct += (double)score.correct;
        t->made++;
    }
    out->done = t->made >= until;
    if (part != CC_COMPUTE_STEP || !out->done)
        return CC_OK;
    cc_training_difference(t->job, t->row, step, t->weights, t->own, t->gradient[0]);
    cc_training_keep(t->job, &t->local, step, t->worker, t->own, t->gradient[0]);
    cc_element_round(t->job->dtype, t->gradient[0], cc_job_values(t->job));
    t->batch[step].loss /= (double)steps;
    t->batch[step].correct /= (double)steps;
    if (cc_loss_diverged(t->batch[step].loss, (size_t)t->worker, why))
        return cc_diverged(e, "%s", why);
    return CC_OK;
}

static int compute(struct cc_source *s, uint64_t step, enum cc_compute_part part,
                   const struct cc_message *m, struct cc_source_progress *out, struct cc_error *e)
{
    struct training *t = (struct training *)s;
    begin_step(t, step);
    if (t->own != NULL)
        return compute_local(t, step, part, out, e);
    out->seconds = cc_emulated_compute_s(&t->emulated, step, part, m);
    if (t->in_parts)
        return compute_part(t, step, &out->done, e);
    if (part != CC_COMPUTE_FORWARD)
        CC_TRY(backward(t, step, part == CC_COMPUTE_STEP ? 0 : m->first, e));
    else
        cc_task_forward(t->task, t->weights, t->stats, m->last + 1);
    if (t->layers.job != NULL)
        cc_layers_used(&t->layers, m, part == CC_COMPUTE_FORWARD);
    return CC_OK;
}

static struct cc_source_buffers buffers(struct cc_source *s, uint64_t step)
{
    const struct training *t = (const struct training *)s;
    float *mean = t->mean[step % t->buffers];
    return (struct cc_source_buffers){.gradient = t->gradient[step % t->buffers],
                                      .result = mean != NULL ? mean : t->weights,
                                      .parameters = t->layers.sent,
                                      .gathered = t->layers.gathered,
                                      .partial = t->layers.partial};
}

/* Model deltas have been added by the exchange, but in a pipeline. */
static int apply(struct cc_source *s, int64_t step, const struct cc_message *m,
                 struct cc_source_progress *out, struct cc_error *e)
{
    struct training *t = (struct training *)s;
    (void)e;
    out->seconds = 0;
    if (step < 0)
        return CC_OK;
    float *mean = t->mean[(uint64_t)step % t->buffers];
    if (t->layers.job != NULL) {
        cc_layers_update(&t->layers, (uint64_t)step, mean);
        return CC_OK;
    }
    for (size_t i = 0; i < t->row->messages && mean != NULL; i++)
        if (m == NULL || m == &t->row->message[i])
            cc_training_apply(t->job, t->row, i, (uint64_t)step,
                              t->job->training.deltas || has_shards(t) ? NULL : &t->learner, mean,
                              t->weights);
    return CC_OK;
}

static void arrived(struct cc_source *s, const struct cc_collective *of,
                    const struct cc_message *unit)
{
    struct training *t = (struct training *)s;
    if (t->layers.job != NULL)
        cc_layers_arrived(&t->layers, of, unit);
}

double cc_source_square(struct cc_source *s)
{
    const struct training *t = (const struct training *)s;
    return cc_layers_square(&t->layers, t->mean[0]);
}

void cc_source_clip(struct cc_source *s, float by)
{
    const struct training *t = (const struct training *)s;
    cc_layers_clip(&t->layers, by, t->mean[0]);
}

const float *cc_source_copy(struct cc_source *s)
{
    return cc_layers_copy(&((struct training *)s)->layers);
}

void cc_source_forget(struct cc_source *s)
{
    cc_layers_forget(&((struct training *)s)->layers);
}

static int serve(struct cc_source *s, uint64_t step, uint64_t updates, size_t from, size_t to,
                 float *mean, struct cc_error *e)
{
    struct training *t = (struct training *)s;
    (void)e;
    if (has_shards(t))
        cc_shard_update(&t->shard, from, to, step, updates, mean, t->weights,
                        t->job->training.shards == CC_SHARDS_DIFFERENCES);
    else if (t->job->training.deltas)
        cc_learner_change(&t->learner, from, to, step, updates, mean, t->weights);
    if (t->pulled != NULL)
        memcpy(t->pulled + from, mean, (to - from) * sizeof *mean);
    return CC_OK;
}

/* --- evaluation --- */

/* The floats of the optimizer's state, on ranks that apply it. */
static size_t optimizer_count(const struct training *t)
{
    return t->learner.config.layout == NULL
               ? 0
               : cc_optimizer_state(&t->learner.config.optimizer, t->layout->values);
}

/* Where steps overlap, the forward pass of the next one may have changed the statistics. */
struct cc_source_learned cc_source_learned(struct cc_source *s)
{
    struct training *t = (struct training *)s;
    const bool pipe = t->job->mode == CC_PIPE && t->worker >= 0;
    const bool begun = t->next > s->ended && !pipe;
    const size_t delayed = pipe ? (size_t)(s->begun - s->ended) : 0;
    for (size_t i = 0; i < delayed; i++)
        t->delayed[i] = t->mean[(s->ended + i) % t->buffers];
    return (struct cc_source_learned){.weights = t->weights,
                                      .values = t->layout->values,
                                      .stats = begun ? t->stats_before : t->stats,
                                      .stat_count = t->layout->stats,
                                      .optimizer = t->learner.state,
                                      .optimizer_count = optimizer_count(t),
                                      .batch = t->batch,
                                      .own = t->own,
                                      .own_count = t->own != NULL ? cc_local_floats(&t->local) : 0,
                                      .pulled = t->pulled,
                                      .delayed = t->delayed,
                                      .delayed_count = delayed,
                                      .shard = has_shards(t) ? &t->shard : NULL};
}

int cc_source_restore(struct cc_source *s, uint64_t steps, const struct cc_source_learned *to,
                      struct cc_error *e)
{
    struct training *t = (struct training *)s;
    const size_t values = t->layout->values, state = optimizer_count(t);
    s->begun = t->next = steps;
    s->ended = steps - to->delayed_count;
    for (size_t i = 0; i < to->delayed_count && t->worker >= 0; i++)
        memcpy(t->mean[(s->ended + i) % t->buffers], to->delayed[i], values * sizeof(float));
    memcpy(t->weights, to->weights, values * sizeof *t->weights);
    if (t->worker >= 0)
        memcpy(t->stats, to->stats, t->layout->stats * sizeof *t->stats);
    if (t->own != NULL)
        memcpy(t->own, to->own, to->own_count * sizeof *t->own);
    if (has_shards(t))
        cc_shard_set(&t->shard, to->main, to->optimizer);
    if (t->layers.job != NULL)
        cc_layers_begin(&t->layers);
    if (state > 0)
        memcpy(t->learner.state, to->optimizer, state * sizeof *t->learner.state);
    for (size_t i = 0; i < state && t->worker < 0; i += values)
        CC_TRY(keep_own(t, t->learner.state + i, e));
    return t->worker < 0 && t->job->training.deltas ? keep_own(t, t->weights, e) : CC_OK;
}

/* Where steps overlap, the next one is half computed in t->task. */
int cc_source_score(struct cc_source *s, const float *workers, const float *servers,
                    const float *stats, struct cc_evaluation *out, struct cc_error *e)
{
    struct training *t = (struct training *)s;
    const struct cc_task_config config = cc_job_task(t->job, shared.data);
    const bool busy = t->task != shared.task;
    if (busy && t->evaluator == NULL)
        CC_TRY(cc_task_open(&config, &t->evaluator, e));
    return cc_training_score(busy ? t->evaluator : t->task, workers, servers, stats, out, e);
}

/* --- all of it --- */

int cc_source_training_open(const struct cc_source_config *config, struct cc_source **out,
                            struct cc_error *e)
{
    static const struct cc_source_ops ops = {.begin_row = begin_row,
                                             .compute = compute,
                                             .buffers = buffers,
                                             .apply = apply,
                                             .close = close_training,
                                             .arrived = arrived,
                                             .serve = serve};
    const struct cc_job *job = config->job;
    int status = CC_OK;
    struct training *t;
    CC_TRY(CC_NEW(t, 1, e));
    *t = (struct training){.head = {.ops = &ops,
                                    .name = "training",
                                    .serves = job->training.shards != CC_SHARDS_NONE ||
                                              (job->servers > 0 && (job->training.deltas ||
                                                                    job->training.capture != NULL)),
                                    .emulated = job->training.emulated,
                                    .in_flight = config->in_flight},
                           .job = job,
                           .worker = config->worker};
    CC_TRY_OUT(open_training(t, e));
    *out = &t->head;
out:
    if (status != CC_OK)
        close_training(&t->head);
    return status;
}
