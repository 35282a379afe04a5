/* What the options of run say, and what of the model's options cannot be run. */
#include <net/if.h>
#include <string.h>

#include "cmd/run/run.h"
#include "core/memory.h"

/* --- reading them --- */

int cc_run_options_parse(const struct cc_args *args, struct run_options *out, struct cc_error *e)
{
    static const char *const clusters_own[] = {"tc-dev", NULL}, *const labs_own[] = {"keep", NULL};
    uint64_t burst = 1; /* the settings' links have it */
    struct run_options o = {.device = cc_arg_or_null(args, "tc-dev"),
                            .keep = cc_arg_or_null(args, "keep") != NULL,
                            .latency_given = cc_arg(args, "latency") != NULL};
    int status = cc_hosts_parse(args, clusters_own, labs_own, &o.hosts, e);
    if (status == CC_OK && !o.hosts.lab && cc_arg(args, "burst") != NULL && o.device == NULL)
        status = cc_usage(e, "--burst is of links that are shaped here: --tc-dev says which");
    if (status == CC_OK && o.device != NULL && strlen(o.device) >= IFNAMSIZ)
        status = cc_usage(e, "--tc-dev: '%.40s' is no interface: names have at most %d bytes",
                          o.device, IFNAMSIZ - 1);
    if (status == CC_OK)
        status = cc_arg_count(args, "burst", 1, INT64_MAX, &burst, e);
    *out = o;
    return status;
}

void cc_run_options_free(struct run_options *o)
{
    cc_hosts_free(&o->hosts);
}

/* --- what cannot be run --- */

/* Hosts of a lab are namespaces of one machine, and their ranks share its memory and its cores. */
enum { MOST_HOSTS = 250 };

int cc_run_refuse(void *arg, const struct cc_cluster_args *c, struct cc_error *e)
{
    const struct run *r = arg;
    bool servers = false;
    int workers = 0, more = 0;
    for (size_t i = 0; i < c->exchanges; i++)
        servers = servers || c->exchange[i] == CC_PS;
    for (size_t i = 0; i < c->worker_counts; i++)
        workers = c->workers[i] > workers ? c->workers[i] : workers;
    for (size_t i = 0; i < c->server_counts && servers; i++)
        more = c->servers[i] > more ? c->servers[i] : more;
    if (r->options.hosts.lab && workers + more > MOST_HOSTS)
        return cc_usage(e,
                        "--workers %d: a lab has at most %d hosts, servers included; `commcomp "
                        "model` predicts any number",
                        workers, MOST_HOSTS);
    return CC_OK;
}
