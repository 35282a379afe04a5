/* The options of `commcomp train`. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/train/options/options.h"
#include "core/memory.h"
#include "core/parallel.h"
#include "core/units.h"
#include "models/recipe_list.h"
#include "models/trial.h"
#include "train/gpt.h"
#include "train/linear/linear.h"

const char *const cc_train_optimizers[] = {"sgd", "nesterov", "adam",   "adamw",
                                           "scd", "svrg",     "signum", NULL};
const char *const cc_train_places[] = {"local", "run", "sim", NULL};
const char *const cc_train_outers[] = {"mean", "momentum", "nesterov", "ef", NULL};
const char *const cc_train_pulls[] = {"delta", "mean", NULL};
const char *const cc_train_systems[] = {"zero1", "zero2", "zero3", "fsdp", "hsdp", "sdp4bit", NULL};
const char *const cc_train_figures[] = {CC_RECIPES_TRAIN(CC_RECIPE_NAME) NULL};
static const char *const recipes[] = {CC_RECIPES_TRAINING(CC_RECIPE_NAME) NULL};
static const char *const shows[] = {"all", "ends", "means", NULL};

/* --- values --- */

enum { LONGEST = 1 << 30 }; /* steps */

static int by_steps(const void *a, const void *b)
{
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

int cc_train_parse_steps(const char *text, void *member, struct cc_error *e)
{
    struct cc_train_step_counts *out = member;
    char *words = cc_strdup(text, e), *rest = words, *word;
    int status = words != NULL ? CC_OK : CC_FAIL;
    out->count = 0;
    while (status == CC_OK && (word = strsep(&rest, ",")) != NULL) {
        uint64_t steps;
        if (cc_parse_count(word, &steps, e) != CC_OK || steps < 1 || steps > LONGEST)
            status = cc_usage(e, "--steps %s: numbers from 1 to %d, as in 100,200", text, LONGEST);
        else if (out->count == CC_TRAIN_MOST_ITEMS)
            status = cc_usage(e, "--steps %s: at most %d of them", text, CC_TRAIN_MOST_ITEMS);
        else
            out->item[out->count++] = (size_t)steps;
    }
    free(words);
    qsort(out->item, out->count, sizeof *out->item, by_steps);
    for (size_t i = 1; i < out->count && status == CC_OK; i++)
        if (out->item[i] == out->item[i - 1])
            status = cc_usage(e, "--steps %s: %zu is there twice", text, out->item[i]);
    return status;
}

/* "0.01,0.02" */
static int parse_rates(const char *text, void *member, struct cc_error *e)
{
    struct cc_train_rates *out = member;
    out->count = 0;
    for (const char *at = text;; at++) {
        char *end;
        const double rate = strtod(at, &end);
        if (end == at || (*end != ',' && *end != '\0') || !(rate > 0 && rate <= 1000))
            return cc_usage(e, "--rate %s: numbers above 0, up to 1000, as in 0.01,0.1", text);
        for (size_t i = 0; i < out->count; i++)
            if (out->item[i] == rate)
                return cc_usage(e, "--rate %s: %g is there twice", text, rate);
        if (out->count == CC_TRAIN_MOST_ITEMS)
            return cc_usage(e, "--rate %s: at most %d of them", text, CC_TRAIN_MOST_ITEMS);
        out->item[out->count++] = rate;
        at = end;
        if (*at == '\0')
            return CC_OK;
    }
}

/* "iid" is 0. */
static int parse_shards(const char *text, void *member, struct cc_error *e)
{
    uint64_t n = 0;
    if (strcmp(text, "iid") != 0) {
        if (strncmp(text, "by-class:", 9) != 0)
            return cc_usage(e, "--shards %s: it is iid, or by-class:N", text);
        if (cc_parse_count(text + 9, &n, e) != CC_OK || n < 1 || n > 1000)
            return cc_usage(e, "--shards %s: from 1 to 1000 pieces for each worker", text);
    }
    *(size_t *)member = (size_t)n;
    return CC_OK;
}

/* "16x16" */
static int parse_input(const char *text, void *member, struct cc_error *e)
{
    struct cc_shape *shape = member;
    const int status = cc_shape_parse(text, shape, e);
    return status == CC_OK && shape->ndim == 2 && shape->n > 0 && shape->n <= 1024 * 1024
               ? CC_OK
               : cc_usage(e, "--input %s: height and width, as in 16x16, of up to 2^20 pixels",
                          text);
}

/* --- recipes --- */

/* clang-format off */
#define MEMBER(m) CC_OPTION_AT(struct cc_train_options, m)
const struct cc_option cc_train_own_options[] = {
    {.name = "recipe", MEMBER(recipe), .value = "NAME", .choices = recipes, .group = CC_GROUP_TRAIN, .brief = "defaults of a fair comparison",
     .help = "defaults of a fair comparison: 3lc (ResNet-8, at the rate that is best for fp32, 5 "
             "seeds), perceptron (128 hidden units, 8 seeds), qsgd or sparcml (what these papers "
             "state about accuracy), pipe-sgd-mlp and the other nets of that paper, thesis (of the "
             "modularized parameter server: bulk and stale steps, fp32 and top 1%); other options "
             "change them (docs/train.md)"},
    {.name = "paper", MEMBER(paper), .value = "FIGURE", .choices = cc_train_figures, .group = CC_GROUP_TRAIN,
     .help = "a paper's table or figure, with the paper's numbers beside: those of 3LC's accuracy, "
             "with --recipe 3lc and the figure's schemes, steps and links (docs/train.md); Pipe-SGD's "
             "comparison of three frameworks for one of its nets (docs/pipe-sgd.md); Figures 5.7 and "
             "5.8 of the thesis (docs/thesis.md); or SparCML's Table 2, the time of a pass of linear "
             "models (docs/linear.md). Other options change them"},
    {.name = "trial", MEMBER(trial), .group = CC_GROUP_TRAIN, .brief = "short trainings: which schemes keep fp32's accuracy",
     .help = "a short training with each scheme, in pairs with fp32, that says which keep its accuracy "
             "(docs/trial.md); by default 200 steps of " CC_TRAIN_TRIAL_NET " with schemes of every kind"},
    {.name = "max-loss", MEMBER(max_loss), .kind = CC_TAKES_SHARE, .value = "SHARE", .def = CC_TRIAL_MAX_LOSS_TEXT, .group = CC_GROUP_TRAIN,
     .help = "--trial: a scheme may lose this much accuracy to fp32, in points"},
    {.name = "net", MEMBER(net), .value = "NAME", .def = "resnet20", .group = CC_GROUP_TRAIN,
     .brief = "resnet20, mlp:500-500, convnet, lstm, gpt, logreg, ...",
     .help = "the net to train: resnet20 or another resnet of 6n + 2 layers, mlp:500-500 (a "
             "perceptron with hidden layers of these widths), convnet, lstm or transformer, whose "
             "width :width=N sets; gpt, a language model, as in gpt:layers=2,width=64,heads=2,context=64 "
             "(docs/train.md); or logreg or svm, linear models on sparse rows "
             "(docs/linear.md)"},
    {.name = "data", MEMBER(data), .value = "SET", .otherwise = "digits; of gpt text, of linear models synthetic-sparse",
     .group = CC_GROUP_TRAIN, .brief = "digits, shapes, text, or a file or folder",
     .words = cc_data_names, .file = CC_READS_FILE,
     .help = "the data set: digits, or for gpt text (which the program carries), text:PATH (a file, or "
             "those of a folder), shapes (images that are drawn, as in shapes:classes=100), synthetic "
             "(drawn at random, as in synthetic:classes=3,noise=2), synthetic-sparse (sparse rows, for linear models), a folder of MNIST's or CIFAR's files, or a .csv, .libsvm, "
             ".npz or .npy file "
             "(docs/train.md)"},
    {.name = "input", MEMBER(input), .parse = parse_input, .value = "HxW", .otherwise = "that of the samples", .group = CC_GROUP_TRAIN,
     .help = "height and width of the net's input, to which images are interpolated"},
    {.name = "batch", MEMBER(training.task.batch), .kind = CC_TAKES_COUNT, .min = 1, .max = 1 << 20, .value = "COUNT", .def = "32", .group = CC_GROUP_TRAIN, .brief = "samples of a worker in a step",
     .help = "samples of a worker in a step"},
    {.name = "steps", MEMBER(steps), .parse = cc_train_parse_steps, .value = "N", .def = "400", .group = CC_GROUP_TRAIN, .brief = "steps to train",
     .help = "steps to train; a list trains for each, with a whole schedule, and evaluates at the "
             "ends"},
    {.name = "optimizer", MEMBER(optimizer), .value = "NAME", .def = "sgd", .choices = cc_train_optimizers,
     .group = CC_GROUP_TRAIN,
     .help = "sgd (with --momentum), nesterov (the same with Nesterov's momentum), adam, adamw or signum "
             "(the sign of the momentum; with scheme demo, which keeps the momentum itself, --momentum 0); for "
             "logreg also scd (stochastic coordinate descent, whose steps --rate multiplies) and svrg "
             "(variance-reduced SGD, with qsgd QSVRG)"},
    {.name = "svrg-steps", MEMBER(svrg_steps), .kind = CC_TAKES_COUNT, .min = 2, .max = 1 << 24, .value = "T", .otherwise = "2 x rows / (workers x batch)",
     .group = CC_GROUP_TRAIN,
     .help = "--optimizer svrg: steps of an epoch, which begins with a full gradient"},
    {.name = "optimum", MEMBER(optimum), .group = CC_GROUP_TRAIN,
     .help = "logreg with up to 2,048 features: find the objective's minimum by Newton's method, and "
             "report how far from it trainings are"},
    {.name = "coordinates", MEMBER(coordinates), .kind = CC_TAKES_COUNT, .min = 1, .max = UINT32_MAX, .value = "N", .def = "100", .group = CC_GROUP_TRAIN,
     .help = "--optimizer scd: coordinates of a worker in a step"},
    {.name = "rate", MEMBER(rates), .parse = parse_rates, .value = "X", .def = "0.1", .group = CC_GROUP_TRAIN, .brief = "learning rate, at its highest",
     .help = "learning rate, at its highest; a list trains with each, and says which is best for "
             "each scheme"},
    {.name = "momentum", MEMBER(momentum), .kind = CC_TAKES_REAL, .value = "X", .def = "0.9", .group = CC_GROUP_TRAIN,
     .help = "of sgd, nesterov and signum; 0 for a scheme that applies momentum itself (dgc)"},
    {.name = "weight-decay", MEMBER(weight_decay), .kind = CC_TAKES_REAL, .value = "X", .def = "0", .group = CC_GROUP_TRAIN,
     .help = "decay of weights, not of biases and normalizations; of linear models, L2 "
             "regularization by so much / 2 times the norm's square, which the objective has"},
    {.name = "beta2", MEMBER(beta2), .kind = CC_TAKES_REAL, .value = "X", .def = "0.999", .group = CC_GROUP_TRAIN,
     .help = "of adam and adamw: the share that the mean square of gradients keeps; 0.95 is usual for "
             "language models"},
    {.name = "clip", MEMBER(training.clip), .kind = CC_TAKES_REAL, .value = "NORM", .def = "0", .group = CC_GROUP_TRAIN,
     .help = "scale the mean gradient of all workers and tensors down to this norm, and with --local-steps "
             "each worker's; 0: leave it"},
    {.name = "schedule", MEMBER(schedule), .value = "HOW", .def = "cosine", .choices = cc_rate_names,
     .group = CC_GROUP_TRAIN,
     .help = "the rate over the steps: constant, step (a tenth from half of them on, a hundredth "
             "from three quarters on) or cosine (down to --last-rate)"},
    {.name = "last-rate", MEMBER(last_rate), .kind = CC_TAKES_SHARE, .value = "SHARE", .def = "0", .group = CC_GROUP_TRAIN,
     .help = "--schedule cosine: the rate at the end, as a share of the highest, as in 10%"},
    {.name = "warmup", MEMBER(warmup), .kind = CC_TAKES_COUNT, .value = "N", .otherwise = "a tenth of the steps", .group = CC_GROUP_TRAIN,
     .help = "steps in which the rate grows linearly to its highest"},
    {.name = "flip", MEMBER(training.task.flip), .group = CC_GROUP_TRAIN, .help = "mirror every second training image"},
    {.name = "shift", MEMBER(training.task.shift), .kind = CC_TAKES_COUNT, .max = 1024, .value = "PIXELS", .def = "0", .group = CC_GROUP_TRAIN,
     .help = "shift training images at random by up to this many pixels"},
    {.name = "shards", MEMBER(training.task.by_class), .parse = parse_shards, .value = "HOW", .def = "iid", .group = CC_GROUP_TRAIN,
     .help = "how samples are shared out: iid (all are shuffled in every epoch), or by-class:N "
             "(sorted by class, and N pieces for each worker)"},
    {.name = "seeds", MEMBER(seeds), .kind = CC_TAKES_COUNT, .min = 1, .max = 1000, .value = "COUNT", .def = "1", .group = CC_GROUP_TRAIN, .brief = "trainings a scheme; summaries have their means",
     .help = "train with this many seeds, from --seed on; summaries are their means with 95% "
             "intervals"},
    {.name = "eval-every", MEMBER(eval_every), .kind = CC_TAKES_COUNT, .min = 1, .max = UINT32_MAX, .value = "N", .otherwise = "a quarter of the steps", .group = CC_GROUP_TRAIN,
     .help = "evaluate on the test samples after every N steps"},
    {.name = "evaluations", MEMBER(evaluations), .kind = CC_TAKES_COUNT, .min = 1, .max = UINT32_MAX, .value = "N", .otherwise = "4; with several --steps the end alone", .group = CC_GROUP_TRAIN,
     .help = "evaluate this many times, in place of --eval-every"},
    {.name = "quarters", MEMBER(quarters), .group = CC_GROUP_TRAIN,
     .help = "train for a quarter, half and three quarters of --steps, too, each with a whole schedule"},
    {.name = "show", MEMBER(show), .value = "WHICH", .def = "ends", .choices = shows, .group = CC_GROUP_TRAIN,
     .help = "the rows of the table: ends (the summary of each training), all (its evaluations, too), or "
             "means (each evaluation, as the mean over the seeds); files have all"},
    {.name = "outer", MEMBER(outer), .value = "NAME", .def = "nesterov", .choices = cc_train_outers,
     .group = CC_GROUP_TRAIN,
     .help = "--local-steps: the outer optimizer; ef: the mean of what arrives, with error feedback of the "
             "differences (SparseLoCo), which schemes with a residual have"},
    {.name = "beta", MEMBER(outer_beta), .kind = CC_TAKES_REAL, .value = "X", .def = "0.95", .group = CC_GROUP_TRAIN,
     .help = "--outer ef: what a residual is multiplied with in each exchange"},
    {.name = "outer-rate", MEMBER(outer_rate), .kind = CC_TAKES_REAL, .value = "X", .otherwise = CC_TRAIN_OUTER_RATE_TEXT "; mean: 1", .group = CC_GROUP_TRAIN,
     .help = "--local-steps: its learning rate"},
    {.name = "outer-momentum", MEMBER(outer_momentum), .kind = CC_TAKES_REAL, .value = "X", .def = "0.9", .group = CC_GROUP_TRAIN,
     .help = "--local-steps: its momentum"},
    {.name = "quorum", MEMBER(quorum), .kind = CC_TAKES_SHARE, .value = "SHARE", .def = "100%", .group = CC_GROUP_TRAIN,
     .help = "--local-steps, allgather: the share of the workers that send in an exchange, drawn for each; "
             "the others keep their difference and send it with the next"},
    {.name = "median-norm", MEMBER(training.local.median), .group = CC_GROUP_TRAIN,
     .help = "--local-steps, allgather: scale what each worker sends to the median norm"},
    {.name = "stream-mix", MEMBER(training.local.mix), .kind = CC_TAKES_REAL, .value = "X", .def = "0.5", .group = CC_GROUP_TRAIN,
     .help = "the same: the share of its own parameters that a worker then keeps; 0 for schemes that "
             "withhold much, such as 3lc"},
    {.name = "target", MEMBER(target), .kind = CC_TAKES_SHARE, .value = "ACCURACY", .group = CC_GROUP_TRAIN,
     .help = "report the time, steps and bytes to this accuracy, as in 97%"},
    {.name = "target-loss", MEMBER(training.target_loss), .kind = CC_TAKES_REAL, .value = "X", .group = CC_GROUP_TRAIN,
     .help = "report the time, steps and bytes to the first evaluation with a loss of at most X; with "
             "--on local trainings end there"},
    {.name = "threads", MEMBER(threads), .kind = CC_TAKES_COUNT, .min = 1, .max = CC_PARTS_MAX, .value = "N", .otherwise = "the processors", .group = CC_GROUP_TRAIN,
     .help = "--on local: schemes and seeds are trained side by side, a thread each; weights and "
             "accuracies do not depend on it"},
    {.name = "dry-run", MEMBER(dry_run), .group = CC_GROUP_TRAIN,
     .help = "--on local: only say how long it would take, by a few steps of each training"},
    {.name = "checkpoint", MEMBER(checkpoint), .value = "DIR", .group = CC_GROUP_TRAIN,
     .help = "keep a checkpoint of each training in DIR, as SCHEME-seedN.safetensors, or with several "
             "--rate as SCHEME-rateX-seedN.safetensors: all that --resume needs, with the parameters "
             "as tensors that other programs read"},
    {.name = "checkpoint-every", MEMBER(training.checkpoint_every), .kind = CC_TAKES_COUNT, .min = 1, .max = UINT32_MAX, .value = "N", .otherwise = "as --eval-every", .group = CC_GROUP_TRAIN,
     .help = "--checkpoint: after every N steps, besides the end and Ctrl-C"},
    {.name = "resume", MEMBER(training.resume), .group = CC_GROUP_TRAIN,
     .help = "--checkpoint: continue from the checkpoints in DIR, with the same settings; "
             "ends with the same weights, bit for bit"},
    {.name = "capture", MEMBER(capture), .value = "DIR", .group = CC_GROUP_TRAIN,
     .help = "write gradients as a trace that --trace reads: each worker's push and what the server "
             "sends, before they are encoded, to DIR, or if there are several schemes, rates or seeds, "
             "to folders in DIR that are named as checkpoints are, without .safetensors"},
    {.name = "capture-steps", MEMBER(capture_steps), .value = "FROM:TO", .otherwise = "the last 8", .group = CC_GROUP_TRAIN,
     .help = "--capture: the steps from FROM to before TO, counted from 0, as in 100:112"},
    {.name = "raw", MEMBER(training.raw_names), .value = "NAMES", .group = CC_GROUP_SEND,
     .help = "tensors that travel as fp32 besides those below --min-size: their names, or patterns of "
             "the shell, with commas between them, as in 'embed*'"},
    {.name = "pull", MEMBER(pull_what), .value = "WHAT", .def = "delta", .choices = cc_train_pulls, .group = CC_GROUP_SEND,
     .help = "ps: what the server sends: delta (the change of its parameters, after the optimizer, "
             "as in 3LC) or mean (the mean gradient; every worker applies the optimizer)"},
    {.name = "pull-scheme", MEMBER(pull_scheme), .value = "SCHEME", .otherwise = "that of the pushes; fp32 for dgc",
     .group = CC_GROUP_SEND, .help = "ps: the scheme of what the server sends"},
    {.name = "system", MEMBER(system), .value = "NAME", .choices = cc_train_systems, .group = CC_GROUP_CLUSTER,
     .help = "zero1: each worker keeps the parameters in full precision and the optimizer's state of a "
             "part of the values alone, receives the mean gradient of these, and all gather the "
             "parameters; zero2: the same, as a step has one micro-step; zero3 and fsdp: parameters are "
             "divided, too, and a layer's are gathered before its forward pass and again before its "
             "backward pass; hsdp: the same in each host, with an allreduce of gradients across hosts; "
             "sdp4bit: zero1 with "
             "--weight-differences, and the schemes of SDP4Bit "
             "where none is given (docs/train.md); by default every worker has all"},
    {.name = "weight-scheme", MEMBER(weight_scheme), .value = "SCHEME",
     .otherwise = "fp32; sdp4bit: " CC_TRAIN_SDP4BIT_WEIGHTS, .group = CC_GROUP_SEND,
     .help = "--system: the scheme of the parameters that workers gather, or of their differences"},
    {.name = "weight-differences", MEMBER(weight_differences), .group = CC_GROUP_SEND,
     .help = "--system: gather the differences of parameters to the copy that all workers have, so that "
             "what --weight-scheme withholds is in the next difference"},
    {.name = "keep-params", MEMBER(keep_params), .group = CC_GROUP_CLUSTER,
     .help = "zero3, fsdp, hsdp: gathered parameters are kept until the backward pass, which need not "
             "gather them again; with --weight-differences they are a copy that every worker keeps"},
    {.name = "on", MEMBER(on), .value = "WHERE", .def = "local", .choices = cc_train_places,
     .brief = "local (this process), sim or run (shaped links)",
     .group = CC_GROUP_CLUSTER,
     .help = "where the workers are: local, all of them in this process; run, ranks under MPI in a "
             "lab or on a cluster, as in `run` (--bw none: on this machine, without a lab); sim, "
             "ranks on a simulated cluster, as in `sim`"},
    {.name = "sync-steps", MEMBER(training.sync_steps), .kind = CC_TAKES_COUNT, .max = UINT32_MAX, .value = "N", .def = "0", .group = CC_GROUP_STEP,
     .help = "--mode pipe: steps at the beginning without the pipeline, as in Pipe-SGD's section 4"},
    {.name = "profile", MEMBER(profile), .value = "FILE", .file = CC_READS_FILE, .group = CC_GROUP_RUN,
     .help = "--codec-time profile: times of the codecs (docs/profile.md); by default those of this "
             "machine, measured on first use and kept in ~/.cache/commcomp"},
    {.name = NULL},
};

const struct cc_option_use cc_train_uses[] = {
    {.rows = cc_train_own_options, .names = "recipe paper trial max-loss net data input"},
    {.rows = cc_cluster_options, .names = "workers",
     .own = {.def = "4", .max = CC_TRAIN_MOST_HOSTS, .group = CC_GROUP_TRAIN,
             .help = "number of workers"}},
    {.rows = cc_train_own_options,
     .names = "batch steps optimizer svrg-steps optimum coordinates rate momentum weight-decay "
              "beta2 clip schedule last-rate warmup flip shift shards"},
    {.rows = cc_source_options, .names = "seed",
     .own = {.max = CC_MAX_SEED - CC_TRAIN_MOST_SEEDS, .group = CC_GROUP_TRAIN,
             .help = "seed of initial weights, order and shards, and of stochastic schemes"}},
    {.rows = cc_source_options, .names = "dtype",
     .own = {.def = "fp32", .group = CC_GROUP_TRAIN,
             .help = "what gradients are rounded to before they are sent: {words}; sums are made "
                     "in float32"}},
    {.rows = cc_train_own_options,
     .names = "seeds eval-every evaluations quarters show"},
    {.rows = cc_cluster_options, .names = "local-steps",
     .own = {.otherwise = "", .group = CC_GROUP_TRAIN,
             .help = "every worker trains H steps on parameters of its own, and the difference is "
                     "exchanged in place of a gradient; an outer optimizer applies the mean of the "
                     "differences, as in DiLoCo (the scheme local sends sums of gradients instead)"}},
    {.rows = cc_train_own_options, .names = "outer beta outer-rate outer-momentum quorum median-norm"},
    {.rows = cc_cluster_options, .names = "stream-parts", .own = {.group = CC_GROUP_TRAIN}},
    {.rows = cc_cluster_options, .names = "stream-delay", .own = {.group = CC_GROUP_TRAIN}},
    {.rows = cc_train_own_options,
     .names = "stream-mix target target-loss threads dry-run checkpoint checkpoint-every resume capture "
              "capture-steps"},
    {.rows = cc_plugin_options},
    {.rows = cc_cluster_options, .names = "min-size"},
    {.rows = cc_train_own_options, .names = "raw pull pull-scheme weight-scheme weight-differences on system keep-params"},
    {.rows = cc_cluster_options, .names = "exchange",
     .own = {.def = "ps",
             .help = "how payloads are moved and reduced: any of `run` but mpi; ssar-* and dsar-split "
                     "carry schemes whose payloads are index-value pairs, and sums"}},
    {.rows = cc_cluster_options, .names = "servers",
     .own = {.def = "1", .max = CC_TRAIN_MOST_HOSTS,
             .help = "ps: servers, of which each keeps its part of every tensor"}},
    {.rows = cc_cluster_options, .names = "placement"},
    {.rows = cc_cluster_options, .names = "per-host inner-exchange outer-exchange gather-scheme intra-scheme sites wan-bw wan-latency"},
    {.rows = cc_cluster_options, .names = "chunks",
     .own = {.value = "COUNT", .otherwise = "1",
             .help = "{exchanges}: cut each message into so many chunks, each of which is a stage behind "
                     "the one before; schemes encode each chunk by itself, so that weights depend on it"}},
    {.rows = cc_cluster_options, .names = "dense-bits",
     .own = {.help = "bits of a value in the dense stage of {exchanges}"}},
    {.rows = cc_cluster_options, .names = "mode",
     .own = {.def = "sequential",
             .help = "sequential (compute, then exchange the step), overlap (every tensor's exchange begins "
                     "once its gradient is there) or pipe (Pipe-SGD: the next step is computed during the "
                     "exchange, with gradients --depth less 1 steps old); with --local-steps it is sequential or "
                     "overlap (an exchange goes on while the next steps are made)"}},
    {.rows = cc_cluster_options, .names = "depth",
     .own = {.max = CC_JOB_DEPTH, .help = "--mode pipe: steps under way at a time, Pipe-SGD's K"}},
    {.rows = cc_train_own_options, .names = "sync-steps"},
    {.rows = cc_cluster_options, .names = "fuse",
     .own = {.otherwise = "the whole step; overlapped, a tensor",
             .help = "gather tensors into messages of up to this many bytes of gradients"}},
    {.rows = cc_consistency_options, .names = "consistency",
     .own = {.words = cc_consistency_names,
             .help = CC_CONSISTENCY_HELP "; a list gives rows for each"}},
    {.rows = cc_consistency_options, .names = "staleness communicate"},
    {.rows = cc_cluster_options, .names = "stragglers",
     .own = {.help = "--bw, --on run or sim with --compute: each worker's compute time varies from step to "
                     "step: lognormal, gamma or uniform"}},
    {.rows = cc_cluster_options, .names = "spread via"},
    {.rows = cc_link_options, .names = "bw",
     .own = {.def = "1gbps", .otherwise = "",
             .help = "rate of a host's link, or a link's name as in `model`: times are then those of "
                     "training over such links, by the formulas of `model`; a list gives rows for "
                     "each, from the same training, or, with --on run or sim, from one over each"}},
    {.rows = cc_link_options, .names = "intra-bw intra-latency"},
    {.rows = cc_link_options, .names = "latency",
     .own = {.help = "--bw: latency of a message; a list gives rows for each"}},
    {.rows = cc_link_options, .names = "overhead",
     .own = {.help = "--bw, not with --on run: bytes on the wire beyond the payload, as in `model`"}},
    {.rows = cc_link_options, .names = "message-cost",
     .own = {.help = "--bw, not with --on run: processor time with which the sender hands a message "
                     "over, as in `model`"}},
    {.rows = cc_cluster_options, .names = "compute",
     .own = {.otherwise = "as measured",
             .help = "--bw, --on run or sim: time of a worker's forward and backward pass of a step, and the "
                     "update"}},
    {.rows = cc_sim_options, .names = "codec-time",
     .own = {.def = "measured",
             .help = "--on sim: time of each codec call: as measured while it runs; or from the profile, "
                     "the same in every simulation, with --compute"}},
    {.rows = cc_train_own_options, .names = "profile"},
    {.rows = cc_hosts_options},
    {.rows = cc_sim_options, .names = "fidelity " CC_PLATFORM_OPTION_NAMES},
    {.rows = NULL},
};
/* clang-format on */

/* --- reading --- */

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

int cc_train_read_options(struct cc_args *args, struct cc_train_options *o, struct cc_error *e)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    const char *bw = cc_arg(args, "bw");
    o->plain = cc_arg_is(args, "bw", "none");
    if (o->plain)
        cc_arg_set(args, "bw", NULL); /* it is not a link, but the notes have it */
    o->target = NAN;
    o->system = -1;
    o->warmup = UINT64_MAX;
    o->threads = cores > 0 ? (int)cores : 1;
    o->cluster.setting.timing.compute_s = NAN;
    o->cluster.setting.timing.fuse_bytes = -1;
    CC_TRY(cc_options_read(args, cc_train_own_options, o, e));
    if (o->data == NULL)
        o->data = cc_linear_is(o->net) ? "synthetic-sparse" : cc_gpt_is(o->net) ? "text" : "digits";
    if (o->training.target_loss > 0 && (!isnan(o->target) || o->trial))
        return cc_usage(e, "--target-loss: not with --%s", o->trial ? "trial" : "target");
    if (o->dry_run && o->on != CC_TRAIN_LOCAL)
        return cc_usage(e, "--dry-run: trainings by ranks are not estimated: leave out --on");
    if (CC_TRAIN_GIVEN(o, training.target_loss) != NULL && !(o->training.target_loss > 0))
        return cc_usage(e, "--target-loss: a number above 0");
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
    CC_TRY(cc_links_make(&o->cluster.network, false, &o->link, &o->links, e));
    return cc_cluster_choose_intra(&o->cluster, e); /* by the calibration, too */
}
