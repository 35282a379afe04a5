#include "cmd/input/hosts.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/memory.h"
#include "netsim/launch/program.h"

/* Splits text at its blanks into a list that ends with NULL. After an error, too, *out is to be
 * freed word by word. */
static int split_at_blanks(const char *text, char ***out, struct cc_error *e)
{
    static const char blanks[] = " \t\n";
    const size_t most = strlen(text) / 2 + 2;
    size_t count = 0;
    char **words = cc_alloc0(most * sizeof *words, e);
    if (words == NULL)
        return CC_FAIL;
    *out = words;
    for (const char *p = text + strspn(text, blanks); *p != '\0'; p += strspn(p, blanks)) {
        const size_t n = strcspn(p, blanks);
        words[count] = cc_alloc0(n + 1, e);
        if (words[count] == NULL)
            return CC_FAIL;
        memcpy(words[count++], p, n);
        p += n;
    }
    return CC_OK;
}

/* The first of these options that was given, or NULL. A command need not have all of them. */
static const char *find_given(const struct cc_args *args, const char *const *names)
{
    for (; names != NULL && *names != NULL; names++)
        if (cc_arg_or_null(args, *names) != NULL)
            return *names;
    return NULL;
}

static const char *const cluster_options[] = {"hostfile", "hosts", "mpirun", "mpirun-args", NULL};
static const char *const lab_options[] = {"lab", "limit", "congestion", NULL};

/* A lab is the default, unless an option belongs to clusters or a resource manager allocated hosts.
 */
static bool chooses_lab(const struct cc_args *args, const char *const *clusters_own)
{
    if (find_given(args, cluster_options) != NULL || find_given(args, clusters_own) != NULL)
        return false;
    return cc_arg(args, "lab") != NULL || cc_launch_manager() == NULL;
}

static int check_cluster(const struct cc_args *args, const char *const *labs_own,
                         struct cc_error *e)
{
    const char *of_lab = find_given(args, lab_options);
    if (cc_arg(args, "hostfile") == NULL && cc_arg(args, "hosts") == NULL &&
        cc_launch_manager() == NULL)
        return cc_usage(e, "on which hosts? Give --hostfile FILE or --hosts LIST, or run it in an "
                           "allocation (Slurm, ...); without options of a cluster, a lab is built "
                           "on this machine");
    if (of_lab == NULL)
        of_lab = find_given(args, labs_own);
    if (of_lab != NULL)
        return cc_usage(e, "--%s is of a lab on this machine: leave it out on a cluster", of_lab);
    return CC_OK;
}

/* The cluster's options. */
static int parse_cluster(const struct cc_args *args, struct cc_hosts *out, struct cc_error *e)
{
    const char *mpirun_args = cc_arg(args, "mpirun-args");
    if (mpirun_args != NULL)
        CC_TRY(split_at_blanks(mpirun_args, &out->mpirun_args, e));
    out->cluster = (struct cc_launch_cluster){.hostfile = cc_arg(args, "hostfile"),
                                              .hosts = cc_arg(args, "hosts"),
                                              .mpirun = cc_arg(args, "mpirun"),
                                              .mpirun_args = out->mpirun_args};
    if (out->cluster.hostfile != NULL && out->cluster.hosts != NULL)
        return cc_usage(e, "--hostfile and --hosts exclude each other");
    return CC_OK;
}

int cc_hosts_parse_plain(const struct cc_args *args, struct cc_hosts *out, struct cc_error *e)
{
    *out = (struct cc_hosts){.lab = false};
    CC_TRY(parse_cluster(args, out, e));
    out->cluster.here = out->cluster.hostfile == NULL && out->cluster.hosts == NULL;
    return CC_OK;
}

int cc_hosts_parse(const struct cc_args *args, const char *const *clusters_own,
                   const char *const *labs_own, struct cc_hosts *out, struct cc_error *e)
{
    *out = (struct cc_hosts){.lab = chooses_lab(args, clusters_own),
                             .congestion = cc_arg(args, "congestion")};
    if (!out->lab)
        CC_TRY(check_cluster(args, labs_own, e));
    CC_TRY(cc_arg_count(args, "limit", 1, INT64_MAX, &out->limit, e));
    return parse_cluster(args, out, e);
}

void cc_hosts_free(struct cc_hosts *h)
{
    for (size_t i = 0; h->mpirun_args != NULL && h->mpirun_args[i] != NULL; i++)
        free(h->mpirun_args[i]);
    free(h->mpirun_args);
    *h = (struct cc_hosts){.lab = true};
}

char *cc_rank_program(struct cc_error *e)
{
    return cc_program_beside("commcomp-rank", "COMMCOMP_RANK",
                             "make builds it where mpicc is installed (Debian: libopenmpi-dev)", e);
}
