/* --optimizer svrg, and --optimum: strongly convex problems. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/train/train.h"
#include "core/format/json.h"
#include "train/linear/linear.h"
#include "train/linear/svrg.h"

static struct cc_linear_objective objective_of(const struct cc_train *t, double l2)
{
    return (struct cc_linear_objective){
        .loss = CC_LOGISTIC, .samples = &t->data->train, .features = t->data->channels, .l2 = l2};
}

/* --- SVRG --- */

static bool is_svrg(const struct cc_args *args)
{
    const char *optimizer = cc_arg(args, "optimizer");
    return optimizer != NULL && strcmp(optimizer, "svrg") == 0;
}

static void set_default(struct cc_args *args, const char *option, const char *value)
{
    if (cc_arg(args, option) == NULL)
        cc_arg_set(args, option, value);
}

static int refuse_given(const struct cc_args *args, struct cc_error *e)
{
    static const struct {
        const char *option, *why;
    } refused[] = {{"momentum", "svrg has none"},
                   {"schedule", "the rate of svrg is constant"},
                   {"warmup", "the rate of svrg is constant"},
                   {"local-steps", "svrg sends vectors of its own"},
                   {"shards", "svrg draws rows from all of them"},
                   {"checkpoint",
                    "svrg continues from an epoch's gradient, which a checkpoint does not have"}};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (cc_arg(args, refused[i].option) != NULL)
            return cc_usage(e, "--%s: %s", refused[i].option, refused[i].why);
    return CC_OK;
}

int cc_train_svrg_defaults(struct cc_args *args, struct cc_train *t, struct cc_error *e)
{
    struct cc_train_options *o = &t->options;
    uint64_t workers = 4, batch = 1, steps;
    double l2 = 0;
    if (!is_svrg(args))
        return cc_arg(args, "svrg-steps") == NULL
                   ? CC_OK
                   : cc_usage(e, "--svrg-steps goes with --optimizer svrg");
    const char *net = cc_arg(args, "net");
    if (net == NULL || strcmp(net, "logreg") != 0)
        return cc_usage(e, "--optimizer svrg is of --net logreg, whose loss is smooth and convex");
    CC_TRY(refuse_given(args, e));
    CC_TRY(cc_arg_count(args, "workers", 1, 1024, &workers, e));
    CC_TRY(cc_arg_count(args, "batch", 1, 1 << 20, &batch, e));
    CC_TRY(cc_arg_real(args, "weight-decay", &l2, e));
    /* With a single step the mean of the points from which steps are made would never move. */
    steps = (2 * t->data->train.count + workers * batch - 1) / (workers * batch);
    steps = steps < 2 ? 2 : steps;
    CC_TRY(cc_arg_count(args, "svrg-steps", 2, 1 << 24, &steps, e));
    o->training.svrg_steps = (size_t)steps;
    const struct cc_linear_objective f = objective_of(t, l2);
    const double smooth = cc_svrg_constants(&f).smooth;
    if (!(smooth > 0))
        return cc_usage(e,
                        "--data %s: all training rows are zeros, and without --weight-decay there "
                        "is nothing to minimize",
                        t->data->name);
    cc_number_print(0.1 / smooth, o->svrg_default.rate);
    (void)snprintf(o->svrg_default.steps, sizeof o->svrg_default.steps, "%llu",
                   (unsigned long long)steps * 10);
    (void)snprintf(o->svrg_default.epoch, sizeof o->svrg_default.epoch, "%llu",
                   (unsigned long long)steps);
    set_default(args, "batch", "1");
    set_default(args, "rate", o->svrg_default.rate);
    set_default(args, "steps", o->svrg_default.steps);
    if (strchr(cc_arg(args, "steps"), ',') == NULL)
        set_default(args, "eval-every", o->svrg_default.epoch);
    set_default(args, "exchange", "allgather");
    cc_arg_set(args, "schedule", "constant");
    cc_arg_set(args, "warmup", "0");
    return CC_OK;
}

int cc_train_parse_svrg(const struct cc_args *args, struct cc_train_options *o, struct cc_error *e)
{
    struct cc_training_config *c = &o->training;
    int on = CC_TRAIN_LOCAL;
    cc_arg_choice(args, "on", &on);
    if (c->svrg_steps == 0)
        return CC_OK;
    if (on != CC_TRAIN_LOCAL)
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
    if (cc_arg(t->args, "optimum") == NULL)
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
    if (c->svrg_steps > 0) {
        const struct cc_linear_objective f = objective_of(t, c->task.l2);
        const struct cc_svrg_constants k = cc_svrg_constants(&f);
        CC_TRY(
            cc_record_note(t->record, e,
                           "svrg: epochs of %zu steps; smoothness L = %.4g, convexity l at least "
                           "%.4g, so that the condition number is at most %.4g",
                           c->svrg_steps, k.smooth, k.convex, k.smooth / k.convex));
    }
    if (t->optimum.w == NULL)
        return CC_OK;
    return cc_record_note(t->record, e,
                          "optimum: %.15g, by %zu steps of Newton's method; the gradient's norm is "
                          "%.1e there",
                          t->optimum.value, t->optimum.steps, t->optimum.gradient);
}
