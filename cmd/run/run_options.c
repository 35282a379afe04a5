/* The options of run, and the clusters that it refuses. */
#include <net/if.h>
#include <string.h>

#include "cmd/run/run.h"
#include "models/recipe_list.h"

static const char *const papers[] = {CC_RECIPES_RUN(CC_RECIPE_NAME) NULL};

/* clang-format off */
#define MEMBER(m) CC_OPTION_AT(struct run_options, m)
const struct cc_option cc_run_options[] = {
    {.name = "paper", MEMBER(paper), .value = "TABLE", .choices = papers, .group = CC_GROUP_RUN,
     .help = "the set-up of a published table in a lab, its figures beside the measured ones: "
             "{words}"},
    {.name = "check", MEMBER(check), .group = CC_GROUP_RUN,
     .help = "with --bw none: compare each row's first result with MPI_Allreduce of the same "
             "values, and all ranks' results with each other"},
    {.name = "time", MEMBER(time_s), .kind = CC_TAKES_TIME, .value = "TIME", .def = "2s",
     .group = CC_GROUP_RUN,
     .help = "with --bw none: what the calls of a row may take together"},
    {.name = "keep-lab", MEMBER(keep_lab), .group = CC_GROUP_RUN,
     .help = "keep the lab after the rows until Enter or Ctrl-C, and print how to enter it"},
    {.name = "ping", MEMBER(ping), .group = CC_GROUP_RUN,
     .help = "measure the links between two hosts before and after each setting, in the same lab"},
    {.name = "tc-dev", MEMBER(device), .value = "DEV", .group = CC_GROUP_CLUSTER,
     .help = "shape this interface of the cluster's hosts to --bw (as root; undone at the end), and "
             "count its bytes"},
    {.name = NULL},
};
/* clang-format on */

int cc_run_parse(struct cc_args *args, struct run *out, struct cc_error *e)
{
    struct run_options *o = &out->options;
    *out = (struct run){.paper = NULL};
    CC_TRY(cc_options_read(args, cc_run_options, o, e));
    const void *const of_calls[] = {&o->check, &o->time_s, NULL};
    const char *of_call = cc_given_of(o, of_calls);
    if (of_call != NULL)
        return cc_usage(e, "--%s is of calls that are timed alone: give --bw none as well",
                        of_call);
    CC_TRY(cc_hosts_parse(args, cc_given(o, &o->device), cc_given(o, &o->keep_lab), &o->hosts, e));
    if (o->device != NULL && strlen(o->device) >= IFNAMSIZ)
        return cc_usage(e, "--tc-dev: '%.40s' is not an interface: names have at most %d bytes",
                        o->device, IFNAMSIZ - 1);
    return CC_OK;
}

/* The token buckets that shape the links. */
static int check_burst(const struct run_options *o, const struct cc_link_options *links,
                       struct cc_error *e)
{
    if (cc_given(links, &links->burst_bytes) == NULL)
        return CC_OK;
    if (!o->hosts.lab && o->device == NULL)
        return cc_usage(e, "--burst is of links that are shaped here: give --tc-dev as well");
    return links->burst_bytes >= 1 ? CC_OK : cc_usage(e, "--burst: at least 1 byte");
}

/* Hosts of a lab are namespaces of one machine; their ranks share its memory and its cores. */
enum { MOST_HOSTS = 250 };

int cc_run_check(const struct run *r, const struct cc_cluster_args *c, struct cc_error *e)
{
    const bool has_servers = cc_cluster_has(c, CC_X_SERVERS);
    int workers = 0, servers = 0;
    CC_TRY(check_burst(&r->options, &c->network, e));
    for (size_t i = 0; i < c->worker_counts; i++)
        workers = c->workers[i] > workers ? c->workers[i] : workers;
    for (size_t i = 0; i < c->server_counts && has_servers; i++)
        servers = c->servers[i] > servers ? c->servers[i] : servers;
    if (r->options.ping && (workers < 2 || c->setting.cluster.per_host > 1))
        return cc_usage(e, "--ping is between two hosts: give --workers 2 or more, one on each");
    if (r->options.ping && r->options.device != NULL)
        return cc_usage(e, "--ping: --tc-dev shapes links while a job runs; `commcomp calibrate` "
                           "measures them");
    if ((r->options.hosts.lab || r->options.device != NULL) && c->setting.cluster.sites > 1)
        return cc_usage(e,
                        "--sites: hosts whose links are shaped here are on one switch; `commcomp "
                        "sim` and `commcomp model` have several");
    if (r->options.device == NULL && c->setting.cluster.nics > CC_LAB_NICS)
        return cc_usage(e, "--nics %d: hosts of a lab have at most %d interfaces",
                        c->setting.cluster.nics, CC_LAB_NICS);
    if (r->options.device != NULL && c->setting.cluster.nics > 1)
        return cc_usage(e, "--nics: --tc-dev shapes one interface; a lab's hosts have several");
    if (r->options.device != NULL && c->setting.cluster.per_host > 1)
        return cc_usage(e,
                        "--tc-dev shapes hosts with one rank each, and here they have %d: leave "
                        "out --per-host, and the numbers of --hosts; a lab shapes those, too",
                        c->setting.cluster.per_host);
    if (r->options.device != NULL && cc_link_asymmetric(&c->link[0]))
        return cc_usage(e, "--tc-dev shapes both directions alike: leave out --bw-up and "
                           "--bw-down; a lab shapes them apart");
    if (c->setting.cluster.colocated && r->options.device != NULL)
        return cc_usage(e,
                        "--tc-dev shapes hosts with one rank each, and with --colocate some have "
                        "two; a lab shapes those, too");
    if (r->options.hosts.lab && workers + servers > MOST_HOSTS)
        return cc_usage(e,
                        "--workers %d: a lab has at most %d hosts, servers included; `commcomp "
                        "model` predicts any number",
                        workers, MOST_HOSTS);
    return CC_OK;
}
