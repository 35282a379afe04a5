/* commcomp sim: what a training step takes on a cluster that SimGrid simulates. */
#include "cmd/sim.h"

#include <stdlib.h>

#include "core/interrupt.h"

/* clang-format off */
static const struct cc_column columns[] = {
    CC_SETTING_COLUMNS,
    {"fidelity", "fidelity", "", NULL, 0, "how closely the network is simulated"},
    {"topology", "topology", "", NULL, 0, "what the hosts are joined by; empty with --platform"},
    {"platform", "platform", "", NULL, 0, "the file of --platform"},
    {"data", "data", "", NULL, 0, "payloads were made and moved, and not only their sizes"},
    {"codec_time", "codec time", "", NULL, 0, "where it is from: the profile, or as measured"},
    CC_STEP_COLUMNS,
    CC_MODEL_COLUMNS,
    CC_PART_COLUMNS,
    {"wire_bytes", NULL, "B", "%.0f", 0,
     "sent per step by the busiest host, headers included; of the library's own exchange, what the "
     "model says"},
    {"warmup", NULL, "", "%.0f", 0, "steps before those that count"},
    {"steps", NULL, "", "%.0f", 0, "steps that count"},
    {"sim_wall_s", "took", "s", "%.2f", 0, "real seconds that the row's simulation took; of a dry "
     "run, about how many"},
    {"sim_memory_bytes", "memory", "MB", "%.0f", 1e-6,
     "the most memory that the simulation had during the row"},
    {.key = NULL},
};

static const struct cc_option options[] = {
    CC_CLUSTER_OPTIONS,
    CC_PLAN_OPTIONS,
    {.name = "steps", .value = "N", .def = "one period; 10 with stragglers",
     .help = "steps that count, of each row; rounded up to whole periods of the scheme"},
    {.name = "warmup", .value = "N", .def = "one period; up to 32 where residuals fill",
     .help = "steps before them, of which only the last period computes"},
    CC_SIM_OPTIONS,
    {.name = "write-platform", .value = "FILE.xml",
     .help = "write the platform that is simulated, of a single setting"},
    {.name = "paje", .value = "FILE",
     .help = "write SimGrid's own trace of the simulation, of a single setting, in Paje's format"},
    {.name = "dry-run", .help = "only say what would be simulated; needs no SimGrid"},
    {.name = NULL},
};
/* clang-format on */

/* --- the command --- */

static const struct cc_plan_own own = {
    .refuse = cc_sim_refuse, .complete = cc_sim_complete, .choose = cc_sim_choose};

static int plan(struct sim *s, struct cc_args *args, struct cc_record *record, struct cc_error *e)
{
    int status = cc_sim_options_parse(args, &s->options, e);
    if (status == CC_OK)
        status = cc_plan_open(&s->plan, args, record, &own, s, e);
    if (status == CC_OK)
        status = cc_plan_make(&s->plan, e);
    return status == CC_OK ? cc_sim_platforms(s, e) : status;
}

int cc_sim_measure(struct cc_args *args, struct cc_record *record, struct cc_error *e)
{
    struct sim s = {.program = NULL};
    int status = plan(&s, args, record, e);
    if (status == CC_OK && s.plan.options.dry_run)
        status = cc_sim_dry(&s, e);
    else if (status == CC_OK)
        status = cc_sim_all(&s, e);
    if (status == CC_OK)
        status = cc_sim_notes(&s, e);
    record->partial = cc_interrupted();
    cc_plan_close(&s.plan);
    free(s.program);
    return status;
}

static int run(struct cc_args *args, struct cc_error *e)
{
    if (cc_arg(args, "burst") != NULL)
        return cc_usage(e, "--burst is of links that are shaped with token buckets; simulated ones "
                           "have none");
    return cc_sim_measure(args, &args->record, e);
}

const struct cc_command cc_command_sim = {
    .name = "sim",
    .summary = "what a step takes on a simulated cluster, of up to thousands of workers",
    .operands = "",
    .description =
        "Simulates the exchange: the code of `commcomp run`'s ranks, message by message, on a "
        "cluster of SimGrid's (its smpirun must be installed), in simulated time. Codec time comes "
        "from the codecs' profile, and compute time from --compute.\n\nTakes the options of "
        "`model`; beside each simulated step stands the model's answer. Unlike the model, it knows "
        "other topologies than a switch, hosts and links that differ, and what messages that share "
        "links do to each other. --bw, --latency, --workers, --servers and --exchange take lists: "
        "a row for every combination and every scheme, by default fp32 and the others of the "
        "catalogue. docs/sim.md tells what is simulated and what is not.",
    .examples =
        "  commcomp sim --scheme fp32,3lc:s=1.75,int8 --bw 100mbps\n"
        "  commcomp sim --exchange ring,rabenseifner,allgather --workers 2,16,128 --scheme fp32\n"
        "  commcomp sim --workers 64 --topology fat-tree --oversubscription 4 --scheme fp32,3lc\n"
        "  commcomp sim --workers 16 --topology sites --wan-bw 100mbps --wan-latency 40ms\n"
        "  commcomp sim --workers 1024 --servers 16 --data off --scheme fp32,3lc -o sim.csv\n"
        "  commcomp sim --platform my.xml --bw 10gbps --scheme fp32 --fidelity tcp\n",
    .options = options,
    .columns = columns,
    .takes_schemes = CC_SCHEMES,
    .run = run,
};
