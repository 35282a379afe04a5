/* The options of sim, and the settings that it refuses. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/sim/sim.h"
#include "core/units.h"

const char *const cc_sim_data_names[] = {"auto", "on", "off", NULL};
const char *const cc_codec_time_names[] = {"profile", "measured", NULL};

/* --- which options go together --- */

static int check_topology(const struct cc_args *args, enum cc_topology topology, struct cc_error *e)
{
    for (const struct cc_topology_option *o = cc_topology_options; o->name != NULL; o++)
        if (cc_arg(args, o->name) != NULL && o->topology != topology)
            return cc_usage(e, "--%s is of --topology %s", o->name, cc_topology_names[o->topology]);
    return CC_OK;
}

static int exclude_platform(const struct cc_args *args, const char *option, struct cc_error *e)
{
    return cc_arg_or_null(args, option) == NULL
               ? CC_OK
               : cc_usage(e, "--platform and --%s exclude each other: the file fixes it", option);
}

/* A platform file fixes what the other options would choose. */
static int check_platform(const struct cc_args *args, struct cc_error *e)
{
    CC_TRY(exclude_platform(args, "topology", e));
    for (const struct cc_topology_option *o = cc_topology_options; o->name != NULL; o++)
        CC_TRY(exclude_platform(args, o->name, e));
    CC_TRY(exclude_platform(args, "slow-links", e));
    CC_TRY(exclude_platform(args, "slow-hosts", e));
    CC_TRY(exclude_platform(args, "write-platform", e));
    if (cc_arg(args, "latency") != NULL && cc_arg(args, "bw") == NULL)
        return cc_usage(e, "--latency: with --platform it only describes the links to the "
                           "formulas, and needs --bw beside it");
    return CC_OK;
}

/* --- parsing --- */

/* Parses the number before the colon of "3:10mbps". Sets *rest to the text behind the colon, or to
 * NULL without the option. */
static int parse_number_of(const struct cc_args *args, const char *name, int *count,
                           const char **rest, struct cc_error *e)
{
    const char *text = cc_arg(args, name);
    *rest = NULL;
    if (text == NULL)
        return CC_OK;
    const size_t digits = strspn(text, "0123456789");
    if (digits < 1 || digits > 6 || text[digits] != ':')
        return cc_usage(e, "--%s %.40s: a number of workers, a colon, and %s", name, text,
                        strcmp(name, "slow-links") == 0 ? "a rate, as in 2:10mbps"
                                                        : "a factor, as in 2:1.5");
    *count = atoi(text);
    *rest = text + digits + 1;
    return CC_OK;
}

static int parse_rate_of(const char *option, const char *text, double *out, struct cc_error *e)
{
    const int status = cc_parse_rate(text, out, e);
    if (status != CC_OK)
        cc_error_in(e, "--%s", option);
    return status;
}

static int parse_slow(const struct cc_args *args, struct cc_platform_config *c, struct cc_error *e)
{
    const char *rate, *factor;
    CC_TRY(parse_number_of(args, "slow-links", &c->slow_links, &rate, e));
    if (rate != NULL)
        CC_TRY(parse_rate_of("slow-links", rate, &c->slow_bps, e));
    CC_TRY(parse_number_of(args, "slow-hosts", &c->slow_hosts, &factor, e));
    if (factor == NULL)
        return CC_OK;
    char *end;
    c->slow_factor = strtod(factor, &end);
    if (!cc_is_decimal(factor, strlen(factor)) || *end != '\0' || !(c->slow_factor > 0))
        return cc_usage(e, "--slow-hosts: '%.40s' is not a factor above 0", factor);
    return CC_OK;
}

/* Parses "4x4x2" or "4x4"; without a third side, sides[2] stays as it is. */
static int parse_sides(const char *option, const char *text, int sides[3], struct cc_error *e)
{
    static const char wrong[] =
        "--%s %.40s: hosts in each of two or three dimensions, at least 1, as in 4x4x2";
    const char *p = text;
    int n = 0;
    while (n < 3) {
        size_t digits = strspn(p, "0123456789");
        if (digits < 1 || digits > 6)
            return cc_usage(e, wrong, option, text);
        sides[n] = atoi(p);
        if (sides[n++] < 1)
            return cc_usage(e, wrong, option, text);
        p += digits;
        if (*p != 'x')
            break;
        p++;
    }
    return *p == '\0' && n >= 2 && p[-1] != 'x' ? CC_OK : cc_usage(e, wrong, option, text);
}

/* Parses an option of a topology, or its default, into its field. */
static int parse_topology_option(const struct cc_args *args, const struct cc_topology_option *o,
                                 struct cc_platform_config *config, struct cc_error *e)
{
    void *field = (char *)config + o->offset;
    const char *given = cc_arg(args, o->name);
    const char *text = given != NULL ? given : o->default_text;
    uint64_t count;
    switch (o->kind) {
    case CC_TOPOLOGY_KIND_COUNT:
        count = strtoul(o->default_text, NULL, 10);
        CC_TRY(cc_arg_count(args, o->name, 1, INT_MAX, &count, e));
        *(int *)field = (int)count;
        return CC_OK;
    case CC_TOPOLOGY_KIND_RATIO:
        *(double *)field = strtod(o->default_text, NULL);
        return cc_arg_real(args, o->name, field, e);
    case CC_TOPOLOGY_KIND_RATE:
        return parse_rate_of(o->name, text, field, e);
    case CC_TOPOLOGY_KIND_TIME:
        CC_TRY(cc_parse_time(o->default_text, field, e));
        return cc_arg_time(args, o->name, field, e);
    case CC_TOPOLOGY_KIND_SIDES:
        return given != NULL ? parse_sides(o->name, given, field, e) : CC_OK;
    }
    return CC_OK;
}

static int parse_config(const struct cc_args *args, struct cc_platform_config *c,
                        struct cc_error *e)
{
    int topology = CC_TOPOLOGY_SWITCH;
    cc_arg_choice(args, "topology", &topology);
    *c = (struct cc_platform_config){.topology = (enum cc_topology)topology};
    for (const struct cc_topology_option *o = cc_topology_options; o->name != NULL; o++)
        CC_TRY(parse_topology_option(args, o, c, e));
    return parse_slow(args, c, e);
}

int cc_sim_parse_network(const struct cc_args *args, enum cc_fidelity fidelity, struct sim *out,
                         struct cc_error *e)
{
    int how = (int)fidelity;
    struct sim_options *o = &out->options;
    *out = (struct sim){
        .options = {.platform = cc_arg(args, "platform"), .smpirun = cc_arg(args, "smpirun")}};
    CC_TRY(parse_config(args, &o->config, e));
    CC_TRY(o->platform != NULL ? check_platform(args, e)
                               : check_topology(args, o->config.topology, e));
    cc_arg_choice(args, "fidelity", &how);
    o->fidelity = (enum cc_fidelity)how;
    return CC_OK;
}

int cc_sim_parse(const struct cc_args *args, enum cc_fidelity fidelity, struct sim *out,
                 struct cc_error *e)
{
    int data = CC_DATA_AUTO, codec_time = CC_CODEC_PROFILE;
    struct sim_options *o = &out->options;
    CC_TRY(cc_sim_parse_network(args, fidelity, out, e));
    o->write_platform = cc_arg_or_null(args, "write-platform");
    o->paje = cc_arg_or_null(args, "paje");
    if (cc_arg_known(args, "data"))
        cc_arg_choice(args, "data", &data);
    if (cc_arg_known(args, "codec-time"))
        cc_arg_choice(args, "codec-time", &codec_time);
    o->data = (enum cc_sim_data)data;
    o->codec_time = (enum cc_codec_time)codec_time;
    if (o->data == CC_DATA_OFF && cc_arg_or_null(args, "errors") != NULL)
        return cc_usage(e, "--errors needs the gradients themselves: --data on");
    if (o->data == CC_DATA_OFF && cc_arg_or_null(args, "communicate") != NULL)
        return cc_usage(e, "--communicate decides by the gradients themselves: --data on");
    if (o->data == CC_DATA_OFF && o->codec_time == CC_CODEC_MEASURED)
        return cc_usage(e, "--codec-time measured needs codecs that run: --data on");
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
    for (size_t i = 0; i < c->exchanges; i++)
        if (cc_exchange_has(c->exchange[i], CC_X_LIBRARY))
            CC_TRY(cc_experiment_need_code(input, "--exchange mpi", e));
    return CC_OK;
}

static int check_setting(void *arg, const struct cc_setting *setting, struct cc_error *e)
{
    const struct cc_platform_config config = cc_sim_platform_config(arg, setting);
    return cc_platform_check(&config, e);
}

int cc_sim_check(struct sim *s, const struct cc_experiment_input *input, struct cc_error *e)
{
    const struct cc_cluster_args *c = &input->forecast.cluster;
    CC_TRY(check_code(s, input, e));
    if (input->dry_run && s->options.paje != NULL)
        return cc_usage(e, "--paje: in a dry run nothing happens that it could show");
    for (size_t i = 0; i < c->links; i++)
        if (c->link[i].message_bytes > 0)
            return cc_usage(e,
                            "--calibration: \"message_bytes\" is %.9g, and simulated messages have "
                            "no such framing; `commcomp model` predicts with it",
                            c->link[i].message_bytes);
    for (size_t i = 0; i < c->exchanges; i++)
        if (cc_exchange_has(c->exchange[i], CC_X_LIBRARY))
            CC_TRY(check_mpi(s, &c->setting.timing, e));
    if (s->options.platform == NULL)
        return cc_cluster_args_each(c, check_setting, s, e);
    if (c->links > 1)
        return cc_usage(e, "--bw, --latency: with --platform they only describe the links to the "
                           "formulas: one of each");
    return CC_OK;
}
