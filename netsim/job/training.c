/* The training of a job: the table of its fields, which parses, writes and documents them, and both
 * directions between these fields and the structs of train/ and netsim/inprocess. */
#include "netsim/job/training.h"

#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "netsim/job/job_table.h"

/* --- its fields --- */

#define MOST_SIZE  (1 << 20)
#define MOST_STEPS 1e9
#define MOST_RATE  1e6
#define MOST_COUNT (0x1p53 - 1)

#define AT(type, member)       CC_MEMBER(type, struct cc_job_training, member)
#define TASK(type, of, member) #member, type, AT(of, task.member)
#define SIZE(member)           CC_SIZE(struct cc_job_training, member)
#define BOOL(member)           CC_BOOL(struct cc_job_training, member)
#define TEXT(member)           CC_TEXT(struct cc_job_training, member)
#define WITH_LOCAL_STEPS       .when = has_local_steps, .condition = "with `local_steps`"

const char *const cc_shards_names[] = {"no", "weights", "differences", NULL};

/* clang-format off */
CC_JOB_CONDITION(has_stages, cc_exchange_has(job->exchange, CC_X_STAGES))
CC_JOB_CONDITION(has_servers, job->servers > 0)
CC_JOB_CONDITION(has_local_steps, job->training.local.steps > 0)
CC_JOB_CONDITION(has_checkpoint, job->training.checkpoint != NULL)
CC_JOB_CONDITION(has_capture, job->training.capture != NULL)
CC_JOB_CONDITION(is_pipe, job->mode == CC_PIPE)
/* clang-format on */

static const struct cc_field training_fields[] = {
    {TEXT(net), .help = "As `--net` of `commcomp train`."},
    {TEXT(data), .help = "As `--data`; every rank opens it, so its files are on every host."},
    {TASK(CC_FIELD_SIZE, size_t, height), 1, MOST_SIZE, .help = "Height of the net's input."},
    {TASK(CC_FIELD_SIZE, size_t, width), 1, MOST_SIZE, .help = "Width of the net's input."},
    {TASK(CC_FIELD_SIZE, size_t, batch), 1, MOST_SIZE, .help = "Samples of a worker in a step."},
    {TASK(CC_FIELD_SIZE, size_t, by_class), 0, 1000, .optional = true,
     .help = "Shards of a worker, sorted by class; 0: all samples are shuffled in every epoch."},
    {TASK(CC_FIELD_BOOL, bool, flip), .optional = true,
     .help = "Whether every second training image is mirrored."},
    {TASK(CC_FIELD_SIZE, size_t, shift), 0, 1024, .optional = true,
     .help = "Pixels by which training images are shifted at random, at most."},
    {"optimizer", CC_FIELD_WORD, offsetof(struct cc_job_training, optimizer.kind),
     .words = cc_optimizer_names, .help = "The optimizer."},
    {"momentum", CC_FIELD_FLOAT, AT(float, optimizer.momentum), 0, 1, .optional = true,
     .help = "`sgd`, `signum`: the momentum."},
    {"nesterov", CC_FIELD_BOOL, AT(bool, optimizer.nesterov), .optional = true,
     .help = "`sgd`: whether it is Nesterov's."},
    {"decay", CC_FIELD_FLOAT, AT(float, optimizer.decay), 0, 1, .optional = true,
     .help = "Decay of weights."},
    {"beta1", CC_FIELD_FLOAT, AT(float, optimizer.beta[0]), 0, 1, .optional = true,
     .help = "`adam`, `adamw`: of the mean gradient."},
    {"beta2", CC_FIELD_FLOAT, AT(float, optimizer.beta[1]), 0, 1, .optional = true,
     .help = "`adam`, `adamw`: of its mean square."},
    {"small", CC_FIELD_FLOAT, AT(float, optimizer.small), 0, 1, .optional = true,
     .help = "`adam`, `adamw`: added to the root."},
    {"clip", CC_FIELD_NUMBER, AT(double, clip), 0, MOST_RATE, .optional = true,
     .help = "The norm to which the mean gradient of all tensors, or a local step's gradient, is "
             "clipped; 0: it is not."},
    {TASK(CC_FIELD_NUMBER, double, l2), 0, 1, .optional = true,
     .help = "Linear models: the objective's `l2`."},
    {TASK(CC_FIELD_SIZE, size_t, coordinates), 0, MOST_COUNT, .optional = true,
     .help = "`logreg`: coordinates of a worker in a step of coordinate descent; 0: gradients."},
    {"schedule", CC_FIELD_WORD, offsetof(struct cc_job_training, rate.kind), .words = cc_rate_names,
     .help = "The learning rate over the steps."},
    {"rate", CC_FIELD_NUMBER, AT(double, rate.rate), 0, MOST_RATE,
     .help = "The learning rate, at its highest."},
    {"last", CC_FIELD_NUMBER, AT(double, rate.last), 0, MOST_RATE, .optional = true,
     .help = "`cosine`: the last rate."},
    {"factor", CC_FIELD_NUMBER, AT(double, rate.factor), 0, 1, .optional = true,
     .help = "`step`: by which the rate drops."},
    {"warmup", CC_FIELD_UINT64, AT(uint64_t, rate.warmup), 0, MOST_STEPS, .optional = true,
     .help = "Steps in which the rate grows linearly."},
    {"drop", CC_FIELD_LIST, AT(uint64_t *, drop), 0, CC_RATE_DROPS, .table = &cc_whole_numbers,
     .item = "number", .count = AT(size_t, drops), .optional = true,
     .help = "`step`: the steps from which on it drops."},
    {"local_steps", CC_FIELD_SIZE, AT(size_t, local.steps), 0, MOST_STEPS, .optional = true,
     .help =
         "Steps that every worker makes on parameters of its own from one exchange to the next: "
         "a step of the row is that many, `eval_every` and `checkpoint_every` count those of the "
         "row, and `warmup` and `drop` local steps. 0: gradients are exchanged."},
    {"local_parts", CC_FIELD_SIZE, AT(size_t, local.parts), 1, MOST_SIZE, WITH_LOCAL_STEPS,
     .help =
         "Parts of the net, which are exchanged in turn: as many as the row has messages, or 1."},
    {"local_delay", CC_FIELD_SIZE, AT(size_t, local.delay), 0, MOST_STEPS, WITH_LOCAL_STEPS,
     .help = "Local steps that are made beside an exchange, before its results are taken: up to "
             "`local_steps`, and above 0 where `mode` is `overlap`."},
    {"local_mix", CC_FIELD_NUMBER, AT(double, local.mix), 0, 1, WITH_LOCAL_STEPS,
     .help = "With a delay, the share of a worker's own parameters that it keeps then."},
    {"outer_rate", CC_FIELD_NUMBER, AT(double, local.outer_rate), 0, MOST_RATE, WITH_LOCAL_STEPS,
     .help = "The learning rate of the outer optimizer, which applies the mean of the workers' "
             "differences to the shared parameters."},
    {"outer_momentum", CC_FIELD_FLOAT, AT(float, local.outer.momentum), 0, 1, WITH_LOCAL_STEPS,
     .help = "Its momentum."},
    {"outer_nesterov", CC_FIELD_BOOL, AT(bool, local.outer.nesterov), WITH_LOCAL_STEPS,
     .help = "Whether that is Nesterov's."},
    {"local_quorum", CC_FIELD_SIZE, AT(size_t, local.quorum), 0, MOST_SIZE, .optional = true,
     WITH_LOCAL_STEPS,
     .help = "Workers that send in an exchange, drawn for each; the others keep their difference, "
             "and send it with the next. 0: all."},
    {"local_beta", CC_FIELD_NUMBER, AT(double, local.beta), 0, 1, .optional = true,
     WITH_LOCAL_STEPS,
     .help = "The factor of such a difference in each exchange in which it is kept."},
    {"local_median", CC_FIELD_BOOL, AT(bool, local.median), .optional = true, WITH_LOCAL_STEPS,
     .help = "Whether what each worker sends is scaled to the median norm of those that send."},
    {BOOL(deltas), .when = has_servers, .condition = "with servers",
     .help = "Whether servers apply the optimizer and send the change of the parameters; else they "
             "send the mean gradient, and every worker applies it."},
    {"shards", CC_FIELD_WORD, offsetof(struct cc_job_training, shards), .words = cc_shards_names,
     .optional = true, .when = has_stages, .condition = "if the exchange has stages",
     .help =
         "Whether each worker keeps the parameters and the optimizer's state of a part of the "
         "values alone, and all gather the parameters, or their differences to the copy that "
         "all have, by the scheme `gather`, or with `sharded` by its `weights`; missing: `no`."},
    {TEXT(pull), .optional = true, .when = has_servers, .condition = "with servers",
     .help = "The scheme of what servers send, if it is not the row's."},
    {BOOL(emulated),
     .help = "Whether a step's computing takes `compute_s`, or more if it really does, and its "
             "update no time; else they take what they really take."},
    {SIZE(depth), 2, CC_JOB_DEPTH, .when = is_pipe, .condition = "with `mode` `\"pipe\"`",
     .help = "Pipe-SGD's K: the gradients that a step is computed with are K - 1 steps old."},
    {SIZE(sync_steps), 0, MOST_STEPS, .optional = true, .when = is_pipe,
     .condition = "with `mode` `\"pipe\"`",
     .help = "Steps at the beginning after which the exchange is waited for, before the pipeline "
             "begins."},
    {SIZE(eval_every), 1, MOST_STEPS,
     .help = "Steps from one evaluation to the next; there is one after the last step."},
    {SIZE(resumed), 0, MOST_STEPS, .optional = true,
     .help = "Steps that have ended before, after which `checkpoint` was written: the training "
             "continues from it. 0: it begins."},
    {TEXT(checkpoint), .optional = true,
     .help = "The file that rank 0 writes a checkpoint to ([train.md](train.md#checkpoints))."},
    {SIZE(checkpoint_every), 1, MOST_STEPS, .when = has_checkpoint,
     .condition = "with `checkpoint`",
     .help = "Steps from one checkpoint to the next; there is one after the last step."},
    {TEXT(settings), .when = has_checkpoint, .condition = "with `checkpoint`",
     .help = "All that decides the weights, as the checkpoint has it, a line each."},
    {TEXT(capture), .optional = true,
     .help = "The folder that gradients are written to as a trace: each worker writes its own, and "
             "rank 0 what the servers send."},
    {SIZE(capture_from), 0, MOST_STEPS, .when = has_capture, .condition = "with `capture`",
     .help = "The first step that is written."},
    {SIZE(capture_to), 1, MOST_STEPS, .when = has_capture, .condition = "with `capture`",
     .help = "The step after the last one that is written."},
};

const struct cc_table cc_job_training_table =
    CC_TABLE("`training`", training_fields, struct cc_job_training);

/* --- what it describes --- */

int cc_job_set_training(struct cc_job *job, const struct cc_task_config *task,
                        const struct cc_optimizer *optimizer, const struct cc_rate_schedule *rate,
                        double clip, struct cc_error *e)
{
    struct cc_job_training *t = &job->training;
    t->net = cc_strdup(task->net, e);
    t->data = cc_strdup(task->data->name, e);
    t->task = *task;
    t->optimizer = *optimizer;
    t->rate = *rate;
    t->clip = clip;
    t->drops = rate->drop_count;
    if (t->net == NULL || t->data == NULL)
        return CC_FAIL;
    CC_TRY(CC_NEW(t->drop, CC_RATE_DROPS, e));
    memcpy(t->drop, rate->drops, rate->drop_count * sizeof *t->drop);
    return CC_OK;
}

struct cc_task_config cc_job_task(const struct cc_job *job, const struct cc_data *data)
{
    struct cc_task_config c = job->training.task;
    c.net = job->training.net;
    c.data = data;
    c.workers = (size_t)job->workers;
    c.seed = job->seed;
    c.threads = 1;
    return c;
}

/* The optimizer of gradients, with its schedule. */
static struct cc_learner_config gradient_learner(const struct cc_job *job,
                                                 const struct cc_job_row *row)
{
    const struct cc_job_training *t = &job->training;
    struct cc_learner_config c = {
        .optimizer = t->optimizer, .rate = t->rate, .clip = t->clip, .threads = 1};
    c.rate.steps = row->steps * (t->local.steps > 0 ? t->local.steps : 1);
    c.rate.drop_count = t->drops;
    if (t->drops > 0)
        memcpy(c.rate.drops, t->drop, t->drops * sizeof *t->drop);
    /* As many pushes as there are workers move the parameters as far as their mean does. */
    if (!cc_job_bulk(job)) {
        c.rate.rate /= job->workers;
        c.rate.last /= job->workers;
    }
    return c;
}

int cc_job_check_local(const struct cc_job *job, size_t messages, struct cc_error *e)
{
    const struct cc_job_training *t = &job->training;
    if (t->shards != CC_SHARDS_NONE && (t->local.steps > 0 || job->mode == CC_PIPE))
        return cc_fail(e, "\"shards\" are \"%s\": not with %s", cc_shards_names[t->shards],
                       t->local.steps > 0 ? "\"local_steps\"" : "\"mode\" \"pipe\"");
    if (t->net != NULL)
        CC_TRY(cc_job_check_divided(job, e));
    if (t->local.steps == 0)
        return CC_OK;
    if (job->mode == CC_PIPE)
        return cc_fail(e, "\"local_steps\" are exchanged with \"mode\" \"sequential\" or "
                          "\"overlap\", not \"pipe\"");
    if ((t->local.quorum > 0 || t->local.median) &&
        (job->exchange != CC_ALLGATHER || t->local.parts > 1))
        return cc_fail(e, "\"local_quorum\" and \"local_median\" go with the exchange allgather, "
                          "and one part");
    if (t->local.quorum > (size_t)job->workers)
        return cc_fail(e, "\"local_quorum\" is %zu, of %d workers", t->local.quorum, job->workers);
    if (t->local.delay > t->local.steps)
        return cc_fail(e, "\"local_delay\" is %zu: at most \"local_steps\", %zu", t->local.delay,
                       t->local.steps);
    if ((t->local.delay > 0) != (job->mode == CC_OVERLAP))
        return cc_fail(e, "\"local_delay\" is %zu: it is above 0 where \"mode\" is \"overlap\"",
                       t->local.delay);
    if (t->local.parts > 1 && t->local.parts != messages)
        return cc_fail(e, "\"local_parts\" is %zu, and the row has %zu messages", t->local.parts,
                       messages);
    return CC_OK;
}

struct cc_local_steps cc_job_local(const struct cc_job *job, const struct cc_job_row *row)
{
    return (struct cc_local_steps){.config = job->training.local,
                                   .inner = gradient_learner(job, row)};
}

struct cc_learner_config cc_job_learner(const struct cc_job *job, const struct cc_job_row *row)
{
    if (job->training.local.steps == 0)
        return gradient_learner(job, row);
    const struct cc_local_steps l = cc_job_local(job, row);
    return cc_local_outer(&l.config, NULL, 1);
}

/* --- steps --- */

void cc_training_apply(const struct cc_job *job, const struct cc_job_row *row, size_t i,
                       uint64_t step, struct cc_learner *learner, float *received, float *weights)
{
    const struct cc_message *m = &row->message[i];
    const size_t from = job->offset[m->first], to = job->offset[m->last + 1];
    if (cc_job_row_silent(job, row, m, step) || cc_job_row_skips(job, i, step))
        return;
    if (learner != NULL)
        cc_learner_update(learner, from, to, step, cc_job_row_updates(job, row, m, step),
                          received + from, weights);
    const bool replaces = job->training.shards == CC_SHARDS_WEIGHTS;
    for (size_t k = from; k < to && learner == NULL; k++)
        weights[k] = replaces ? received[k] : weights[k] + received[k];
    memset(received + from, 0, (to - from) * sizeof *received);
}

void cc_training_take(const struct cc_job *job, const struct cc_job_row *row,
                      const struct cc_local_steps *l, uint64_t step, const float *shared,
                      float *own)
{
    const struct cc_message *m = row->message;
    for (size_t i = 0; i < row->messages && step > 0; i++)
        if (!cc_job_row_skips(job, i, step - 1))
            cc_local_take(l, job->offset[m[i].first], job->offset[m[i].last + 1], shared, own);
}

void cc_training_difference(const struct cc_job *job, const struct cc_job_row *row, uint64_t step,
                            const float *shared, const float *own, float *out)
{
    const struct cc_message *m = row->message;
    for (size_t i = 0; i < row->messages; i++)
        if (!cc_job_row_skips(job, i, step))
            cc_local_difference(job->offset[m[i].first], job->offset[m[i].last + 1], shared, own,
                                out);
}

bool cc_training_sends(const struct cc_job *job, uint64_t step, int worker)
{
    const struct cc_local_config *l = &job->training.local;
    return l->steps == 0 ||
           cc_local_sends(l, job->seed, step, (size_t)worker, (size_t)job->workers);
}

void cc_training_keep(const struct cc_job *job, const struct cc_local_steps *l, uint64_t step,
                      int worker, float *own, float *difference)
{
    cc_local_keep(l, cc_training_sends(job, step, worker), own, difference);
}

int cc_training_score(struct cc_task *task, const float *workers, const float *servers,
                      const float *stats, struct cc_evaluation *out, struct cc_error *e)
{
    const size_t bytes = cc_task_layout(task)->values * sizeof *workers;
    const struct cc_task_result own = cc_task_evaluate(task, workers, stats);
    const bool same = servers == NULL || memcmp(servers, workers, bytes) == 0;
    const struct cc_task_result theirs = same ? own : cc_task_evaluate(task, servers, stats);
    out->worker_loss = own.loss;
    out->worker_accuracy = own.accuracy;
    out->loss = theirs.loss;
    out->accuracy = theirs.accuracy;
    out->objective = theirs.objective;
    return isfinite(own.loss) && isfinite(theirs.loss)
               ? CC_OK
               : cc_diverged(e, "a loss on the test samples that is not finite");
}
