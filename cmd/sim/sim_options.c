/* The options of sim, and the settings that it refuses. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/sim/sim.h"
#include "core/units.h"
#include "models/recipe_list.h"
#include "netsim/exchange/pack/sizes.h"

static const char *const data_names[] = {"auto", "on", "off", NULL};
static const char *const papers[] = {CC_RECIPES_SIM(CC_RECIPE_NAME) NULL};

/* --- values --- */

/* Parses the number before the colon of "3:10mbps", and returns the text behind the colon; NULL
 * with a message if it has another form. */
static const char *parse_number_of(const char *option, const char *text, const char *example,
                                   int *count, struct cc_error *e)
{
    const size_t digits = strspn(text, "0123456789");
    if (digits >= 1 && digits <= 6 && text[digits] == ':') {
        *count = atoi(text);
        return text + digits + 1;
    }
    (void)cc_usage(e, "--%s %.40s: a number of workers, a colon, and a %s", option, text, example);
    return NULL;
}

static int parse_slow_links(const char *text, void *member, struct cc_error *e)
{
    struct sim_slow *out = member;
    const char *rate =
        parse_number_of("slow-links", text, "rate, as in 2:10mbps", &out->workers, e);
    return rate != NULL ? cc_parse_rate(rate, &out->by, e) : CC_USAGE;
}

static int parse_slow_hosts(const char *text, void *member, struct cc_error *e)
{
    struct sim_slow *out = member;
    const char *factor =
        parse_number_of("slow-hosts", text, "factor, as in 2:1.5", &out->workers, e);
    char *end;
    if (factor == NULL)
        return CC_USAGE;
    out->by = strtod(factor, &end);
    return cc_is_decimal(factor, strlen(factor)) && *end == '\0' && out->by > 0
               ? CC_OK
               : cc_usage(e, "'%.40s' is not a factor above 0", factor);
}

/* Parses "4x4x2" or "4x4"; without a third side, sides[2] stays as it is. */
static int parse_sides(const char *text, void *member, struct cc_error *e)
{
    int *sides = member, two = 0, three = 0;
    const bool plain = text[strspn(text, "0123456789x")] == '\0';
    const int n = sscanf(text, "%6dx%6d%nx%6d%n", &sides[0], &sides[1], &two, &sides[2], &three);
    if (plain && n >= 2 && text[n == 3 ? three : two] == '\0' && sides[0] >= 1 && sides[1] >= 1 &&
        (n == 2 || sides[2] >= 1))
        return CC_OK;
    return cc_usage(e,
                    "--torus %.40s: hosts in each of two or three dimensions, at least 1, as in "
                    "4x4x2",
                    text);
}

/* --- the table --- */

/* Topologies' options; the sides of a torus have a default that the topology chooses. */
#define ROW_COUNT(def_) .def = (def_), .kind = CC_TAKES_COUNT, .min = 1
#define ROW_RATIO(def_) .def = (def_), .kind = CC_TAKES_REAL
#define ROW_RATE(def_)  .def = (def_), .kind = CC_TAKES_RATE
#define ROW_TIME(def_)  .def = (def_), .kind = CC_TAKES_TIME
#define ROW_SIDES(def_) .otherwise = (def_), .parse = parse_sides
#define MEMBER(m)       CC_OPTION_AT(struct sim_options, m)
/* clang-format off */
#define TOPOLOGY_ROW(id, kind, field, name_, value_, default_, help_)                              \
    {.name = name_, MEMBER(config.field), ROW_##kind(default_), .value = value_,                   \
     .group = CC_GROUP_CLUSTER, .help = help_},
const struct cc_option cc_sim_options[] = {
    {.name = "fidelity", MEMBER(fidelity), .value = "HOW", .def = "alpha-beta",
     .choices = cc_fidelity_names, .group = CC_GROUP_RUN,
     .help = "how the network is simulated: alpha-beta (latency and bytes / bandwidth, as the "
             "formulas assume), tc (as in the lab of `commcomp run`), tcp (SMPI's corrections for "
             "TCP)"},
    {.name = "topology", MEMBER(config.topology), .value = "SHAPE", .def = "switch",
     .choices = cc_topology_names, .group = CC_GROUP_CLUSTER,
     .help = CC_TOPOLOGY_HELP "or that of a file: --platform"},
    CC_TOPOLOGY_OPTIONS(TOPOLOGY_ROW)
    {.name = "slow-links", MEMBER(slow_links), .parse = parse_slow_links, .value = "N:RATE",
     .group = CC_GROUP_CLUSTER, .help = "the last N workers have links of this bandwidth"},
    {.name = "slow-hosts", MEMBER(slow_hosts), .parse = parse_slow_hosts, .value = "N:FACTOR",
     .group = CC_GROUP_CLUSTER,
     .help = "the last N workers take FACTOR times as long to compute, encode and decode"},
    {.name = "platform", MEMBER(platform), .value = "FILE.xml", .file = CC_READS_FILE,
     .group = CC_GROUP_CLUSTER,
     .help = "a platform of SimGrid's own instead; --bw and --latency then describe its links to "
             "the formulas (without --bw, the model's columns are empty)"},
    {.name = "smpirun", MEMBER(smpirun), .value = "PROGRAM", .def = "smpirun",
     .group = CC_GROUP_RUN, .help = "SimGrid's smpirun program"},
    {.name = "data", MEMBER(data), .value = "HOW", .def = "auto", .choices = data_names,
     .group = CC_GROUP_RUN,
     .help = "on: every worker's gradients are encoded and decoded; off: only sizes move, of payloads "
             "that a few workers encode beforehand; auto: on for up to 16 workers, if there is "
             "enough memory"},
    {.name = "codec-time", MEMBER(codec_time), .value = "HOW", .def = "profile",
     .choices = cc_codec_time_names, .group = CC_GROUP_RUN,
     .help = "time of each codec call: from the profile, the same in every simulation; or as "
             "measured while it runs; or none: codecs take no time"},
    {.name = "full", MEMBER(full), .kind = CC_TAKES_COUNT, .max = CC_PLATFORM_HOSTS,
     .value = "COUNT", .def = "1024", .group = CC_GROUP_RUN,
     .help = "a sequential ring of more workers, without data and with all hosts and links alike, is "
             "simulated with few and extrapolated, which a note says; 0: all are simulated"},
    {.name = "write-platform", MEMBER(write_platform), .value = "FILE.xml",
     .file = CC_WRITES_FILE, .group = CC_GROUP_OUTPUT,
     .help = "write the platform of the simulation, which must have a single setting"},
    {.name = "paje", MEMBER(paje), .value = "FILE", .file = CC_WRITES_FILE,
     .group = CC_GROUP_OUTPUT,
     .help = "write SimGrid's own trace of the simulation, which must have a single setting, in "
             "Paje's format"},
    {.name = "paper", MEMBER(paper), .value = "FIGURE", .choices = papers,
     .group = CC_GROUP_RUN,
     .help = "the axes of a published figure, simulated beside the formulas: sparcml-figure4, with "
             "--values, and with --nonzeros, --workers, --bw and --latency as lists; thesis-5.1, "
             "thesis-5.4, thesis-5.4-bound and thesis-5.5: speedups of the modularized parameter "
             "server (docs/thesis.md)"},
    {.name = NULL},
};
/* clang-format on */

/* --- which options go together --- */

/* Whether a topology's own option was given: its name, or NULL. */
static const char *given_of_topology(const struct sim_options *o,
                                     const struct cc_topology_option *own)
{
    return cc_given(o, (const char *)&o->config + own->offset);
}

static int check_topology(const struct sim_options *o, struct cc_error *e)
{
    for (const struct cc_topology_option *own = cc_topology_options; own->name != NULL; own++)
        if (given_of_topology(o, own) != NULL && own->topology != o->config.topology)
            return cc_usage(e, "--%s is of --topology %s", own->name,
                            cc_topology_names[own->topology]);
    return CC_OK;
}

int cc_sim_check_platform(const struct sim_options *o, const struct cc_link_options *links,
                          struct cc_error *e)
{
    const void *const others[] = {&o->config.topology, &o->slow_links, &o->slow_hosts,
                                  &o->write_platform, NULL};
    const char *other = cc_given_of(o, others);
    if (o->platform == NULL)
        return check_topology(o, e);
    for (const struct cc_topology_option *own = cc_topology_options;
         own->name != NULL && other == NULL; own++)
        other = given_of_topology(o, own);
    if (other != NULL)
        return cc_usage(e, "--platform and --%s exclude each other: the file fixes it", other);
    if (links->latencies > 0 && cc_given(links, &links->bw) == NULL)
        return cc_usage(e, "--latency: with --platform it only describes the links to the "
                           "formulas, and needs --bw beside it");
    return CC_OK;
}

int cc_sim_parse(const struct cc_args *args, struct sim *out, struct cc_error *e)
{
    struct sim_options *o = &out->options;
    *out = (struct sim){.program = NULL};
    CC_TRY(cc_options_read(args, cc_sim_options, o, e));
    o->config.slow_links = o->slow_links.workers;
    o->config.slow_bps = o->slow_links.by;
    o->config.slow_hosts = o->slow_hosts.workers;
    o->config.slow_factor = o->slow_hosts.by;
    return CC_OK;
}

/* --- what cannot be simulated --- */

static int check_mpi(const struct sim *s, const struct cc_timing *t, struct cc_error *e)
{
    if (s->options.data == CC_DATA_OFF)
        return cc_usage(e, "--exchange mpi: the MPI library's own exchange needs the bytes "
                           "themselves: --data on");
    if (t->mode != CC_SEQUENTIAL)
        return cc_usage(e,
                        "--exchange mpi: SimGrid's MPI has no allreduce of its own for steps that "
                        "compute meanwhile, as those of --mode %s: simulate them over ring or "
                        "rabenseifner",
                        cc_step_names[t->mode]);
    return CC_OK;
}

/* Without data, nothing can be measured or decided by it. */
static int check_data(const struct sim_options *o, const struct cc_experiment_input *input,
                      struct cc_error *e)
{
    const struct cc_consistency_args *c = &input->forecast.cluster.consistency;
    if (o->data != CC_DATA_OFF)
        return CC_OK;
    if (input->errors)
        return cc_usage(e, "--errors needs the gradients themselves: --data on");
    if (cc_given(c, &c->communicate) != NULL)
        return cc_usage(e, "--communicate decides by the gradients themselves: --data on");
    if (o->codec_time == CC_CODEC_MEASURED)
        return cc_usage(e, "--codec-time measured needs codecs that run: --data on");
    return CC_OK;
}

/* Without data, the scheme of a stage has payloads of one size. */
static int check_stage(const char *option, const struct cc_spec_list *stage, struct cc_error *e)
{
    bool fixed = true;
    if (stage->count > 0)
        CC_TRY(cc_sizes_fixed(stage->item[0], &fixed, e));
    if (!fixed)
        return cc_usage(e,
                        "%s %s: its payloads have different sizes: leave out --data off, or take a "
                        "scheme of one size, such as int8",
                        option, stage->item[0]->name);
    return CC_OK;
}

/* Schemes without code have sizes and times alone. */
static int check_code(const struct sim *s, const struct cc_experiment_input *input,
                      struct cc_error *e)
{
    const struct cc_cluster_args *c = &input->forecast.cluster;
    if (s->options.data == CC_DATA_ON)
        CC_TRY(cc_experiment_need_code(input, "--data on", e));
    if (s->options.codec_time == CC_CODEC_MEASURED)
        CC_TRY(cc_experiment_need_code(input, "--codec-time measured", e));
    if (input->errors)
        CC_TRY(cc_experiment_need_code(input, "--errors", e));
    if (s->options.data == CC_DATA_OFF) {
        CC_TRY(check_stage("--gather-scheme", &c->gather, e));
        CC_TRY(check_stage("--intra-scheme", &c->inner, e));
    }
    return cc_cluster_has(c, CC_X_LIBRARY) ? cc_experiment_need_code(input, "--exchange mpi", e)
                                           : CC_OK;
}

static int check_setting(void *arg, const struct cc_setting *setting, struct cc_error *e)
{
    const struct cc_platform_config config = cc_sim_platform_config(arg, setting);
    return cc_platform_check(&config, e);
}

int cc_sim_check(struct sim *s, const struct cc_experiment_input *input, struct cc_error *e)
{
    const struct cc_cluster_args *c = &input->forecast.cluster;
    if (c->setting.cluster.sites > 1 && s->options.platform != NULL)
        return cc_usage(e, "--platform and --sites exclude each other: the file fixes it");
    if (c->setting.cluster.sites > 1)
        s->options.config.topology = CC_TOPOLOGY_SITES;
    CC_TRY(cc_sim_check_platform(&s->options, &c->network, e));
    CC_TRY(check_data(&s->options, input, e));
    CC_TRY(check_code(s, input, e));
    if (input->dry_run && s->options.paje != NULL)
        return cc_usage(e, "--paje: in a dry run nothing happens that it could show");
    for (size_t i = 0; i < c->links; i++)
        if (c->link[i].message_bytes > 0)
            return cc_usage(e,
                            "--calibration: \"message_bytes\" is %.9g, and simulated messages have "
                            "no such framing; `commcomp model` predicts with it",
                            c->link[i].message_bytes);
    if (cc_cluster_has(c, CC_X_LIBRARY))
        CC_TRY(check_mpi(s, &c->setting.timing, e));
    if (s->options.platform == NULL)
        return cc_cluster_args_each(c, check_setting, s, e);
    if (c->links > 1)
        return cc_usage(e, "--bw, --latency: with --platform they only describe the links to the "
                           "formulas: one of each");
    return CC_OK;
}
