/* The options of sim, and the settings that it refuses. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/sim/sim.h"
#include "core/units.h"

const char *const cc_sim_data_names[] = {"auto", "on", "off", NULL};
const char *const cc_codec_time_names[] = {"profile", "measured", NULL};

/* --- which options go together --- */

/* Options of one topology only. */
static const struct {
    enum cc_topology topology;
    const char *options[4];
} shape_options[] = {{CC_TOPOLOGY_FAT_TREE, {"rack", "oversubscription"}},
                     {CC_TOPOLOGY_TORUS, {"torus"}},
                     {CC_TOPOLOGY_SITES, {"sites", "wan-bw", "wan-latency"}}};

static int check_topology(const struct cc_args *args, enum cc_topology topology, struct cc_error *e)
{
    for (size_t i = 0; i < sizeof shape_options / sizeof shape_options[0]; i++)
        for (const char *const *o = shape_options[i].options; *o != NULL; o++)
            if (cc_arg(args, *o) != NULL && shape_options[i].topology != topology)
                return cc_usage(e, "--%s is of --topology %s", *o,
                                cc_topology_names[shape_options[i].topology]);
    return CC_OK;
}

/* A platform file fixes what the other options would choose. */
static int check_platform(const struct cc_args *args, struct cc_error *e)
{
    static const char *const others[] = {
        "topology", "rack",        "oversubscription", "torus",      "sites",
        "wan-bw",   "wan-latency", "slow-links",       "slow-hosts", "write-platform"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (cc_arg_or_null(args, others[i]) != NULL)
            return cc_usage(e, "--platform and --%s exclude each other: the file fixes it",
                            others[i]);
    if (cc_arg(args, "latency") != NULL && cc_arg(args, "bw") == NULL)
        return cc_usage(e, "--latency: with --platform it only describes the links to the "
                           "formulas, and needs --bw beside it");
    return CC_OK;
}

/* --- parsing --- */

/* "4x4x2" */
static int parse_torus(const char *text, int torus[3], struct cc_error *e)
{
    static const char wrong[] =
        "--torus %.40s: hosts in each of two or three dimensions, at least 1, as in 4x4x2";
    const char *p = text;
    int n = 0;
    while (n < 3) {
        size_t digits = strspn(p, "0123456789");
        if (digits < 1 || digits > 6)
            return cc_usage(e, wrong, text);
        torus[n] = atoi(p);
        if (torus[n++] < 1)
            return cc_usage(e, wrong, text);
        p += digits;
        if (*p != 'x')
            break;
        p++;
    }
    return *p == '\0' && n >= 2 && p[-1] != 'x' ? CC_OK : cc_usage(e, wrong, text);
}

/* "3:10mbps": the number before the colon; *rest is the text behind it, or NULL without the option.
 */
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

static int parse_slow(const struct cc_args *args, struct cc_platform_config *h, struct cc_error *e)
{
    const char *rate, *factor;
    CC_TRY(parse_number_of(args, "slow-links", &h->slow_links, &rate, e));
    if (rate != NULL)
        CC_TRY(parse_rate_of("slow-links", rate, &h->slow_bps, e));
    CC_TRY(parse_number_of(args, "slow-hosts", &h->slow_hosts, &factor, e));
    if (factor == NULL)
        return CC_OK;
    char *end;
    h->slow_factor = strtod(factor, &end);
    if (!cc_is_decimal(factor, strlen(factor)) || *end != '\0' || !(h->slow_factor > 0))
        return cc_usage(e, "--slow-hosts: '%.40s' is not a factor above 0", factor);
    return CC_OK;
}

static int parse_shape(const struct cc_args *args, struct cc_platform_config *h, struct cc_error *e)
{
    uint64_t rack = 16, sites = 2;
    int topology = CC_TOPOLOGY_SWITCH;
    cc_arg_choice(args, "topology", &topology);
    *h = (struct cc_platform_config){.topology = (enum cc_topology)topology,
                                     .oversubscription = 1,
                                     .wan_bps = 100e6,
                                     .wan_latency_s = 40e-3};
    CC_TRY(cc_arg_count(args, "rack", 1, INT_MAX, &rack, e));
    CC_TRY(cc_arg_count(args, "sites", 1, INT_MAX, &sites, e));
    CC_TRY(cc_arg_real(args, "oversubscription", &h->oversubscription, e));
    CC_TRY(cc_arg_time(args, "wan-latency", &h->wan_latency_s, e));
    if (cc_arg(args, "wan-bw") != NULL)
        CC_TRY(parse_rate_of("wan-bw", cc_arg(args, "wan-bw"), &h->wan_bps, e));
    if (cc_arg(args, "torus") != NULL)
        CC_TRY(parse_torus(cc_arg(args, "torus"), h->torus, e));
    h->rack = (int)rack;
    h->sites = (int)sites;
    return parse_slow(args, h, e);
}

int cc_sim_parse(const struct cc_args *args, enum cc_fidelity fidelity, struct sim *out,
                 struct cc_error *e)
{
    int how = (int)fidelity, data = CC_DATA_AUTO, codec_time = CC_CODEC_PROFILE;
    struct sim_options *o = &out->options;
    *out = (struct sim){.options = {.platform = cc_arg(args, "platform"),
                                    .write_platform = cc_arg_or_null(args, "write-platform"),
                                    .paje = cc_arg_or_null(args, "paje"),
                                    .smpirun = cc_arg(args, "smpirun")}};
    CC_TRY(parse_shape(args, &o->config, e));
    CC_TRY(o->platform != NULL ? check_platform(args, e)
                               : check_topology(args, o->config.topology, e));
    cc_arg_choice(args, "fidelity", &how);
    if (cc_arg_known(args, "data"))
        cc_arg_choice(args, "data", &data);
    if (cc_arg_known(args, "codec-time"))
        cc_arg_choice(args, "codec-time", &codec_time);
    o->fidelity = (enum cc_fidelity)how;
    o->data = (enum cc_sim_data)data;
    o->codec_time = (enum cc_codec_time)codec_time;
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

static int check_setting(void *arg, const struct cc_setting *setting, struct cc_error *e)
{
    const struct cc_platform_config config = cc_sim_platform_config(arg, setting);
    return cc_platform_check(&config, e);
}

int cc_sim_check(struct sim *s, const struct cc_experiment_input *input, struct cc_error *e)
{
    const struct cc_cluster_args *c = &input->forecast.cluster;
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
