#include "netsim/job/training.h"

#include <string.h>

#include "core/memory.h"

/* --- its fields --- */

#define MOST_SIZE  (1 << 20)
#define MOST_STEPS 1e9
#define MOST_RATE  1e6
#define MOST_COUNT (0x1p53 - 1)

#define NUMBER(member)   #member, CC_FIELD_NUMBER, CC_MEMBER(double, struct cc_job_training, member)
#define SIZE(member)     #member, CC_FIELD_SIZE, CC_MEMBER(size_t, struct cc_job_training, member)
#define BOOL(member)     #member, CC_FIELD_BOOL, CC_MEMBER(bool, struct cc_job_training, member)
#define TEXT(member)     #member, CC_FIELD_TEXT, CC_MEMBER(char *, struct cc_job_training, member)
#define WORD(member)     #member, CC_FIELD_WORD, offsetof(struct cc_job_training, member)
#define SHARE(member)    NUMBER(member), 0, 1
#define WITH_LOCAL_STEPS .when = has_local_steps, .condition = "with `local_steps`"

static bool has_servers(const struct cc_scope *s)
{
    const struct cc_job *job = s->outer->self;
    return job->servers > 0;
}

static bool has_local_steps(const struct cc_scope *s)
{
    const struct cc_job_training *t = s->self;
    return t->local_steps > 0;
}

static bool has_checkpoint(const struct cc_scope *s)
{
    const struct cc_job_training *t = s->self;
    return t->checkpoint != NULL;
}

static bool has_capture(const struct cc_scope *s)
{
    const struct cc_job_training *t = s->self;
    return t->capture != NULL;
}

static bool is_pipe(const struct cc_scope *s)
{
    const struct cc_job *job = s->outer->self;
    return job->mode == CC_PIPE;
}

static const struct cc_field drop_fields[] = {{.type = CC_FIELD_UINT64, .high = MOST_COUNT}};
static const struct cc_table drops_table = {CC_FIELDS(drop_fields), .bytes = sizeof(uint64_t),
                                            .form = CC_FORM_SCALAR};

static const struct cc_field training_fields[] = {
    {TEXT(net), .help = "As `--net` of `commcomp train`."},
    {TEXT(data), .help = "As `--data`; every rank opens it, so its files are on every host."},
    {SIZE(height), 1, MOST_SIZE, .help = "Height of the net's input."},
    {SIZE(width), 1, MOST_SIZE, .help = "Width of the net's input."},
    {SIZE(batch), 1, MOST_SIZE, .help = "Samples of a worker in a step."},
    {SIZE(by_class), 0, 1000, .optional = true,
     .help = "Shards of a worker, sorted by class; 0: all samples are shuffled in every epoch."},
    {BOOL(flip), .optional = true, .help = "Whether every second training image is mirrored."},
    {SIZE(shift), 0, 1024, .optional = true,
     .help = "Pixels by which training images are shifted at random, at most."},
    {WORD(optimizer), .words = cc_optimizer_names, .help = "The optimizer."},
    {SHARE(momentum), .optional = true, .help = "`sgd`: its momentum."},
    {BOOL(nesterov), .optional = true, .help = "`sgd`: whether it is Nesterov's."},
    {SHARE(decay), .optional = true, .help = "Decay of weights."},
    {SHARE(beta1), .optional = true, .help = "`adam`, `adamw`: of the mean gradient."},
    {SHARE(beta2), .optional = true, .help = "`adam`, `adamw`: of its mean square."},
    {SHARE(small), .optional = true, .help = "`adam`, `adamw`: added to the root."},
    {SHARE(l2), .optional = true, .help = "Linear models: the objective's `l2`."},
    {SIZE(coordinates), 0, MOST_COUNT, .optional = true,
     .help = "`logreg`: coordinates of a worker in a step of coordinate descent; 0: gradients."},
    {WORD(schedule), .words = cc_rate_names, .help = "The learning rate over the steps."},
    {NUMBER(rate), 0, MOST_RATE, .help = "The learning rate, at its highest."},
    {NUMBER(last), 0, MOST_RATE, .optional = true, .help = "`cosine`: the last rate."},
    {SHARE(factor), .optional = true, .help = "`step`: by which the rate drops."},
    {SIZE(warmup), 0, MOST_STEPS, .optional = true,
     .help = "Steps in which the rate grows linearly."},
    {"drop", CC_FIELD_LIST, CC_MEMBER(uint64_t *, struct cc_job_training, drop), 0, CC_RATE_DROPS,
     .table = &drops_table, .item = "number",
     .count = CC_MEMBER(size_t, struct cc_job_training, drops), .optional = true,
     .help = "`step`: the steps from which on it drops."},
    {SIZE(local_steps), 0, MOST_STEPS, .optional = true,
     .help =
         "Steps that every worker makes on parameters of its own from one exchange to the next: "
         "a step of the row is that many, `eval_every` and `checkpoint_every` count those of the "
         "row, and `warmup` and `drop` local steps. 0: gradients are exchanged."},
    {SIZE(local_parts), 1, MOST_SIZE, WITH_LOCAL_STEPS,
     .help =
         "Parts of the net, which are exchanged in turn: as many as the row has messages, or 1."},
    {SIZE(local_delay), 0, MOST_STEPS, WITH_LOCAL_STEPS,
     .help = "Local steps that are made beside an exchange, before its results are taken: up to "
             "`local_steps`, and above 0 where `mode` is `overlap`."},
    {SHARE(local_mix), WITH_LOCAL_STEPS,
     .help = "With a delay, the share of a worker's own parameters that it keeps then."},
    {NUMBER(outer_rate), 0, MOST_RATE, WITH_LOCAL_STEPS,
     .help = "The learning rate of the outer optimizer, which applies the mean of the workers' "
             "differences to the shared parameters."},
    {SHARE(outer_momentum), WITH_LOCAL_STEPS, .help = "Its momentum."},
    {BOOL(outer_nesterov), WITH_LOCAL_STEPS, .help = "Whether that is Nesterov's."},
    {BOOL(deltas), .when = has_servers, .condition = "with servers",
     .help = "Whether servers apply the optimizer and send the change of the parameters; else they "
             "send the mean gradient, and every worker applies it."},
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

const struct cc_table cc_job_training_table = {
    .title = "`training`", CC_FIELDS(training_fields), .bytes = sizeof(struct cc_job_training)};

/* --- what it describes --- */

int cc_job_set_training(struct cc_job *job, const struct cc_task_config *task, const char *data,
                        const struct cc_optimizer *optimizer, const struct cc_rate_schedule *rate,
                        struct cc_error *e)
{
    struct cc_job_training *t = &job->training;
    *t = (struct cc_job_training){.net = cc_strdup(task->net, e),
                                  .data = cc_strdup(data, e),
                                  .height = task->height,
                                  .width = task->width,
                                  .batch = task->batch,
                                  .by_class = task->by_class,
                                  .shift = task->shift,
                                  .flip = task->flip,
                                  .optimizer = (int)optimizer->kind,
                                  .momentum = (double)optimizer->momentum,
                                  .decay = (double)optimizer->decay,
                                  .beta1 = (double)optimizer->beta[0],
                                  .beta2 = (double)optimizer->beta[1],
                                  .small = (double)optimizer->small,
                                  .nesterov = optimizer->nesterov,
                                  .l2 = task->l2,
                                  .coordinates = task->coordinates,
                                  .schedule = (int)rate->kind,
                                  .rate = rate->rate,
                                  .last = rate->last,
                                  .factor = rate->factor,
                                  .warmup = (size_t)rate->warmup,
                                  .drop = cc_alloc0(sizeof rate->drops, e),
                                  .drops = rate->drop_count};
    if (t->net == NULL || t->data == NULL || t->drop == NULL)
        return CC_FAIL;
    memcpy(t->drop, rate->drops, rate->drop_count * sizeof *t->drop);
    return CC_OK;
}

struct cc_task_config cc_job_task(const struct cc_job *job, const struct cc_data *data)
{
    const struct cc_job_training *t = &job->training;
    return (struct cc_task_config){.net = t->net,
                                   .data = data,
                                   .height = t->height,
                                   .width = t->width,
                                   .workers = (size_t)job->workers,
                                   .batch = t->batch,
                                   .by_class = t->by_class,
                                   .flip = t->flip,
                                   .shift = t->shift,
                                   .seed = job->seed,
                                   .threads = 1,
                                   .l2 = t->l2,
                                   .coordinates = t->coordinates};
}

/* The optimizer of gradients, with its schedule. */
static struct cc_learner_config gradient_learner(const struct cc_job *job,
                                                 const struct cc_job_row *row)
{
    const struct cc_job_training *t = &job->training;
    struct cc_learner_config c = {
        .optimizer = {.kind = (enum cc_optimizer_kind)t->optimizer,
                      .momentum = (float)t->momentum,
                      .nesterov = t->nesterov,
                      .decay = (float)t->decay,
                      .beta = {(float)t->beta1, (float)t->beta2},
                      .small = (float)t->small},
        .rate = {.kind = (enum cc_rate_kind)t->schedule,
                 .rate = t->rate,
                 .last = t->last,
                 .factor = t->factor,
                 .steps = row->steps * (t->local_steps > 0 ? t->local_steps : 1),
                 .warmup = t->warmup,
                 .drop_count = t->drops},
        .threads = 1};
    for (size_t i = 0; i < t->drops; i++)
        c.rate.drops[i] = t->drop[i];
    /* As many pushes as there are workers move the parameters as far as their mean does. */
    if (!cc_job_bulk(job)) {
        c.rate.rate /= job->workers;
        c.rate.last /= job->workers;
    }
    return c;
}

void cc_job_set_local(struct cc_job *job, const struct cc_local_config *c)
{
    struct cc_job_training *t = &job->training;
    if (c->steps == 0)
        return;
    t->local_steps = c->steps;
    t->local_parts = c->parts;
    t->local_delay = c->delay;
    t->local_mix = c->mix;
    t->outer_rate = c->outer_rate;
    t->outer_momentum = (double)c->outer.momentum;
    t->outer_nesterov = c->outer.nesterov;
}

int cc_job_check_local(const struct cc_job *job, size_t messages, struct cc_error *e)
{
    const struct cc_job_training *t = &job->training;
    if (t->local_steps == 0)
        return CC_OK;
    if (job->mode == CC_PIPE)
        return cc_fail(e, "\"local_steps\" are exchanged with \"mode\" \"sequential\" or "
                          "\"overlap\", not \"pipe\"");
    if (t->local_delay > t->local_steps)
        return cc_fail(e, "\"local_delay\" is %zu: at most \"local_steps\", %zu", t->local_delay,
                       t->local_steps);
    if ((t->local_delay > 0) != (job->mode == CC_OVERLAP))
        return cc_fail(e, "\"local_delay\" is %zu: it is above 0 where \"mode\" is \"overlap\"",
                       t->local_delay);
    if (t->local_parts > 1 && t->local_parts != messages)
        return cc_fail(e, "\"local_parts\" is %zu, and the row has %zu messages", t->local_parts,
                       messages);
    return CC_OK;
}

struct cc_local_steps cc_job_local(const struct cc_job *job, const struct cc_job_row *row)
{
    const struct cc_job_training *t = &job->training;
    return (struct cc_local_steps){.config = {.steps = t->local_steps,
                                              .parts = t->local_parts,
                                              .delay = t->local_delay,
                                              .mix = t->local_mix,
                                              .outer = {.kind = CC_SGD,
                                                        .momentum = (float)t->outer_momentum,
                                                        .nesterov = t->outer_nesterov},
                                              .outer_rate = t->outer_rate},
                                   .inner = gradient_learner(job, row)};
}

struct cc_learner_config cc_job_learner(const struct cc_job *job, const struct cc_job_row *row)
{
    if (job->training.local_steps == 0)
        return gradient_learner(job, row);
    const struct cc_local_steps l = cc_job_local(job, row);
    return cc_local_outer(&l.config, NULL, 1);
}
