/* The options of run, and the clusters that it refuses. */
#include <net/if.h>
#include <string.h>

#include "cmd/run/run.h"

int cc_run_parse(struct cc_args *args, struct run *out, struct cc_error *e)
{
    static const char *const clusters_own[] = {"tc-dev", NULL}, *const labs_own[] = {"keep-lab",
                                                                                     NULL};
    uint64_t burst = 1; /* checked here; the links have its value */
    struct run_options *o = &out->options;
    *out = (struct run){.options = {.device = cc_arg_or_null(args, "tc-dev"),
                                    .keep_lab = cc_arg_or_null(args, "keep-lab") != NULL}};
    static const char *const of_calls[] = {"check", "time"};
    for (size_t i = 0; i < sizeof of_calls / sizeof of_calls[0]; i++)
        if (cc_arg_or_null(args, of_calls[i]) != NULL)
            return cc_usage(e, "--%s is of calls that are timed alone: give --bw none as well",
                            of_calls[i]);
    if (cc_arg_or_null(args, "paper") != NULL)
        CC_TRY(cc_run_paper_open(args, &out->paper, e));
    CC_TRY(cc_hosts_parse(args, clusters_own, labs_own, &o->hosts, e));
    if (!o->hosts.lab && cc_arg(args, "burst") != NULL && o->device == NULL)
        return cc_usage(e, "--burst is of links that are shaped here: give --tc-dev as well");
    if (o->device != NULL && strlen(o->device) >= IFNAMSIZ)
        return cc_usage(e, "--tc-dev: '%.40s' is no interface: names have at most %d bytes",
                        o->device, IFNAMSIZ - 1);
    return cc_arg_count(args, "burst", 1, INT64_MAX, &burst, e);
}

/* Hosts of a lab are namespaces of one machine; their ranks share its memory and its cores. */
enum { MOST_HOSTS = 250 };

int cc_run_check(const struct run *r, const struct cc_cluster_args *c, struct cc_error *e)
{
    bool has_servers = false;
    int workers = 0, servers = 0;
    for (size_t i = 0; i < c->exchanges; i++)
        has_servers = has_servers || cc_exchange_has(c->exchange[i], CC_X_SERVERS);
    for (size_t i = 0; i < c->worker_counts; i++)
        workers = c->workers[i] > workers ? c->workers[i] : workers;
    for (size_t i = 0; i < c->server_counts && has_servers; i++)
        servers = c->servers[i] > servers ? c->servers[i] : servers;
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
