/* commcomp run: measures a training step with real codecs, MPI, and links shaped with tc. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/recipe/recipe.h"
#include "cmd/run/run.h"
#include "core/interrupt.h"
#include "models/paper/paper.h"

/* clang-format off */
static const struct cc_column columns[] = {
    CC_SETTING_COLUMNS,
    CC_COLUMN(size_bytes, CC_SETTING, .note = "with --bw none"),
    CC_COLUMN(element_type, CC_SETTING),
    CC_COLUMN(redop, CC_SETTING),
    CC_COLUMN(nonzeros, CC_SETTING, .note = "with --bw none"),
    CC_COLUMN(indices, CC_SETTING),
    CC_COLUMN(burst_bytes, CC_SETTING, .hidden = true),
    CC_COLUMN(limit_bytes, CC_SETTING, .hidden = true),
    CC_COLUMN(congestion, CC_SETTING, .hidden = true),
    CC_COLUMN(oversubscribed, CC_SETTING),
    CC_COLUMN(links_before_bps, CC_PART),
    CC_COLUMN(links_after_bps, CC_PART),
    CC_COLUMN(call_s, CC_ANSWER, .note = "with --bw none: the median of the calls"),
    CC_COLUMN(call_s_low, CC_PART),
    CC_COLUMN(call_s_high, CC_PART),
    CC_COLUMN(calls, CC_DETAIL),
    CC_COLUMN(algbw_gb_per_s, CC_MAIN),
    CC_COLUMN(busbw_gb_per_s, CC_MAIN),
    CC_COLUMN(apply_s, CC_DETAIL),
    CC_COLUMN(result_values, CC_DETAIL),
    CC_COLUMN(sent_bytes, CC_PART),
    CC_COLUMN(check, CC_MAIN),
    CC_STEP_COLUMNS(CC_ORIGIN_MEASURED),
    CC_STALENESS_COLUMNS(CC_ORIGIN_MEASURED),
    CC_COLUMN(speedup_paper, CC_MAIN),
    CC_COLUMN(paper_error, CC_MAIN),
    CC_MODEL_COLUMNS,
    CC_PART_COLUMNS(CC_ORIGIN_MEASURED),
    CC_SHARDED_COLUMNS(CC_ORIGIN_MEASURED, CC_PART),
    CC_COLUMN(wire_bytes, CC_DETAIL, .origin = CC_ORIGIN_MEASURED, .note = "as its interface counted them; empty without --tc-dev on a cluster"),
    CC_COLUMN(wire_bytes_model, CC_DETAIL),
    CC_COLUMN(wire_bytes_received, CC_DETAIL),
    CC_COLUMN(wire_bytes_all, CC_DETAIL),
    CC_COLUMN(bytes_inter, CC_DETAIL, .origin = CC_ORIGIN_MEASURED),
    CC_COLUMN(bytes_intra, CC_DETAIL, .origin = CC_ORIGIN_MEASURED, .note = "as handed to MPI"),
    CC_COLUMN(burst_share, CC_DETAIL),
    CC_COLUMN(core_wait_s, CC_DETAIL),
    CC_COLUMN(other_cores, CC_DETAIL),
    CC_COLUMN(warmup, CC_SETTING),
    CC_COLUMN(steps, CC_SETTING),
    CC_COLUMN(row_s, CC_PART),
    CC_COLUMN(row_bytes, CC_PART),
    {.key = NULL},
};

static const struct cc_option_use options[] = {
    {.rows = cc_link_options, .names = "intra-bw", .own = {.def = "shm"}},
    CC_CLUSTER_OPTIONS,
    {.rows = cc_consistency_options, .names = "communicate"},
    CC_GRADIENT_OPTIONS,
    {.rows = cc_experiment_options, .names = "steps"},
    {.rows = cc_experiment_options, .names = "warmup",
     .own = {.otherwise = "0 to 3 periods; where residuals fill, until sizes settle, for " CC_RUN_FILLING_TEXT " at most"}},
    {.rows = cc_experiment_options, .names = "errors"},
    {.rows = cc_timeline_options},
    {.rows = cc_experiment_options, .names = "dry-run",
     .own = {.help = "list the rows with the time and the bytes of each, and run none"}},
    {.rows = cc_run_options, .names = "paper check time ping keep-lab"},
    {.rows = cc_hosts_options},
    {.rows = cc_run_options, .names = "tc-dev"},
    {.rows = NULL},
};
/* clang-format on */

/* --- the command --- */

/* Sets the compute time that a recipe has as a share of that of fp32's traffic, by the constants of
 * a table of `commcomp paper`. */
static int scale_compute(struct run *r, const struct cc_recipe_command *c,
                         struct cc_experiment_input *input, struct cc_error *e)
{
    struct cc_forecast *f = &input->forecast;
    struct cc_setting s = f->cluster.setting;
    struct cc_prediction fp32;
    if (c == NULL || c->computing == NULL)
        return CC_OK;
    CC_TRY(cc_paper_open(cc_recipe_text(c->computing, "table"), &r->paper, e));
    CC_TRY(cc_paper_solve(r->paper, e));
    CC_TRY(cc_link_parse(cc_recipe_text(c->computing, "bw"), &s.link, e));
    CC_TRY(cc_predict(&f->predictor, &s, &f->raw, &fp32, e));
    r->compute = cc_paper_constant_value(r->paper, cc_recipe_text(c->computing, "constant"));
    f->cluster.setting.timing.compute_s = r->compute * fp32.comm_s;
    f->cluster.compute_given = true;
    return CC_OK;
}

void cc_run_free(struct run *r)
{
    cc_experiment_free(&r->experiment);
    cc_hosts_free(&r->options.hosts);
    cc_paper_free(r->paper);
    free(r->links);
}

static int run(struct cc_args *args, struct cc_error *e)
{
    struct cc_experiment_input input = {.steps = 0};
    struct run r = {.paper = NULL};
    struct cc_timeline_output timeline = {.path = NULL};
    int status = CC_OK;
    if (cc_arg_is(args, "bw", "none"))
        return cc_run_calls(args, e);
    if (cc_arg(args, "paper") != NULL && args->recipe == NULL)
        return cc_recipe_run_named(args, "run", "paper", e);
    CC_TRY_OUT(cc_run_parse(args, &r, e));
    input.forecast.cluster.slots = &r.options.hosts.cluster.slots;
    CC_TRY_OUT(cc_experiment_parse(args, &input, e));
    CC_TRY_OUT(cc_timeline_output_open(&timeline, args, input.dry_run, "run", e));
    CC_TRY_OUT(cc_experiment_need_code(&input, "`run`", e));
    CC_TRY_OUT(cc_run_check(&r, &input.forecast.cluster, e));
    CC_TRY_OUT(cc_experiment_load(&input, true, e));
    CC_TRY_OUT(scale_compute(&r, args->recipe, &input, e));
    CC_TRY_OUT(cc_run_prepare(&r, &input, &args->record, e));
    if (r.options.hosts.lab)
        (void)snprintf(timeline.config, sizeof timeline.config, "run, lab");
    r.experiment.timeline = timeline.file != NULL ? &timeline : NULL;
    CC_TRY_OUT(input.dry_run ? cc_run_dry(&r, &args->record, e)
                             : cc_experiment_all(&r.experiment, e));
    CC_TRY_OUT(cc_run_notes(&r, e));
out:
    status = cc_timeline_output_close(&timeline, &args->record, status, e);
    args->record.partial = cc_interrupted();
    cc_run_free(&r);
    cc_experiment_input_free(&input);
    return status;
}

const struct cc_command cc_command_run = {
    .name = "run",
    .summary = "the time of a step, measured over shaped links or on your cluster",
    .operands = "",
    .description =
        "Runs the exchange for real: the codecs, on captured or synthetic gradients, Open MPI "
        "between the ranks, and a network. By default the network is a lab on this machine: a "
        "network namespace for each worker and server, with both directions of every link shaped "
        "to --bw by tc. A lab needs root or user namespaces, and nothing is left of it "
        "afterwards. With --hostfile or --hosts, or inside an allocation of Slurm or another "
        "resource manager, the network is the cluster's.\n\nTakes the options of `model`; each "
        "measured step stands beside the model's answer. --bw, --latency, --workers, --servers "
        "and --exchange take lists: a row for every combination and every scheme, by default "
        "fp32 and the others of the catalogue. docs/run.md explains the method and how far to "
        "trust it.\n\nWith --bw none there are no steps and no lab: calls of the exchange are "
        "timed one by one between ranks on this machine (or on --hosts), for lists of --values "
        "and --nonzeros.",
    .examples =
        "  commcomp run --workers 2 --bw 100mbps --scheme fp32,int8,3lc\n"
        "  commcomp run --workers 10 --bw 10mbps,100mbps,1gbps --scheme paper --dry-run\n"
        "  commcomp run --paper 3lc-table1                     # beside the paper's figures\n"
        "  commcomp run --exchange ring,rabenseifner --workers 8 --bw 100mbps --scheme fp32,fp16\n"
        "  commcomp run --trace captured/ --bw 1gbps --scheme 3lc,fp32 -o run.json\n"
        "  commcomp run --hostfile hosts --workers 16 --bw 25gbps --scheme fp32,bf16\n"
        "  commcomp run --workers 4 --bw 1gbps --scheme fp32 --keep-lab   # look around\n"
        "  commcomp run --bw none --workers 4 --values 1M,16M --nonzeros 0.1%,1%,10%\n",
    .page = "docs/run.md",
    .options = options,
    .columns = columns,
    .takes_schemes = CC_SCHEMES,
    .run = run,
};
