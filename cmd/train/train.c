/* `commcomp train`: trains a net with the codec in the loop. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/input/carries.h"
#include "cmd/input/cluster.h"
#include "cmd/train/train.h"
#include "core/interrupt.h"
#include "core/memory.h"
#include "core/parallel.h"
#include "core/units.h"
#include "netsim/inprocess/inprocess.h"
#include "train/linear/linear.h"

/* --- options --- */

static int check_optimizer(struct cc_train_options *o, struct cc_error *e)
{
    static const enum cc_optimizer_kind kinds[] = {CC_SGD,   CC_SGD, CC_ADAM,
                                                   CC_ADAMW, CC_SGD, CC_SGD};
    const char *name = cc_train_optimizers[o->optimizer];
    const enum cc_optimizer_kind kind = kinds[o->optimizer];
    if (!(o->momentum >= 0 && o->momentum < 1))
        return cc_usage(e, "--momentum: from 0 to less than 1");
    if (!(o->weight_decay >= 0 && o->weight_decay < 1))
        return cc_usage(e, "--weight-decay: from 0 to less than 1");
    o->scd = strcmp(name, "scd") == 0;
    if ((kind != CC_SGD || o->scd) && CC_TRAIN_GIVEN(o, momentum) != NULL)
        return cc_usage(e, "--momentum is of sgd and nesterov, not of %s", name);
    if (o->scd || o->training.svrg_steps > 0)
        o->momentum = 0;
    o->training.optimizer = (struct cc_optimizer){.kind = kind,
                                                  .momentum = (float)o->momentum,
                                                  .nesterov = strcmp(name, "nesterov") == 0,
                                                  .decay = (float)o->weight_decay,
                                                  .beta = {0.9f, 0.999f},
                                                  .small = 1e-8f};
    return CC_OK;
}

static struct cc_task_config task_of(const struct cc_train *t)
{
    const struct cc_train_options *o = &t->options;
    const bool given = o->input.n > 0;
    return (struct cc_task_config){.net = o->net,
                                   .data = t->data,
                                   .height = given ? o->input.dim[0] : t->data->height,
                                   .width = given ? o->input.dim[1] : t->data->width,
                                   .workers = (size_t)o->cluster.workers[0],
                                   .batch = o->batch,
                                   .by_class = o->by_class,
                                   .flip = o->flip,
                                   .shift = o->shift};
}

/* The lists of `model` are single values here. */
static int check_single(const struct cc_cluster_args *c, struct cc_error *e)
{
    if (c->worker_counts > 1)
        return cc_usage(e, "--workers: one number, not %zu", c->worker_counts);
    if (c->server_counts > 1)
        return cc_usage(e, "--servers: one number, not %zu", c->server_counts);
    return c->exchanges > 1 ? cc_usage(e, "--exchange: one exchange, not %zu", c->exchanges)
                            : CC_OK;
}

static int parse_exchange(struct cc_train_options *o, struct cc_error *e)
{
    struct cc_training_config *c = &o->training;
    const struct cc_setting *s = &o->cluster.setting;
    const char *name = cc_exchange_names[o->cluster.exchange[0]], *pull = o->pull_scheme;
    char with[128];
    c->exchange = o->cluster.exchange[0];
    c->via = s->cluster.via;
    c->mode = s->timing.mode;
    c->servers = o->cluster.servers[0];
    c->dense_bits = (int)s->cluster.dense_bits;
    const bool servers = cc_exchange_has(c->exchange, CC_X_SERVERS);
    if (!cc_inprocess_has(c->exchange))
        return cc_usage(
            e,
            "--exchange %s: train has all exchanges of `run` but mpi, whose sums are the "
            "library's own",
            name);
    if (CC_TRAIN_CLUSTER_GIVEN(o, setting.cluster.via) != NULL &&
        !cc_exchange_has(c->exchange, CC_X_RECODES)) {
        cc_exchange_list(CC_X_RECODES, with, sizeof with);
        return cc_usage(e, "--via is for %s, not for %s", with, name);
    }
    if (!cc_job_takes_dense_bits(s->cluster.dense_bits))
        return cc_usage(e, "--dense-bits: 32, 8, 4 or 2");
    if (CC_TRAIN_CLUSTER_GIVEN(o, setting.cluster.dense_bits) != NULL &&
        !cc_exchange_has(c->exchange, CC_X_DENSE_STAGE)) {
        cc_exchange_list(CC_X_DENSE_STAGE, with, sizeof with);
        return cc_usage(e, "--dense-bits is for %s, not for %s", with, name);
    }
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

static int check_checkpoint(struct cc_train_options *o, struct cc_error *e)
{
    const void *const of_checkpoints[] = {&o->checkpoint_every, &o->resume, NULL};
    const char *name = cc_given_of(o, of_checkpoints);
    if (o->checkpoint == NULL && name != NULL)
        return cc_usage(e, "--%s goes with --checkpoint DIR", name);
    o->training.checkpoint_every = o->checkpoint_every; /* 0: as evaluations */
    o->training.resume = o->resume;
    return CC_OK;
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

/* Reads all options, once recipes and figures have set theirs. */
static int read_options(struct cc_args *args, struct cc_train_options *o, struct cc_error *e)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    const char *bw = cc_arg(args, "bw");
    o->plain = bw != NULL && strcmp(bw, "none") == 0;
    if (o->plain)
        cc_arg_set(args, "bw", NULL); /* it is not a link, but the notes have it */
    o->target = NAN;
    o->warmup = UINT64_MAX;
    o->threads = cores > 0 ? (int)cores : 1;
    o->cluster.setting.timing.compute_s = NAN;
    o->cluster.setting.timing.fuse_bytes = -1;
    CC_TRY(cc_options_read(args, cc_train_own_options, o, e));
    CC_TRY(cc_options_read(args, cc_cluster_options, &o->cluster, e));
    CC_TRY(cc_source_read(args, &o->cluster.source, e));
    CC_TRY(cc_options_read(args, cc_hosts_options, &o->hosts, e));
    CC_TRY(cc_sim_parse(args, &o->sim, e));
    if (o->plain && o->on != CC_TRAIN_RUN)
        return cc_usage(e, "--bw none goes with --on run: ranks on this machine, without a lab");
    CC_TRY(cc_options_read(args, cc_link_options, &o->cluster.network, e));
    if (o->plain)
        cc_arg_set(args, "bw", bw);
    return check_single(&o->cluster, e);
}

int cc_train_make_links(struct cc_train_options *o, struct cc_error *e)
{
    return cc_links_make(&o->cluster.network, &o->link, &o->links, e);
}

static int parse_options(struct cc_train *t, struct cc_error *e)
{
    const struct cc_args *args = t->args;
    struct cc_train_options *o = &t->options;
    struct cc_training_config *c = &o->training;
    c->task = task_of(t);
    CC_TRY(cc_train_parse_lengths(o, e));
    CC_TRY(cc_train_parse_local(o, e));
    CC_TRY(cc_parallel_check(o->threads, e));
    o->seed = o->cluster.source.seed;
    c->min_size = o->cluster.min_size;
    c->raw = t->raw;
    CC_TRY(check_checkpoint(o, e));
    CC_TRY(parse_capture(o, e));
    CC_TRY(check_optimizer(o, e));
    CC_TRY(parse_exchange(o, e));
    o->compute_s = o->cluster.setting.timing.compute_s;
    CC_TRY(cc_train_parse_messages(o, e));
    CC_TRY(cc_train_parse_place(args, o, e));
    CC_TRY(cc_train_parse_consistency(args, o, e));
    CC_TRY(cc_train_parse_linear(o, e));
    CC_TRY(cc_train_parse_svrg(o, e));
    CC_TRY(cc_train_parse_pipe(o, e));
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

/* --- what predictions need --- */

/* Opens the net once, which also refuses what no training can be done with. */
static int describe_net(struct cc_train *t, struct cc_error *e)
{
    struct cc_task *task;
    struct cc_task_config config = t->options.training.task;
    int status = CC_OK;
    config.threads = 1;
    CC_TRY(cc_task_open(&config, &task, e));
    const struct cc_model_layout *layout = cc_task_layout(task);
    t->epoch = cc_task_epoch(task);
    CC_TRY_OUT(cc_net_of(config.net, layout->tensors, layout->count, &t->net, e));
    t->is_raw = cc_alloc(layout->count * sizeof *t->is_raw, e);
    if (t->is_raw == NULL)
        status = CC_FAIL;
    for (size_t i = 0; i < layout->count && status == CC_OK; i++)
        t->is_raw[i] = layout->tensors[i].shape.n < t->options.training.min_size;
out:
    cc_task_close(task);
    return status;
}

/* Refuses schemes that the exchange cannot carry. */
static int check_schemes(const struct cc_train *t, struct cc_error *e)
{
    struct cc_setting setting;
    cc_setting_defaults(t->net, &setting);
    setting.exchange = t->options.training.exchange;
    for (size_t i = 0; i < t->args->schemes.count; i++)
        CC_TRY(cc_input_carries(&setting, t->args->schemes.item[i], e));
    return CC_OK;
}

void cc_train_close(struct cc_train *t)
{
    cc_train_all_free(t);
    cc_train_costs_free(t);
    free(t->message);
    free(t->server);
    free(t->is_raw);
    free(t->optimum.w);
    free(t->options.link);
    cc_options_free(&t->options.cluster.network);
    cc_options_free(&t->options.cluster.source);
    cc_options_free(&t->options.cluster);
    free(t->options.length);
    cc_train_paper_free(t);
    cc_hosts_free(&t->options.hosts);
    cc_net_free(t->net);
    cc_spec_free(t->raw);
    cc_spec_list_free(&t->options.pull);
    cc_data_free(t->data);
}

const char *cc_train_data(const struct cc_train_options *o)
{
    return o->data != NULL ? o->data : cc_linear_is(o->net) ? "synthetic-sparse" : "digits";
}

int cc_train_open(struct cc_train *t, struct cc_error *e)
{
    struct cc_train_options *o = &t->options;
    CC_TRY(cc_spec_parse(CC_RAW_SCHEME, &t->raw, e));
    CC_TRY(read_options(t->args, o, e));
    CC_TRY(cc_task_data(o->net, cc_train_data(o), &t->data, e));
    CC_TRY(cc_train_svrg_defaults(t, e));
    CC_TRY(parse_options(t, e));
    CC_TRY(describe_net(t, e));
    CC_TRY(check_schemes(t, e));
    CC_TRY(cc_train_check_local(t, e));
    CC_TRY(cc_train_check_consistency(t, e));
    CC_TRY(cc_train_find_optimum(t, e));
    CC_TRY(cc_train_messages(t, e));
    CC_TRY(cc_train_costs_open(t, e));
    return cc_train_paper_open(t, e);
}

static int run(struct cc_args *args, struct cc_error *e)
{
    struct cc_train t = {.args = args, .record = &args->record};
    int status = CC_OK;
    if (cc_arg(args, "paper") != NULL && strcmp(cc_arg(args, "paper"), CC_TRAIN_TABLE) == 0)
        return cc_train_table(args, e);
    CC_TRY(cc_train_paper_set(args, &t.options.figure, e));
    if (t.options.figure != NULL && t.options.figure->evaluations > 0) {
        status = cc_train_frameworks(args, t.options.figure, e);
        args->record.partial = cc_interrupted();
        return status;
    }
    t.options.recipe = cc_arg(args, "recipe");
    const char *schemes = cc_train_apply_recipe(args, t.options.recipe);
    if (args->schemes.count == 0)
        CC_TRY(cc_spec_list_parse(schemes, &args->schemes, e));
    CC_TRY_OUT(cc_train_open(&t, e));
    CC_TRY_OUT(cc_train_all(&t, e));
    CC_TRY_OUT(cc_train_rows(&t, e));
    CC_TRY_OUT(cc_train_failure(&t, e));
out:
    args->record.partial = cc_interrupted();
    cc_train_close(&t);
    return status;
}

const struct cc_command cc_command_train = {
    .name = "train",
    .summary = "whether a net still learns: training with each scheme's codec in the loop",
    .operands = "",
    .description =
        "Trains a net, data-parallel, once for each scheme and seed: every worker's gradient is "
        "computed, encoded, exchanged and decoded by the codecs and exchanges of `run`, and the "
        "optimizer takes what arrives. One process plays all workers and the server in turn, so "
        "that no MPI is needed; with --on run and sim they are ranks under MPI, or simulated ones. "
        "The same seed gives the same weights bit for bit, wherever the workers are and whatever "
        "the number of threads.\n\nRows are evaluations on the test samples (kind eval), and a "
        "summary of each scheme (kind summary) with the mean over the seeds, its 95% interval and "
        "the difference to fp32, paired by seed. Without --scheme the ten rows of 3LC's Table 1 "
        "are trained. With --bw, times are those of training over such links.",
    .examples =
        "  commcomp train                                    # the papers' ten schemes\n"
        "  commcomp train --scheme fp32,int8,3lc --seeds 5   # means and intervals\n"
        "  commcomp train --scheme fp32,3lc --bw 10mbps,1gbps --target 95%\n"
        "  commcomp train --net mlp:128 --exchange ring --scheme fp32,int8 --steps 1500\n"
        "  commcomp train --on sim --bw 10mbps --compute 5ms --mode overlap --scheme fp32,3lc\n"
        "  commcomp train --data fashion-mnist/ --input 16x16 --scheme 3lc -o curve.csv\n",
    .options = cc_train_uses,
    .columns = cc_train_columns,
    .takes_schemes = CC_SCHEMES,
    .run = run,
};
