/* What the options of run say, and what of the model's options cannot be run. */
#include <stdlib.h>
#include <string.h>

#include "cmd/run.h"
#include "core/memory.h"

/* --- reading them --- */

/* "--mca x y" in words, at blanks. */
static int split_words(const char *text, char ***out, struct cc_error *e)
{
    static const char blanks[] = " \t\n";
    size_t most = strlen(text) / 2 + 2, count = 0;
    char **words = cc_alloc0(most * sizeof *words, e);
    if (words == NULL)
        return CC_FAIL;
    *out = words;
    for (const char *p = text + strspn(text, blanks); *p != '\0'; p += strspn(p, blanks)) {
        size_t n = strcspn(p, blanks);
        words[count] = cc_alloc0(n + 1, e);
        if (words[count] == NULL)
            return CC_FAIL;
        memcpy(words[count++], p, n);
        p += n;
    }
    return CC_OK;
}

/* A lab, unless the options name hosts, or a resource manager has given some. */
static bool wants_lab(const struct cc_args *args)
{
    static const char *const names[] = {"hostfile", "hosts", "mpirun", "mpirun-args", "tc-dev"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (cc_arg(args, names[i]) != NULL)
            return false;
    return cc_arg(args, "lab") != NULL || cc_launch_manager() == NULL;
}

static int refuse_labs(const struct cc_args *args, struct cc_error *e)
{
    static const char *const names[] = {"lab", "limit", "congestion", "keep"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (cc_arg(args, names[i]) != NULL)
            return cc_usage(e, "--%s is of a lab on this machine: leave it out on a cluster",
                            names[i]);
    if (cc_arg(args, "burst") != NULL && cc_arg(args, "tc-dev") == NULL)
        return cc_usage(e, "--burst is of links that are shaped here: --tc-dev says which");
    return CC_OK;
}

static int check_cluster(const struct cc_args *args, struct cc_error *e)
{
    if (cc_arg(args, "hostfile") != NULL && cc_arg(args, "hosts") != NULL)
        return cc_usage(e, "--hostfile and --hosts exclude each other");
    if (cc_arg(args, "hostfile") == NULL && cc_arg(args, "hosts") == NULL &&
        cc_launch_manager() == NULL)
        return cc_usage(e, "on which hosts? Give --hostfile FILE or --hosts LIST, or run it in an "
                           "allocation (Slurm, ...); without --mpirun, --mpirun-args and --tc-dev "
                           "a lab is built on this machine");
    return refuse_labs(args, e);
}

static int parse_counts(const struct cc_args *args, struct run_options *o, struct cc_error *e)
{
    int status = cc_arg_count(args, "steps", 1, 1000000, &o->steps, e);
    if (status == CC_OK)
        status = cc_arg_count(args, "warmup", 0, 1000000, &o->warmup, e);
    if (status == CC_OK)
        status = cc_arg_count(args, "burst", 1, INT64_MAX, &o->burst, e);
    if (status == CC_OK)
        status = cc_arg_count(args, "limit", 1, INT64_MAX, &o->limit, e);
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
    struct run_options o = {.lab = wants_lab(args),
                            .steps = UINT64_MAX,
                            .warmup = UINT64_MAX,
                            .device = cc_arg(args, "tc-dev"),
                            .congestion = cc_arg(args, "congestion"),
                            .keep = cc_arg(args, "keep") != NULL,
                            .dry_run = cc_arg(args, "dry-run") != NULL,
                            .latency_given = cc_arg(args, "latency") != NULL};
    const char *words = cc_arg(args, "mpirun-args");
    int status = o.lab ? CC_OK : check_cluster(args, e);
    if (status == CC_OK)
        status = parse_counts(args, &o, e);
    if (status == CC_OK)
        status = parse_source(args, &o, e);
    if (status == CC_OK && words != NULL)
        status = split_words(words, &o.mpirun_args, e);
    o.cluster = (struct cc_launch_cluster){.hostfile = cc_arg(args, "hostfile"),
                                           .hosts = cc_arg(args, "hosts"),
                                           .mpirun = cc_arg(args, "mpirun"),
                                           .mpirun_args = o.mpirun_args};
    *out = o;
    return status;
}

void cc_run_options_free(struct run_options *o)
{
    for (size_t i = 0; o->mpirun_args != NULL && o->mpirun_args[i] != NULL; i++)
        free(o->mpirun_args[i]);
    free(o->mpirun_args);
    *o = (struct run_options){.lab = true};
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
    if (o->lab && workers + more > MOST_HOSTS)
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
