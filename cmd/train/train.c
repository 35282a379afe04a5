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

static int parse_optimizer(const struct cc_args *args, struct cc_train_options *o,
                           struct cc_error *e)
{
    static const enum cc_optimizer_kind kinds[] = {CC_SGD,   CC_SGD, CC_ADAM,
                                                   CC_ADAMW, CC_SGD, CC_SGD};
    double decay = 0;
    int which = 0;
    o->momentum = 0.9;
    cc_arg_choice(args, "optimizer", &which);
    CC_TRY(cc_arg_real(args, "momentum", &o->momentum, e));
    CC_TRY(cc_arg_real(args, "weight-decay", &decay, e));
    if (!(o->momentum >= 0 && o->momentum < 1))
        return cc_usage(e, "--momentum: from 0 to less than 1");
    if (!(decay >= 0 && decay < 1))
        return cc_usage(e, "--weight-decay: from 0 to less than 1");
    o->scd = strcmp(cc_train_optimizers[which], "scd") == 0;
    if ((kinds[which] != CC_SGD || o->scd) && cc_arg(args, "momentum") != NULL)
        return cc_usage(e, "--momentum is of sgd and nesterov, not of %s",
                        cc_train_optimizers[which]);
    if (o->scd || o->training.svrg_steps > 0)
        o->momentum = 0;
    o->training.optimizer = (struct cc_optimizer){.kind = kinds[which],
                                                  .momentum = (float)o->momentum,
                                                  .nesterov = which == 1,
                                                  .decay = (float)decay,
                                                  .beta = {0.9f, 0.999f},
                                                  .small = 1e-8f};
    return CC_OK;
}

/* "0.01,0.02" */
static int parse_rates(const struct cc_args *args, struct cc_train_options *o, struct cc_error *e)
{
    enum { MOST = 32 };
    const char *text = cc_arg(args, "rate") != NULL ? cc_arg(args, "rate") : "0.1";
    o->rate = cc_alloc(MOST * sizeof *o->rate, e);
    if (o->rate == NULL)
        return CC_FAIL;
    for (const char *at = text;; at++) {
        char *end;
        const double rate = strtod(at, &end);
        if (end == at || (*end != ',' && *end != '\0') || !(rate > 0 && rate <= 1000))
            return cc_usage(e, "--rate %s: numbers above 0, up to 1000, as in 0.01,0.1", text);
        for (size_t i = 0; i < o->rates; i++)
            if (o->rate[i] == rate)
                return cc_usage(e, "--rate %s: %g is there twice", text, rate);
        if (o->rates == MOST)
            return cc_usage(e, "--rate %s: at most %d of them", text, MOST);
        o->rate[o->rates++] = rate;
        at = end;
        if (*at == '\0')
            return CC_OK;
    }
}

static int parse_shards(const struct cc_args *args, size_t *out, struct cc_error *e)
{
    const char *text = cc_arg(args, "shards");
    uint64_t n = 0;
    *out = 0;
    if (text == NULL || strcmp(text, "iid") == 0)
        return CC_OK;
    if (strncmp(text, "by-class:", 9) != 0)
        return cc_usage(e, "--shards %s: it is iid, or by-class:N", text);
    if (cc_parse_count(text + 9, &n, e) != CC_OK || n < 1 || n > 1000)
        return cc_usage(e, "--shards %s: from 1 to 1000 pieces for each worker", text);
    *out = (size_t)n;
    return CC_OK;
}

static int parse_target(const struct cc_args *args, double *out, struct cc_error *e)
{
    const char *text = cc_arg(args, "target");
    *out = NAN;
    const int status = text != NULL ? cc_parse_share(text, out, e) : CC_OK;
    if (status != CC_OK)
        cc_error_in(e, "--target");
    return status;
}

/* "16x16" */
static int parse_input(const struct cc_args *args, struct cc_task_config *out, struct cc_error *e)
{
    const char *text = cc_arg(args, "input");
    struct cc_shape shape;
    out->height = out->data->height;
    out->width = out->data->width;
    if (text == NULL)
        return CC_OK;
    const int status = cc_shape_parse(text, &shape, e);
    if (status != CC_OK || shape.ndim != 2 || shape.n == 0 || shape.n > 1024 * 1024)
        return cc_usage(e, "--input %s: height and width, as in 16x16, of up to 2^20 pixels", text);
    out->height = shape.dim[0];
    out->width = shape.dim[1];
    return CC_OK;
}

static const char *net_of(const struct cc_args *args)
{
    const char *net = cc_arg(args, "net");
    return net != NULL ? net : "resnet20";
}

static int parse_task(struct cc_train *t, struct cc_error *e)
{
    const struct cc_args *args = t->args;
    struct cc_task_config *c = &t->options.training.task;
    uint64_t workers = 4, batch = 32, shift = 0;
    *c = (struct cc_task_config){
        .net = net_of(args), .data = t->data, .flip = cc_arg(args, "flip") != NULL};
    CC_TRY(cc_arg_count(args, "workers", 1, 1024, &workers, e));
    CC_TRY(cc_arg_count(args, "batch", 1, 1 << 20, &batch, e));
    CC_TRY(cc_arg_count(args, "shift", 0, 1024, &shift, e));
    CC_TRY(parse_shards(args, &c->by_class, e));
    c->workers = (size_t)workers;
    c->batch = (size_t)batch;
    c->shift = (size_t)shift;
    return parse_input(args, c, e);
}

static int parse_exchange(const struct cc_args *args, struct cc_train_options *o,
                          struct cc_error *e)
{
    struct cc_training_config *c = &o->training;
    const char *name = cc_arg(args, "exchange"), *pull = cc_arg(args, "pull-scheme");
    int via = CC_VIA_HOPS, delta = 0, mode = CC_SEQUENTIAL;
    uint64_t servers_wanted = 1, dense_bits = 32;
    const int found = name != NULL ? cc_exchange_find(name) : CC_PS;
    cc_arg_choice(args, "via", &via);
    cc_arg_choice(args, "mode", &mode);
    cc_arg_choice(args, "pull", &delta);
    CC_TRY(cc_arg_count(args, "servers", 1, 1024, &servers_wanted, e));
    CC_TRY(cc_arg_count(args, "dense-bits", 2, 32, &dense_bits, e));
    if (found < 0 || !cc_inprocess_has((enum cc_exchange)found))
        return cc_usage(
            e,
            "--exchange %s: train has all exchanges of `run` but mpi, whose sums are the "
            "library's own",
            name);
    c->exchange = (enum cc_exchange)found;
    if (cc_arg(args, "via") != NULL && !cc_exchange_has(c->exchange, CC_X_RECODES))
        return cc_usage(e, "--via is for ring, recdouble and rabenseifner, not for %s",
                        cc_exchange_names[c->exchange]);
    c->via = (enum cc_via)via;
    c->mode = (enum cc_step_mode)mode;
    c->servers = (int)servers_wanted;
    c->dense_bits = (int)dense_bits;
    if (!cc_job_takes_dense_bits((double)dense_bits))
        return cc_usage(e, "--dense-bits: 32, 8, 4 or 2");
    if (cc_arg(args, "dense-bits") != NULL && !cc_exchange_has(c->exchange, CC_X_DENSE_STAGE))
        return cc_usage(e, "--dense-bits is for dsar-split and ssar-auto, not for %s",
                        cc_exchange_names[c->exchange]);
    if (cc_arg(args, "servers") != NULL && !cc_exchange_has(c->exchange, CC_X_SERVERS))
        return cc_usage(e, "--servers: %s has none", cc_exchange_names[c->exchange]);
    if (cc_exchange_has(c->exchange, CC_X_CHOOSES) && cc_arg(args, "checkpoint") != NULL)
        return cc_usage(e, "--checkpoint: ssar-auto chooses by the step before, which a checkpoint "
                           "does not have; take the exchange that it chooses");
    const bool servers = cc_exchange_has(c->exchange, CC_X_SERVERS);
    if (!servers && (cc_arg(args, "pull") != NULL || pull != NULL))
        return cc_usage(e, "--%s: only servers are pulled from, as with --exchange ps",
                        pull != NULL ? "pull-scheme" : "pull");
    c->deltas = servers && delta == 0;
    if (pull == NULL)
        return CC_OK;
    const int status = cc_spec_list_parse(pull, &o->pull, e);
    if (status != CC_OK)
        cc_error_in(e, "--pull-scheme");
    else if (o->pull.count != 1)
        return cc_usage(e, "--pull-scheme %s: one scheme", pull);
    return status;
}

static int parse_checkpoint(const struct cc_args *args, struct cc_train_options *o,
                            struct cc_error *e)
{
    static const char *const of_checkpoints[] = {"checkpoint-every", "resume"};
    uint64_t every = 0;
    o->checkpoint = cc_arg(args, "checkpoint");
    for (size_t i = 0; i < sizeof of_checkpoints / sizeof *of_checkpoints; i++)
        if (o->checkpoint == NULL && cc_arg(args, of_checkpoints[i]) != NULL)
            return cc_usage(e, "--%s goes with --checkpoint DIR", of_checkpoints[i]);
    CC_TRY(cc_arg_count(args, "checkpoint-every", 1, UINT32_MAX, &every, e));
    o->training.checkpoint_every = (size_t)every; /* 0: as evaluations */
    o->training.resume = cc_arg(args, "resume") != NULL;
    return CC_OK;
}

/* "100:112" */
static int parse_capture(const struct cc_args *args, struct cc_train_options *o, struct cc_error *e)
{
    struct cc_training_config *c = &o->training;
    const char *text = cc_arg(args, "capture-steps");
    const size_t steps = o->length[0].steps / cc_train_counted_as_one(o);
    uint64_t from = steps > 8 ? steps - 8 : 0, to = steps;
    o->capture = cc_arg(args, "capture");
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

static int parse_options(struct cc_train *t, struct cc_error *e)
{
    const struct cc_args *args = t->args;
    struct cc_train_options *o = &t->options;
    struct cc_training_config *c = &o->training;
    uint64_t seeds = 1, min_size = 0;
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t threads = cores > 0 ? (uint64_t)cores : 1;
    CC_TRY(parse_task(t, e));
    CC_TRY(cc_train_parse_lengths(args, o, e));
    CC_TRY(cc_train_parse_local(args, o, e));
    CC_TRY(cc_arg_count(args, "min-size", 0, INT64_MAX, &min_size, e));
    o->seed = 1;
    CC_TRY(cc_arg_count(args, "seed", 0, CC_MAX_SEED - 1000, &o->seed, e));
    CC_TRY(cc_arg_count(args, "seeds", 1, 1000, &seeds, e));
    CC_TRY(cc_arg_count(args, "threads", 1, CC_PARTS_MAX, &threads, e));
    CC_TRY(cc_parallel_check((int)threads, e));
    o->seeds = (size_t)seeds;
    o->threads = (int)threads;
    c->min_size = (size_t)min_size;
    c->raw = t->raw;
    CC_TRY(parse_checkpoint(args, o, e));
    CC_TRY(parse_capture(args, o, e));
    CC_TRY(parse_optimizer(args, o, e));
    CC_TRY(parse_rates(args, o, e));
    CC_TRY(parse_target(args, &o->target, e));
    CC_TRY(parse_exchange(args, o, e));
    o->compute_s = NAN;
    CC_TRY(cc_arg_time(args, "compute", &o->compute_s, e));
    CC_TRY(cc_train_parse_messages(args, o, e));
    CC_TRY(cc_train_parse_place(args, o, e));
    CC_TRY(cc_train_parse_consistency(args, o, e));
    CC_TRY(cc_train_parse_linear(args, o, e));
    CC_TRY(cc_train_parse_svrg(args, o, e));
    CC_TRY(cc_train_parse_pipe(args, o, e));
    if (o->on != CC_TRAIN_LOCAL)
        return CC_OK;
    if (cc_arg(args, "bw") != NULL)
        return cc_train_parse_links(args, o, e);
    /* Simulated clocks have the last two, too. */
    static const char *const of_links[] = {"latency", "overhead", "message-cost", "compute",
                                           "stragglers"};
    const size_t count = sizeof of_links / sizeof *of_links - (cc_train_is_bulk(o) ? 0 : 2);
    for (size_t i = 0; i < count; i++)
        if (cc_arg(args, of_links[i]) != NULL)
            return cc_usage(e, "--%s goes with --bw", of_links[i]);
    return CC_OK;
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
    cc_options_free(&t->options.network);
    free(t->options.rate);
    free(t->options.length);
    cc_train_paper_free(t);
    cc_hosts_free(&t->options.hosts);
    cc_net_free(t->net);
    cc_spec_free(t->raw);
    cc_spec_list_free(&t->options.pull);
    cc_data_free(t->data);
}

const char *cc_train_data(const struct cc_args *args)
{
    const char *data = cc_arg(args, "data");
    return data != NULL ? data : cc_linear_is(net_of(args)) ? "synthetic-sparse" : "digits";
}

int cc_train_open(struct cc_train *t, struct cc_error *e)
{
    CC_TRY(cc_spec_parse(CC_RAW_SCHEME, &t->raw, e));
    CC_TRY(cc_task_data(net_of(t->args), cc_train_data(t->args), &t->data, e));
    CC_TRY(cc_train_svrg_defaults(t->args, t, e));
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
