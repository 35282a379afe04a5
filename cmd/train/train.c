/* `commcomp train`: trains a net with the codec in the loop. */
#include "cmd/recipe/recipe.h"
#include "cmd/train/papers/papers.h"
#include "cmd/train/places/places.h"
#include "cmd/train/rows/rows.h"
#include "core/interrupt.h"

static int run(struct cc_args *args, struct cc_error *e)
{
    struct cc_train t = {.args = args, .record = &args->record};
    int status = CC_OK;
    if (args->recipe == NULL && cc_arg(args, "paper") != NULL)
        return cc_recipe_run_named(args, "train", "paper", e);
    if (args->recipe == NULL && cc_arg(args, "recipe") != NULL)
        return cc_recipe_run_named(args, "training", "recipe", e);
    const bool parts =
        args->recipe != NULL && (args->recipe->passes != NULL || args->recipe->frameworks != NULL);
    if (parts && cc_arg(args, "dry-run") != NULL)
        return cc_usage(e, "--dry-run: comparisons of frameworks, and of passes, are not "
                           "estimated: `commcomp recipes` says how long they take");
    if (args->recipe != NULL && args->recipe->passes != NULL)
        return cc_train_passes(args, e);
    if (args->recipe != NULL && args->recipe->frameworks != NULL)
        return cc_train_frameworks(args, e);
    if (args->schemes.count == 0 && cc_arg(args, "trial") == NULL)
        CC_TRY(cc_spec_list_parse("fp32,int8,3lc,3lc:s=1.75", &args->schemes, e));
    CC_TRY_OUT(cc_train_open(&t, e));
    if (t.options.dry_run) {
        status = cc_train_dry(&t, e);
        goto out;
    }
    CC_TRY_OUT(cc_train_all(&t, e));
    CC_TRY_OUT(cc_train_rows(&t, e));
    CC_TRY_OUT(cc_train_notes(&t, e));
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
        "the difference to fp32, paired by seed. Without --scheme these are fp32, int8, 3lc and "
        "3lc:s=1.75. With --bw, times are those of training over such links.",
    .examples =
        "  commcomp train                                    # four schemes, some 20 s\n"
        "  commcomp train --scheme fp32,int8,3lc --seeds 5   # means and intervals\n"
        "  commcomp train --scheme fp32,3lc --bw 10mbps,1gbps --target 95%\n"
        "  commcomp train --net mlp:128 --exchange ring --scheme fp32,int8 --steps 1500\n"
        "  commcomp train --on sim --bw 10mbps --compute 5ms --mode overlap --scheme fp32,3lc\n"
        "  commcomp train --data fashion-mnist/ --input 16x16 --scheme 3lc -o curve.csv\n",
    .page = "docs/train.md",
    .options = cc_train_uses,
    .columns = cc_train_columns,
    .takes_schemes = CC_SCHEMES,
    .run = run,
};
