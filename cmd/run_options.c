/* What the options of run say, and what of the model's options cannot be run. */
#include <net/if.h>
#include <string.h>

#include "cmd/run.h"
#include "core/memory.h"

/* --- reading them --- */

static int parse_counts(const struct cc_args *args, struct run_options *o, struct cc_error *e)
{
    uint64_t burst = 1; /* the settings' links have it */
    int status = cc_arg_count(args, "steps", 1, 1000000, &o->steps, e);
    if (status == CC_OK)
        status = cc_arg_count(args, "warmup", 0, 1000000, &o->warmup, e);
    if (status == CC_OK)
        status = cc_arg_count(args, "burst", 1, INT64_MAX, &burst, e);
    return status;
}

static int parse_source(const struct cc_args *args, struct run_options *o, struct cc_error *e)
{
    int distribution = CC_MIXTURE;
    o->trace = cc_arg(args, "trace");
    cc_arg_choice(args, "synthetic", &distribution);
    o->distribution = (enum cc_distribution)distribution;
    if (o->trace != NULL && cc_arg(args, "synthetic") != NULL)
        return cc_usage(e, "--trace and --synthetic exclude each other");
    if (o->trace != NULL && cc_arg(args, "values") != NULL)
        return cc_usage(e, "--trace and --values exclude each other");
    return CC_OK;
}

int cc_run_options_parse(const struct cc_args *args, struct run_options *out, struct cc_error *e)
{
    static const char *const clusters_own[] = {"tc-dev", NULL}, *const labs_own[] = {"keep", NULL};
    struct run_options o = {.steps = UINT64_MAX,
                            .warmup = UINT64_MAX,
                            .device = cc_arg(args, "tc-dev"),
                            .keep = cc_arg(args, "keep") != NULL,
                            .dry_run = cc_arg(args, "dry-run") != NULL,
                            .latency_given = cc_arg(args, "latency") != NULL};
    int status = cc_hosts_parse(args, clusters_own, labs_own, &o.hosts, e);
    if (status == CC_OK && !o.hosts.lab && cc_arg(args, "burst") != NULL && o.device == NULL)
        status = cc_usage(e, "--burst is of links that are shaped here: --tc-dev says which");
    if (status == CC_OK && o.device != NULL && strlen(o.device) >= IFNAMSIZ)
        status = cc_usage(e, "--tc-dev: '%.40s' is no interface: names have at most %d bytes",
                          o.device, IFNAMSIZ - 1);
    if (status == CC_OK)
        status = parse_counts(args, &o, e);
    if (status == CC_OK)
        status = parse_source(args, &o, e);
    *out = o;
    return status;
}

void cc_run_options_free(struct run_options *o)
{
    cc_hosts_free(&o->hosts);
}

/* --- what cannot be run --- */

static int refuse_exchanges(const struct cc_cluster_args *c, struct cc_error *e)
{
    for (size_t i = 0; i < c->exchanges; i++)
        if (c->exchange[i] >= CC_SSAR_RECDOUBLE)
            return cc_usage(e,
                            "--exchange %s: sparse exchanges are predicted only, by `commcomp "
                            "model`; run ps, ring, recdouble, rabenseifner, allgather or mpi",
                            cc_exchange_names[c->exchange[i]]);
    return CC_OK;
}

static int refuse_timing(const struct cc_args *args, const struct cc_timing *t, struct cc_error *e)
{
    if (t->consistency != CC_BULK)
        return cc_usage(e,
                        "--consistency %s is predicted only, by `commcomp model`; in a run all "
                        "workers wait for the slowest: --consistency bulk",
                        cc_consistency_names[t->consistency]);
    if (t->mode == CC_PIPE && t->depth != 2)
        return cc_usage(e,
                        "--depth %d is predicted only, by `commcomp model`; a run has two steps "
                        "under way: --depth 2",
                        t->depth);
    if (t->unlimited)
        return cc_usage(e, "--unlimited is predicted only, by `commcomp model`: leave it out");
    if (t->sync_s > 0)
        return cc_usage(e, "--sync is predicted only, by `commcomp model`: a run takes the time "
                           "that it takes");
    if (t->straggler != CC_STEADY && t->compute_s == 0)
        return cc_usage(e, "--stragglers %s vary the compute time, which is 0: give --compute",
                        cc_arg(args, "stragglers"));
    return CC_OK;
}

/* Hosts of a lab are namespaces of one machine, and their ranks share its memory and its cores. */
enum { MOST_HOSTS = 250 };

static int refuse_hosts(const struct run_options *o, const struct cc_cluster_args *c,
                        struct cc_error *e)
{
    bool servers = false;
    int workers = 0, more = 0;
    for (size_t i = 0; i < c->exchanges; i++)
        servers = servers || c->exchange[i] == CC_PS;
    for (size_t i = 0; i < c->worker_counts; i++)
        workers = c->workers[i] > workers ? c->workers[i] : workers;
    for (size_t i = 0; i < c->server_counts && servers; i++)
        more = c->servers[i] > more ? c->servers[i] : more;
    if (o->hosts.lab && workers + more > MOST_HOSTS)
        return cc_usage(e,
                        "--workers %d: a lab has at most %d hosts, servers included; `commcomp "
                        "model` predicts any number",
                        workers, MOST_HOSTS);
    return CC_OK;
}

int cc_run_refuse(const struct cc_args *args, const struct run_options *o, struct cc_error *e)
{
    struct cc_cluster_args c = {.net = NULL};
    int status = cc_cluster_args_parse(args, &c, e);
    if (status == CC_OK)
        status = refuse_exchanges(&c, e);
    if (status == CC_OK)
        status = refuse_timing(args, &c.setting.timing, e);
    if (status == CC_OK)
        status = refuse_hosts(o, &c, e);
    cc_cluster_args_free(&c);
    return status;
}
