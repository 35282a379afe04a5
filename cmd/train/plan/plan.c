/* The plan as a whole: the task, the optimizer, the exchange, checkpoints and captures; the other
 * files have the rest. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cmd/train/plan/plan.h"
#include "core/parallel.h"
#include "core/units.h"
#include "netsim/inprocess/inprocess.h"

static int check_optimizer(struct cc_train_options *o, struct cc_error *e)
{
    static const enum cc_optimizer_kind kinds[] = {CC_SGD, CC_SGD, CC_ADAM,  CC_ADAMW,
                                                   CC_SGD, CC_SGD, CC_SIGNUM};
    const enum cc_optimizer_kind kind = kinds[o->optimizer];
    const char *name = cc_train_optimizers[o->optimizer];
    o->scd = strcmp(name, "scd") == 0;
    if (!(o->momentum >= 0 && o->momentum < 1))
        return cc_usage(e, "--momentum: from 0 to less than 1");
    if (!(o->weight_decay >= 0 && o->weight_decay < 1))
        return cc_usage(e, "--weight-decay: from 0 to less than 1");
    if (!(o->beta2 > 0 && o->beta2 < 1))
        return cc_usage(e, "--beta2: above 0 and below 1");
    const bool adam = kind == CC_ADAM || kind == CC_ADAMW;
    if (!adam && CC_TRAIN_GIVEN(o, beta2) != NULL)
        return cc_usage(e, "--beta2 is of adam and adamw, not of %s", name);
    if ((adam || o->scd) && CC_TRAIN_GIVEN(o, momentum) != NULL)
        return cc_usage(e, "--momentum is of sgd, nesterov and signum, not of %s", name);
    if (o->scd || o->training.svrg_steps > 0)
        o->momentum = 0;
    o->training.optimizer = (struct cc_optimizer){.kind = kind,
                                                  .momentum = (float)o->momentum,
                                                  .nesterov = strcmp(name, "nesterov") == 0,
                                                  .decay = (float)o->weight_decay,
                                                  .beta = {0.9f, (float)o->beta2},
                                                  .small = 1e-8f};
    return CC_OK;
}

/* Sets the members that no option sets by itself. */
static void complete_task(const struct cc_train *t, struct cc_task_config *task)
{
    const struct cc_train_options *o = &t->options;
    const bool given = o->input.n > 0;
    task->net = o->net;
    task->data = t->data;
    task->height = given ? o->input.dim[0] : t->data->height;
    task->width = given ? o->input.dim[1] : t->data->width;
    task->workers = (size_t)o->cluster.workers[0];
}

static int parse_exchange(struct cc_train_options *o, struct cc_error *e)
{
    struct cc_training_config *c = &o->training;
    const struct cc_setting *s = &o->cluster.setting;
    const char *name = cc_exchange_names[o->cluster.exchange[0]], *pull = o->pull_scheme;
    const struct {
        const char *option;
        enum cc_exchange_flag flag;
    } of_some[] = {{CC_TRAIN_CLUSTER_GIVEN(o, setting.cluster.via), CC_X_RECODES},
                   {CC_TRAIN_CLUSTER_GIVEN(o, setting.cluster.chunks), CC_X_RECODES},
                   {CC_TRAIN_CLUSTER_GIVEN(o, setting.cluster.inner_exchange), CC_X_INSIDE},
                   {CC_TRAIN_CLUSTER_GIVEN(o, setting.cluster.outer_exchange), CC_X_INSIDE},
                   {CC_TRAIN_CLUSTER_GIVEN(o, setting.cluster.dense_bits), CC_X_DENSE_STAGE}};
    c->exchange = o->cluster.exchange[0];
    c->via = s->cluster.via;
    c->mode = s->timing.mode;
    c->servers = o->cluster.servers[0];
    c->dense_bits = (int)s->cluster.dense_bits;
    const bool servers = cc_exchange_has(c->exchange, CC_X_SERVERS);
    if (cc_exchange_has(c->exchange, CC_X_LIBRARY))
        return cc_usage(
            e,
            "--exchange %s: train has all exchanges of `run` but mpi, whose sums are the "
            "library's own",
            name);
    CC_TRY(cc_cluster_check_code(&o->cluster, e));
    if (!cc_job_takes_dense_bits(s->cluster.dense_bits))
        return cc_usage(e, "--dense-bits: 32, 8, 4 or 2");
    for (size_t i = 0; i < sizeof of_some / sizeof *of_some; i++) {
        char with[128];
        if (of_some[i].option == NULL || cc_exchange_has(c->exchange, of_some[i].flag))
            continue;
        cc_exchange_list(of_some[i].flag, with, sizeof with);
        return cc_usage(e, "--%s is for %s, not for %s", of_some[i].option, with, name);
    }
    CC_TRY(cc_cluster_choose_intra(&o->cluster, e));
    CC_TRY(cc_cluster_parse_stages(&o->cluster, e));
    c->gather = s->cluster.gather;
    c->intra_scheme = s->cluster.intra_scheme;
    c->per_host = s->cluster.per_host;
    c->inner_exchange = s->cluster.inner_exchange;
    c->outer_exchange = s->cluster.outer_exchange;
    c->parts = s->cluster.chunks;
    if (c->parts == CC_CHUNKS_AUTO)
        return cc_usage(e,
                        "--chunks auto: schemes encode each chunk by itself, so that the weights "
                        "depend on their number: give it, as `commcomp model` shows it");
    if (c->per_host > 1 && o->cluster.workers[0] % c->per_host != 0)
        return cc_usage(e, "--per-host %d: %d workers leave a host part empty", c->per_host,
                        o->cluster.workers[0]);
    if (CC_TRAIN_CLUSTER_GIVEN(o, servers) != NULL && !servers)
        return cc_usage(e, "--servers: %s has none", name);
    if (cc_exchange_has(c->exchange, CC_X_CHOOSES) && o->checkpoint != NULL)
        return cc_usage(e, "--checkpoint: ssar-auto chooses by the step before, which a checkpoint "
                           "does not have; take the exchange that it chooses");
    if (!servers && (CC_TRAIN_GIVEN(o, pull_what) != NULL || pull != NULL))
        return cc_usage(e, "--%s: only servers are pulled from, as with --exchange ps",
                        pull != NULL ? "pull-scheme" : "pull");
    c->deltas = servers && o->pull_what == 0;
    if (pull == NULL)
        return CC_OK;
    const int status = cc_spec_list_parse(pull, &o->pull, e);
    if (status != CC_OK)
        cc_error_in(e, "--pull-scheme");
    else if (o->pull.count != 1)
        return cc_usage(e, "--pull-scheme %s: one scheme", pull);
    return status;
}

/* --clip takes all values at once: whoever applies the optimizer has them in one piece. */
static int check_clip(const struct cc_train_options *o, struct cc_error *e)
{
    const struct cc_training_config *c = &o->training;
    if (!(c->clip >= 0 && isfinite(c->clip)))
        return cc_usage(e, "--clip: a norm, or 0");
    if (c->clip == 0 || c->local.steps > 0)
        return CC_OK;
    if (o->scd || c->svrg_steps > 0)
        return cc_usage(e, "--clip: not with --optimizer %s", cc_train_optimizers[o->optimizer]);
    if (!cc_train_is_bulk(o))
        return cc_usage(e,
                        "--clip: only with --consistency bulk, where all workers' gradients meet");
    if (c->deltas && c->servers > 1)
        return cc_usage(e,
                        "--clip: %d servers have parts of the gradient; give --pull mean, where "
                        "workers have all of it, or --servers 1",
                        c->servers);
    if (c->collectives.count > 0) /* it updates when all gradients are there */
        return CC_OK;
    if (c->mode == CC_OVERLAP || o->cluster.setting.timing.fuse_bytes >= 0)
        return cc_usage(e, "--clip: not with --%s, which %s",
                        c->mode == CC_OVERLAP ? "mode overlap" : "fuse",
                        c->mode == CC_OVERLAP ? "applies each tensor's gradient as it comes"
                                              : "applies the gradient message by message");
    return CC_OK;
}

static int check_checkpoint(const struct cc_train_options *o, struct cc_error *e)
{
    const void *const of_checkpoints[] = {&o->training.checkpoint_every, &o->training.resume, NULL};
    const char *name = cc_given_of(o, of_checkpoints);
    return o->checkpoint != NULL || name == NULL
               ? CC_OK
               : cc_usage(e, "--%s goes with --checkpoint DIR", name);
}

/* "100:112" */
static int parse_capture(struct cc_train_options *o, struct cc_error *e)
{
    struct cc_training_config *c = &o->training;
    const char *text = o->capture_steps;
    const size_t steps = o->length[0].steps / cc_train_counted_as_one(o);
    uint64_t from = steps > 8 ? steps - 8 : 0, to = steps;
    if (o->capture != NULL && o->lengths > 1)
        return cc_usage(e, "--capture is of one length: give one number of --steps");
    if (o->capture != NULL && c->resume)
        return cc_usage(e, "--capture: not with --resume, which does not repeat the steps before a "
                           "checkpoint; train without --resume, or without --capture");
    if (text != NULL) {
        const char *colon = strchr(text, ':');
        char first[32] = "";
        if (o->capture == NULL)
            return cc_usage(e, "--capture-steps goes with --capture DIR");
        if (colon != NULL)
            (void)snprintf(first, sizeof first, "%.*s", (int)(colon - text), text);
        if (colon == NULL || cc_parse_count(first, &from, e) != CC_OK ||
            cc_parse_count(colon + 1, &to, e) != CC_OK || from >= to || to > steps)
            return cc_usage(e,
                            "--capture-steps %s: steps from the first to before the last, as in "
                            "0:12, of %zu",
                            text, steps);
    }
    c->capture_from = (size_t)from;
    c->capture_to = (size_t)to;
    return CC_OK;
}

int cc_train_plan(struct cc_train *t, struct cc_error *e)
{
    const struct cc_args *args = t->args;
    struct cc_train_options *o = &t->options;
    struct cc_training_config *c = &o->training;
    complete_task(t, &c->task);
    CC_TRY(cc_train_parse_lengths(o, e));
    CC_TRY(cc_train_parse_local(o, e));
    CC_TRY(cc_parallel_check(o->threads, e));
    o->seed = o->cluster.source.seed;
    c->min_size = o->cluster.min_size;
    c->dtype = o->cluster.source.dtype;
    c->raw = t->raw;
    CC_TRY(check_checkpoint(o, e));
    CC_TRY(parse_capture(o, e));
    CC_TRY(check_optimizer(o, e));
    cc_train_choose_system(o);
    CC_TRY(parse_exchange(o, e));
    o->compute_s = o->cluster.setting.timing.compute_s;
    CC_TRY(cc_train_check_messages(o, e));
    CC_TRY(cc_train_parse_place(args, o, e));
    CC_TRY(cc_train_parse_consistency(args, o, e));
    CC_TRY(cc_train_parse_linear(o, e));
    CC_TRY(cc_train_parse_svrg(o, e));
    CC_TRY(cc_train_parse_pipe(o, e));
    CC_TRY(cc_train_parse_system(o, e));
    CC_TRY(cc_train_check_system(t, e));
    CC_TRY(cc_train_check_trial(o, e));
    CC_TRY(check_clip(o, e));
    if (o->on != CC_TRAIN_LOCAL)
        return CC_OK;
    const struct cc_link_options *l = &o->cluster.network;
    if (cc_given(l, &l->bw) != NULL)
        return cc_train_make_links(o, e);
    /* Simulated clocks have the last two, too. */
    const struct cc_timing *timing = &o->cluster.setting.timing;
    const void *const of_links[] = {&l->latency, &l->overhead, &l->message_s, NULL};
    const void *const of_clocks[] = {&timing->compute_s, &timing->straggler, NULL};
    const char *name = cc_given_of(l, of_links);
    if (name == NULL && cc_train_is_bulk(o))
        name = cc_given_of(&o->cluster, of_clocks);
    return name == NULL ? CC_OK : cc_usage(e, "--%s goes with --bw", name);
}
