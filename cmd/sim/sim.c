/* commcomp sim: a training step on a cluster that SimGrid simulates. */
#include "cmd/sim/sim.h"

#include <stdio.h>
#include <string.h>

#include "cmd/recipe/recipe.h"
#include "core/interrupt.h"
#include "core/memory.h"

/* clang-format off */
static const struct cc_column columns[] = {
    CC_SETTING_COLUMNS,
    CC_COLUMN(fidelity, CC_SETTING),
    CC_COLUMN(topology, CC_SETTING),
    CC_COLUMN(platform, CC_SETTING),
    CC_COLUMN(nonzeros, CC_SETTING),
    CC_COLUMN(data_moved, CC_SETTING),
    CC_COLUMN(codec_time, CC_SETTING),
    CC_STEP_COLUMNS(CC_ORIGIN_SIMULATED),
    CC_STALENESS_COLUMNS(CC_ORIGIN_SIMULATED),
    CC_COLUMN(optimization, CC_SETTING),
    CC_COLUMN(speedup_machine, CC_ANSWER),
    CC_COLUMN(speedup_machine_paper, CC_ANSWER),
    CC_COLUMN(overlap_gain, CC_ANSWER),
    CC_COLUMN(overlap_gain_paper, CC_ANSWER),
    CC_COLUMN(call_s, CC_ANSWER, .origin = CC_ORIGIN_SIMULATED, .note = "with --paper: from streams to sums"),
    CC_COLUMN(call_s_model, CC_ANSWER),
    CC_COLUMN(call_s_paper, CC_ANSWER),
    CC_MODEL_COLUMNS,
    CC_PART_COLUMNS(CC_ORIGIN_SIMULATED),
    CC_SHARDED_COLUMNS(CC_ORIGIN_SIMULATED, CC_PART),
    CC_COLUMN(wire_bytes, CC_DETAIL, .origin = CC_ORIGIN_SIMULATED, .note = "with the library's own exchange, the model's bytes"),
    CC_COLUMN(bytes_inter, CC_DETAIL, .origin = CC_ORIGIN_SIMULATED),
    CC_COLUMN(bytes_intra, CC_DETAIL, .origin = CC_ORIGIN_SIMULATED),
    CC_COLUMN(warmup, CC_SETTING),
    CC_COLUMN(steps, CC_SETTING, .hidden = true),
    CC_COLUMN(sim_wall_s, CC_PART),
    CC_COLUMN(sim_memory_bytes, CC_DETAIL),
    {.key = NULL},
};

static const struct cc_option_use options[] = {
    CC_CLUSTER_OPTIONS,
    {.rows = cc_consistency_options, .names = "communicate"},
    CC_GRADIENT_OPTIONS,
    {.rows = cc_experiment_options, .names = "steps",
     .own = {.otherwise = "one period; 10 with stragglers; 16 steps where payloads differ"}},
    {.rows = cc_experiment_options, .names = "warmup",
     .own = {.otherwise = "0; overlapped, one period; where residuals fill, until sizes settle"}},
    {.rows = cc_sim_options,
     .names = "fidelity " CC_PLATFORM_OPTION_NAMES " data codec-time full write-platform paje"},
    {.rows = cc_experiment_options, .names = "errors"},
    {.rows = cc_timeline_options},
    {.rows = cc_sim_options, .names = "paper"},
    {.rows = cc_experiment_options, .names = "dry-run",
     .own = {.help = "list what would be simulated, and how long it takes; needs no SimGrid"}},
    {.rows = NULL},
};
/* clang-format on */

/* --- the command --- */

/* "sim, alpha-beta, fat-tree": part of the names of a timeline's rows. */
static void describe(const struct sim_options *o, char *out, size_t cap)
{
    const bool plain = o->platform == NULL && o->config.topology == CC_TOPOLOGY_SWITCH;
    const char *where = o->platform != NULL ? o->platform : cc_topology_names[o->config.topology];
    (void)snprintf(out, cap, "sim, %s%s%.60s", cc_fidelity_names[o->fidelity], plain ? "" : ", ",
                   plain ? "" : where);
}

static int check_burst(const struct cc_link_options *links, struct cc_error *e)
{
    return cc_given(links, &links->burst_bytes) == NULL
               ? CC_OK
               : cc_usage(e, "--burst is of links that are shaped with token buckets; simulated "
                             "ones have none");
}

static void drop_times(struct cc_step_payloads *p)
{
    for (size_t k = 0; k <= p->count && p->each != NULL; k++) {
        struct cc_payload_cost *c = k < p->count ? &p->each[k] : &p->total;
        c->push_encode_s = c->push_decode_s = c->push_add_s = 0;
        c->pull_encode_s = c->pull_decode_s = c->sum_more_s = 0;
        c->inner_encode_s = c->inner_add_s = 0;
    }
}

/* Takes the codecs' times out of the payloads; those of encoding are kept for a recipe of calls. */
static int take_codec_times(struct sim *s, struct cc_forecast *f,
                            const struct cc_recipe_command *recipe, struct cc_error *e)
{
    if (recipe != NULL && recipe->calls != NULL)
        CC_TRY(CC_NEW(s->encode_s, f->schemes->count, e));
    for (size_t i = 0; i < f->schemes->count; i++) {
        if (s->encode_s != NULL)
            s->encode_s[i] = f->payloads[i].total.push_encode_s;
        drop_times(&f->payloads[i]);
    }
    drop_times(&f->weights.payloads);
    return CC_OK;
}

static int run(struct cc_args *args, struct cc_error *e)
{
    struct cc_experiment_input input = {.steps = 0};
    struct sim s = {.program = NULL};
    struct cc_timeline_output timeline = {.path = NULL};
    int status = CC_OK;
    if (cc_arg(args, "paper") != NULL && args->recipe == NULL)
        return cc_recipe_run_named(args, "sim", "paper", e);
    CC_TRY_OUT(cc_sim_parse(args, &s, e));
    CC_TRY_OUT(cc_experiment_parse(args, &input, e));
    CC_TRY_OUT(cc_sim_check(&s, &input, e));
    CC_TRY_OUT(check_burst(&input.forecast.cluster.network, e));
    CC_TRY_OUT(cc_timeline_output_open(&timeline, args, input.dry_run, "sim", e));
    CC_TRY_OUT(cc_experiment_load(&input, true, e));
    if (s.options.codec_time == CC_CODEC_NONE)
        CC_TRY_OUT(take_codec_times(&s, &input.forecast, args->recipe, e));
    CC_TRY_OUT(cc_sim_prepare(&s, &input, &args->record, e));
    describe(&s.options, timeline.config, sizeof timeline.config);
    s.experiment.timeline = timeline.file != NULL ? &timeline : NULL;
    CC_TRY_OUT(input.dry_run ? cc_sim_dry(&s, e) : cc_sim_all(&s, e));
    CC_TRY_OUT(cc_sim_notes(&s, e));
out:
    status = cc_timeline_output_close(&timeline, &args->record, status, e);
    args->record.partial = cc_interrupted();
    cc_sim_free(&s);
    cc_experiment_input_free(&input);
    return status;
}

const struct cc_command cc_command_sim = {
    .name = "sim",
    .summary = "the time of a step on a simulated cluster of thousands of workers",
    .operands = "",
    .description =
        "Simulates the exchange on a cluster of SimGrid's, whose smpirun must be installed: the "
        "code of `commcomp run`'s ranks, message by message, in simulated time. Codec times come "
        "from the codecs' profile, and compute time from --compute.\n\nTakes the options of "
        "`model`; each simulated step stands beside the model's answer. Unlike the model, the "
        "simulation knows topologies other than a switch, hosts and links that differ, and the "
        "effects of messages that share links. --bw, --latency, --workers, --servers and "
        "--exchange take lists: a row for every combination and every scheme, by default fp32 "
        "and the others of the catalogue. docs/sim.md explains what is simulated and what is not.",
    .examples =
        "  commcomp sim --scheme fp32,3lc:s=1.75,int8 --bw 100mbps\n"
        "  commcomp sim --exchange ring,rabenseifner,allgather --workers 2,16,128 --scheme fp32\n"
        "  commcomp sim --workers 64 --topology fat-tree --oversubscription 4 --scheme fp32,3lc\n"
        "  commcomp sim --workers 16 --topology sites --wan-bw 100mbps --wan-latency 40ms\n"
        "  commcomp sim --workers 1024 --servers 16 --data off --scheme fp32,3lc -o sim.csv\n"
        "  commcomp sim --platform my.xml --bw 10gbps --scheme fp32 --fidelity tcp\n"
        "  commcomp sim --paper sparcml-figure4 --workers 2,8,32 --nonzeros 1%\n",
    .page = "docs/sim.md",
    .options = options,
    .columns = columns,
    .takes_schemes = CC_SCHEMES,
    .run = run,
};
