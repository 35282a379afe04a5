/* The notes of `commcomp train`: what its rows rest on. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cmd/train/train.h"
#include "core/interrupt.h"
#include "core/units.h"

static int note_data(const struct cc_train *t, struct cc_error *e)
{
    const struct cc_data *d = t->data;
    const struct cc_training_result *first = &t->training[0];
    const struct cc_task_config *c = &t->options.training.task;
    return cc_record_note(t->record, e,
                          "%s: %zu samples to train and %zu to test with, %zux%zux%zu at the net's "
                          "input; an epoch is %zu steps",
                          d->name, d->train.count, d->test.count, d->channels, c->height, c->width,
                          first->epoch);
}

/* The time of ranks. */
static int note_ranks(const struct cc_train *t, struct cc_error *e)
{
    const struct cc_train_options *o = &t->options;
    const bool run = o->on == CC_TRAIN_RUN;
    char compute[64] = "";
    if (!isnan(o->compute_s)) {
        char seconds[32];
        cc_print_si(o->compute_s, "s", seconds, sizeof seconds);
        (void)snprintf(compute, sizeof compute, " and --compute %s", seconds);
    }
    return cc_record_note(t->record, e, "time: %s, with codec%s times %s%s",
                          run ? "as measured by the ranks" : "on the simulated clock",
                          compute[0] != '\0' ? "" : " and compute",
                          run ? "of the ranks" : "as measured in the simulation", compute);
}

static int note_time(const struct cc_train *t, struct cc_error *e)
{
    char compute[32];
    if (t->options.on != CC_TRAIN_LOCAL)
        return note_ranks(t, e);
    if (t->options.links == 0)
        return cc_record_note(t->record, e,
                              "time: that of this process, which plays all workers in turn; --bw "
                              "gives times over a network");
    cc_print_si(t->options.compute_s, "s", compute, sizeof compute);
    if (!isnan(t->options.compute_s))
        return cc_record_note(t->record, e,
                              "time: by the formulas of `model`, from the sizes and codec times of "
                              "this training and --compute %s",
                              compute);
    return cc_record_note(t->record, e,
                          "time: by the formulas of `model`, from the sizes, codec and compute "
                          "times of this training on %d thread%s of this machine",
                          cc_train_threads(t), cc_train_threads(t) > 1 ? "s" : "");
}

/* Says if another net has the trained one's name in the other commands, as ImageNet's resnet50. */
static int note_net(const struct cc_train *t, struct cc_error *e)
{
    struct cc_net *listed;
    for (size_t i = 0; cc_net_names[i] != NULL; i++) {
        if (strcmp(cc_net_names[i], t->net->name) != 0)
            continue;
        CC_TRY(cc_net_open(t->net->name, &listed, e));
        const size_t values = listed->values;
        cc_net_free(listed);
        if (fabs((double)values / (double)t->net->values - 1) > 0.1)
            CC_TRY(
                cc_record_note(t->record, e,
                               "net: %s is here the residual net of that depth for small images, "
                               "of %zu values; `nets`, `model` and `advise` know another one of "
                               "that name, of %zu values",
                               t->net->name, t->net->values, values));
    }
    return CC_OK;
}

static int note_divergence(const struct cc_train *t, struct cc_error *e)
{
    for (size_t i = 0; i < cc_train_variants(t) * t->options.seeds; i++) {
        const struct cc_training_result *of = &t->training[i];
        const size_t variant = i / t->options.seeds;
        if (of->diverged)
            CC_TRY(
                cc_record_note(t->record, e,
                               "%s, rate %g, seed %llu: diverged in step %zu: %s (a lower --rate "
                               "may help)",
                               cc_train_spec(t, variant)->name, cc_train_rate(t, variant),
                               (unsigned long long)(t->options.seed + i % t->options.seeds),
                               of->diverged_step, of->reason));
    }
    return CC_OK;
}

static int note_momentum(const struct cc_train *t, struct cc_error *e)
{
    for (size_t i = 0; i < t->args->schemes.count; i++) {
        const struct cc_spec *spec = t->args->schemes.item[i];
        const double own = cc_own_momentum(spec->scheme, spec->params);
        if (own > 0)
            CC_TRY(cc_record_note(t->record, e,
                                  "%s applies momentum %g itself: the optimizer has none%s",
                                  spec->name, own,
                                  cc_exchange_has(t->options.training.exchange, CC_X_SERVERS) &&
                                          t->options.pull.count == 0
                                      ? ", and the server sends fp32"
                                      : ""));
    }
    return CC_OK;
}

static int note_interrupt(const struct cc_train *t, struct cc_error *e)
{
    return cc_interrupted() && t->checkpoint != NULL
               ? cc_record_note(t->record, e,
                                "interrupted: the same command with --resume continues from the "
                                "checkpoints in %s",
                                t->options.checkpoint)
               : CC_OK;
}

/* The settings of a recipe, as options. */
static int note_recipe(const struct cc_train *t, struct cc_error *e)
{
    char text[512] = "";
    size_t used = 0;
    const struct cc_train_preset *p = cc_train_presets;
    for (; t->options.recipe != NULL && p->recipe != NULL; p++)
        if (strcmp(p->recipe, t->options.recipe) == 0 && used < sizeof text &&
            cc_arg(t->args, p->option) != NULL)
            used += (size_t)snprintf(text + used, sizeof text - used, " --%s %s", p->option,
                                     cc_arg(t->args, p->option));
    return t->options.recipe != NULL
               ? cc_record_note(t->record, e, "recipe %s:%s", t->options.recipe, text)
               : CC_OK;
}

int cc_train_notes(const struct cc_train *t, struct cc_error *e)
{
    CC_TRY(note_interrupt(t, e));
    if (t->record->row_count == 0)
        return CC_OK;
    CC_TRY(note_data(t, e));
    CC_TRY(note_recipe(t, e));
    CC_TRY(note_net(t, e));
    CC_TRY(note_time(t, e));
    CC_TRY(note_momentum(t, e));
    return note_divergence(t, e);
}
