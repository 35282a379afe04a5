/* --paper pipe-sgd-*: Pipe-SGD's comparison of three frameworks (Li et al., NeurIPS 2018, section 4
 * and Figure 4). Each framework is a training of its own, with its exchange and its steps; their
 * rows are in one record. Accuracies beside are those that stand on the bars of Figure 4. Its times
 * are drawn, so speedups are compared with the ranges of the text. */
#include <stdio.h>
#include <string.h>

#include "cmd/train/papers/papers.h"
#include "cmd/train/places/places.h"
#include "cmd/train/rows/rows.h"
#include "cmd/train/times/times.h"
#include "core/units.h"
#include "models/paper/paper.h"

enum { PS_SYNC, D_SYNC, PIPE, FRAMEWORKS = CC_TRAIN_FRAMEWORKS };

static const struct {
    const char *name, *exchange, *mode;
} frameworks[FRAMEWORKS] = {{"PS-Sync", "ps", "sequential"},
                            {"D-Sync", "ring", "sequential"},
                            {"Pipe-SGD", "ring", "pipe"}};

#define SETTINGS                                                                                   \
    "framework,exchange,net,data,values,workers,batch,rate,latency_s,bw_bps,scheme,seeds,"         \
    "diverged,step,"
#define RESULTS                                                                                    \
    "accuracy,accuracy_paper,difference_sync,difference_sync_low,difference_sync_high,bits_push,"  \
    "step_s,time_s,speedup_ps,speedup_sync,target_s,target_speedup_sync"
#define FIGURE(id, of, m, ...)                                                                     \
    {                                                                                              \
        .name = id, .recipe = id, .title = "section 4 and Figure 4: " of, .bw = "1gbps,10gbps",    \
        .columns = SETTINGS RESULTS, .evaluations = 20, .constant = m, __VA_ARGS__                 \
    }

/* The accuracies of Figure 4's bars, in percent, in the order of its text: of each framework with
 * its schemes. The paper has no quantization of its residual net and its convex benchmark. Their
 * computing is in the proportion to D-Sync's traffic that its speedups are fitted with
 * (models/papers/pipe-sgd.json): the largest are taken to be those of the two with most traffic. */
const struct cc_train_figure cc_train_pipe_figures[] = {
    FIGURE("pipe-sgd-mlp", "MNIST-MLP", "high_comm", .schemes = "fp32,trunc16,int8",
           .accuracy = {{98.33}, {98.33, 98.34, 98.30}, {98.34, 98.36, 98.33}}),
    FIGURE("pipe-sgd-convnet", "AlexNet", "high_comm", .schemes = "fp32,trunc16,int8",
           .sync_share = 0.1, .accuracy = {{56.97}, {56.97, 56.55, 57.10}, {56.83, 56.98, 56.46}}),
    FIGURE("pipe-sgd-resnet", "ResNet18", "low_comm", .schemes = "fp32,trunc16", .sync_share = 0.1,
           .accuracy = {{66.10}, {66.11, 66.02}, {66.35, 66.30}}),
    FIGURE("pipe-sgd-convex", "CIFAR100-Convex", "convex_comm", .schemes = "fp32,trunc16",
           .accuracy = {{47.93}, {47.93, 47.93}, {47.93, 47.97}}),
    {.name = NULL},
};

/* --- options --- */

/* Refuses options that the frameworks set themselves, or have several values of. */
static int refuse(const struct cc_args *args, const char *figure, struct cc_error *e)
{
    static const char *const set[] = {"exchange", "mode", "checkpoint", "capture", "servers"};
    for (size_t i = 0; i < sizeof set / sizeof *set; i++)
        if (cc_arg(args, set[i]) != NULL)
            return cc_usage(e,
                            "--%s: --paper %s compares three frameworks; train one by itself, "
                            "with --recipe %s",
                            set[i], figure, figure);
    const char *steps = cc_arg(args, "steps");
    if (steps != NULL && strchr(steps, ',') != NULL)
        return cc_usage(e, "--steps %s: --paper %s trains with one number of steps", steps, figure);
    if (args->schemes.count > 0)
        return cc_usage(e, "--scheme: --paper %s has the paper's; train others with --recipe %s",
                        figure, figure);
    return CC_OK;
}

/* Sets the framework's options. The server has fp32 alone, as in the paper; the pipelines of deep
 * nets begin synchronously. */
static int set_framework(struct cc_args *args, const struct cc_train_figure *figure, size_t which,
                         char *sync_steps, size_t capacity, struct cc_error *e)
{
    static const char *const of_pipe[] = {"depth", "sync-steps"};
    cc_arg_set(args, "exchange", frameworks[which].exchange);
    cc_arg_set(args, "mode", frameworks[which].mode);
    for (size_t i = 0; which != PIPE && i < sizeof of_pipe / sizeof *of_pipe; i++)
        cc_arg_set(args, of_pipe[i], NULL);
    struct cc_train_step_counts given = {.count = 0};
    if (cc_arg(args, "steps") != NULL)
        CC_TRY(cc_train_parse_steps(cc_arg(args, "steps"), &given, e));
    (void)snprintf(sync_steps, capacity, "%.0f", figure->sync_share * (double)given.item[0]);
    if (which == PIPE && cc_arg(args, "sync-steps") == NULL)
        cc_arg_set(args, "sync-steps", sync_steps);
    return cc_spec_list_parse(which == PS_SYNC ? CC_RAW_SCHEME : figure->schemes, &args->schemes,
                              e);
}

/* --- computing --- */

/* The time of a step's communication in D-Sync with fp32. */
static int sync_comm_s(const struct cc_train *t, const struct cc_link *link, double *out,
                       struct cc_error *e)
{
    struct cc_train sync = *t;
    sync.options.training.exchange = CC_RING;
    sync.options.training.mode = CC_SEQUENTIAL;
    return cc_train_raw_comm_s(&sync, link, out, e);
}

int cc_train_framework_open(struct cc_train *t, struct cc_error *e)
{
    struct cc_train_options *o = &t->options;
    const struct cc_link *fastest = o->link;
    double comm_s;
    CC_TRY(cc_paper_open("pipe-sgd", &t->paper[0], e));
    CC_TRY(cc_paper_solve(t->paper[0], e));
    if (t->framework == 0) {
        cc_record_title(t->record, "Pipe-SGD, %s", o->figure->title);
        CC_TRY(cc_record_choose_usual(t->record, o->figure->columns, e));
    }
    if (o->links == 0 || cc_arg(t->args, "compute") != NULL)
        return CC_OK;
    for (size_t i = 1; i < o->links; i++)
        if (o->link[i].bw_bps > fastest->bw_bps)
            fastest = &o->link[i];
    CC_TRY(sync_comm_s(t, fastest, &comm_s, e));
    o->compute_s = comm_s / cc_paper_constant_value(t->paper[0], o->figure->constant);
    return CC_OK;
}

/* --- results --- */

const char *cc_train_framework_name(const struct cc_train *t)
{
    return t->frameworks != NULL ? frameworks[t->framework].name : NULL;
}

double cc_train_framework_accuracy(const struct cc_train *t, size_t variant)
{
    const double percent =
        t->options.figure->accuracy[t->framework][variant % t->args->schemes.count];
    return percent / 100;
}

const struct cc_train *cc_train_ps_sync(const struct cc_train *t)
{
    return t->frameworks != NULL ? &t->frameworks[PS_SYNC] : NULL;
}

const struct cc_train *cc_train_d_sync(const struct cc_train *t)
{
    return t->frameworks != NULL ? &t->frameworks[D_SYNC] : NULL;
}

int cc_train_framework_notes(const struct cc_train *t, struct cc_error *e)
{
    const struct cc_train_options *o = &t->options;
    char compute[32];
    CC_TRY(cc_record_note(
        t->record, e,
        "the paper's accuracies are those of its Figure 4, of %s and its data set: compare "
        "differences and order",
        strchr(o->figure->title, ':') + 2));
    CC_TRY(cc_record_note(
        t->record, e,
        "the paper's text: with compression, Pipe-SGD is 2.0 to 3.2 times as fast as D-Sync and "
        "4.0 to 5.4 times as fast as PS-Sync; on CIFAR100-Convex D-Sync's time is 40%% below "
        "PS-Sync's, Pipe-SGD's 37%% below D-Sync's, and with truncation 46%% below D-Sync's with "
        "truncation"));
    if (o->links == 0 || cc_arg(t->args, "compute") != NULL)
        return CC_OK;
    cc_print_si(o->compute_s, "s", compute, sizeof compute);
    return cc_record_note(
        t->record, e,
        "computing takes %s: D-Sync's traffic with fp32 over the fastest link takes %.3g times as "
        "long, a proportion that is fitted to the paper's speedups (`commcomp paper pipe-sgd`); "
        "--compute changes that",
        compute, cc_paper_constant_value(t->paper[0], o->figure->constant));
}

/* --- all of them --- */

int cc_train_frameworks(struct cc_args *args, const struct cc_train_figure *figure,
                        struct cc_error *e)
{
    struct cc_train t[FRAMEWORKS] = {0};
    struct cc_args own[FRAMEWORKS];
    char sync_steps[FRAMEWORKS][32];
    int status = CC_OK;
    CC_TRY(refuse(args, figure->name, e));
    for (size_t i = 0; i < FRAMEWORKS; i++) {
        own[i] = *args;
        t[i] = (struct cc_train){.args = &own[i],
                                 .record = &args->record,
                                 .frameworks = t,
                                 .framework = i,
                                 .options = {.figure = figure, .recipe = figure->recipe}};
    }
    for (size_t i = 0; i < FRAMEWORKS; i++) {
        (void)cc_train_apply_recipe(&own[i], figure->recipe);
        CC_TRY_OUT(set_framework(&own[i], figure, i, sync_steps[i], sizeof sync_steps[i], e));
        CC_TRY_OUT(cc_train_open(&t[i], e));
    }
    for (size_t i = 0; i < FRAMEWORKS; i++)
        CC_TRY_OUT(cc_train_all(&t[i], e));
    for (size_t i = 0; i < FRAMEWORKS; i++)
        CC_TRY_OUT(cc_train_rows(&t[i], e));
    for (size_t i = 0; i < FRAMEWORKS; i++)
        CC_TRY_OUT(cc_train_failure(&t[i], e));
out:
    for (size_t i = 0; i < FRAMEWORKS; i++) {
        cc_train_close(&t[i]);
        cc_spec_list_free(&own[i].schemes);
    }
    return status;
}
