/* --optimizer svrg, and --optimum: strongly convex problems. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/train/plan/plan.h"
#include "core/format/json.h"
#include "train/linear/linear.h"
#include "train/linear/svrg.h"

static struct cc_linear_objective objective_of(const struct cc_train *t, double l2)
{
    return (struct cc_linear_objective){
        .loss = CC_LOGISTIC, .samples = &t->data->train, .features = t->data->channels, .l2 = l2};
}

/* --- SVRG --- */

static int refuse_given(const struct cc_train_options *o, struct cc_error *e)
{
    const struct {
        const char *option, *why;
    } refused[] = {{CC_TRAIN_GIVEN(o, momentum), "svrg has none"},
                   {CC_TRAIN_GIVEN(o, schedule), "the rate of svrg is constant"},
                   {CC_TRAIN_GIVEN(o, last_rate), "the rate of svrg is constant"},
                   {CC_TRAIN_GIVEN(o, warmup), "the rate of svrg is constant"},
                   {CC_TRAIN_CLUSTER_GIVEN(o, local_steps), "svrg sends vectors of its own"},
                   {CC_TRAIN_GIVEN(o, training.task.by_class), "svrg draws rows from all of them"},
                   {CC_TRAIN_GIVEN(o, checkpoint),
                    "svrg continues from an epoch's gradient, which a checkpoint does not have"}};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (refused[i].option != NULL)
            return cc_usage(e, "--%s: %s", refused[i].option, refused[i].why);
    return CC_OK;
}

int cc_train_svrg_defaults(struct cc_train *t, struct cc_error *e)
{
    struct cc_train_options *o = &t->options;
    char rate[CC_NUMBER_CAP];
    if (strcmp(cc_train_optimizers[o->optimizer], "svrg") != 0)
        return o->svrg_steps == 0 ? CC_OK : cc_usage(e, "--svrg-steps goes with --optimizer svrg");
    if (strcmp(o->net, "logreg") != 0)
        return cc_usage(e, "--optimizer svrg is of --net logreg, whose loss is smooth and convex");
    CC_TRY(refuse_given(o, e));
    if (CC_TRAIN_GIVEN(o, training.task.batch) == NULL)
        o->training.task.batch = 1;
    /* With a single step the mean of the points from which steps are made would never move. */
    const size_t each = (size_t)o->cluster.workers[0] * o->training.task.batch;
    size_t steps = (2 * t->data->train.count + each - 1) / each;
    steps = o->svrg_steps > 0 ? o->svrg_steps : steps < 2 ? 2 : steps;
    o->training.svrg_steps = steps;
    const struct cc_linear_objective f = objective_of(t, o->weight_decay);
    const double smooth = cc_svrg_constants(&f).smooth;
    if (!(smooth > 0))
        return cc_usage(e,
                        "--data %s: all training rows are zeros, and without --weight-decay there "
                        "is nothing to minimize",
                        t->data->name);
    cc_number_print(0.1 / smooth, rate);
    if (CC_TRAIN_GIVEN(o, rates) == NULL)
        o->rates = (struct cc_train_rates){.item = {strtod(rate, NULL)}, .count = 1};
    if (CC_TRAIN_GIVEN(o, steps) == NULL)
        o->steps = (struct cc_train_step_counts){.item = {10 * steps}, .count = 1};
    if (o->steps.count == 1 && o->eval_every == 0)
        o->eval_every = steps;
    if (CC_TRAIN_CLUSTER_GIVEN(o, exchange) == NULL)
        o->cluster.exchange[0] = CC_ALLGATHER;
    o->schedule = CC_RATE_CONSTANT;
    o->warmup = 0;
    return CC_OK;
}

int cc_train_parse_svrg(struct cc_train_options *o, struct cc_error *e)
{
    struct cc_training_config *c = &o->training;
    if (c->svrg_steps == 0)
        return CC_OK;
    if (o->on != CC_TRAIN_LOCAL)
        return cc_usage(e, "--optimizer svrg goes with --on local: ranks send one kind of message, "
                           "and an epoch begins with another");
    if (c->deltas)
        return cc_usage(e, "--optimizer svrg: the server sends the mean, with --pull mean, or take "
                           "--exchange allgather, which is the paper's");
    if (c->mode != CC_SEQUENTIAL || !cc_train_is_bulk(o))
        return cc_usage(e, "--optimizer svrg: all workers step from the same point, with --mode "
                           "sequential and --consistency bulk");
    for (size_t i = 0; i < o->lengths; i++)
        if (o->length[i].steps % c->svrg_steps != 0 || o->length[i].eval_every % c->svrg_steps != 0)
            return cc_usage(e,
                            "--%s: with --optimizer svrg a multiple of the steps of an epoch, "
                            "--svrg-steps %zu, whose mean is what is evaluated",
                            o->length[i].steps % c->svrg_steps != 0 ? "steps" : "eval-every",
                            c->svrg_steps);
    /* The vectors have the regularization in them. */
    c->optimizer.decay = 0;
    return CC_OK;
}

/* --- the optimum --- */

int cc_train_find_optimum(struct cc_train *t, struct cc_error *e)
{
    const struct cc_training_config *c = &t->options.training;
    if (!t->options.optimum)
        return CC_OK;
    if (strcmp(c->task.net, "logreg") != 0)
        return cc_usage(e, "--optimum is of --net logreg, whose objective is smooth and convex");
    const struct cc_linear_objective f = objective_of(t, c->task.l2);
    const int status = cc_linear_optimum(&f, &t->optimum, e);
    if (status != CC_OK)
        cc_error_in(e, "--optimum");
    t->options.training.optimum = t->optimum.w;
    return status;
}

int cc_train_note_convex(const struct cc_train *t, struct cc_error *e)
{
    const struct cc_training_config *c = &t->options.training;
    if (c->svrg_steps == 0 && t->optimum.w == NULL)
        return CC_OK;
    const struct cc_linear_objective f = objective_of(t, c->task.l2);
    const struct cc_svrg_constants k = cc_svrg_constants(&f);
    if (c->svrg_steps > 0)
        CC_TRY(
            cc_record_note(t->record, e,
                           "svrg: epochs of %zu steps; smoothness L = %.4g, convexity l at least "
                           "%.4g, so that the condition number is at most %.4g",
                           c->svrg_steps, k.smooth, k.convex, k.smooth / k.convex));
    if (t->optimum.w == NULL)
        return CC_OK;
    double squares = 0;
    for (size_t j = 0; j < f.features; j++)
        squares += t->optimum.w[j] * t->optimum.w[j];
    return cc_record_note(t->record, e,
                          "optimum: %.15g, by %zu steps of Newton's method; the gradient's norm is "
                          "%.1e there; R = %.5g from the zeros where trainings begin; smoothness L "
                          "= %.4g",
                          t->optimum.value, t->optimum.steps, t->optimum.gradient, sqrt(squares),
                          k.smooth);
}
