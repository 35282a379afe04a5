#include "cmd/input/hosts.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/memory.h"
#include "netsim/launch/program.h"

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

/* Which of the options was given, if any. Not every command has all of them. */
static const char *given(const struct cc_args *args, const char *const *names)
{
    for (; names != NULL && *names != NULL; names++)
        if (cc_arg_or_null(args, *names) != NULL)
            return *names;
    return NULL;
}

static const char *const of_clusters[] = {"hostfile", "hosts", "mpirun", "mpirun-args", NULL};
static const char *const of_labs[] = {"lab", "limit", "congestion", NULL};

/* A lab, unless the options name hosts, or a resource manager has given some. */
static bool wants_lab(const struct cc_args *args, const char *const *clusters_own)
{
    if (given(args, of_clusters) != NULL || given(args, clusters_own) != NULL)
        return false;
    return cc_arg(args, "lab") != NULL || cc_launch_manager() == NULL;
}

static int check_cluster(const struct cc_args *args, const char *const *labs_own,
                         struct cc_error *e)
{
    const char *of_lab = given(args, of_labs);
    if (cc_arg(args, "hostfile") != NULL && cc_arg(args, "hosts") != NULL)
        return cc_usage(e, "--hostfile and --hosts exclude each other");
    if (cc_arg(args, "hostfile") == NULL && cc_arg(args, "hosts") == NULL &&
        cc_launch_manager() == NULL)
        return cc_usage(e, "on which hosts? Give --hostfile FILE or --hosts LIST, or run it in an "
                           "allocation (Slurm, ...); without options of a cluster, a lab is built "
                           "on this machine");
    of_lab = of_lab != NULL ? of_lab : given(args, labs_own);
    if (of_lab != NULL)
        return cc_usage(e, "--%s is of a lab on this machine: leave it out on a cluster", of_lab);
    return CC_OK;
}

int cc_hosts_parse(const struct cc_args *args, const char *const *clusters_own,
                   const char *const *labs_own, struct cc_hosts *out, struct cc_error *e)
{
    struct cc_hosts h = {.lab = wants_lab(args, clusters_own),
                         .congestion = cc_arg(args, "congestion")};
    const char *words = cc_arg(args, "mpirun-args");
    int status = h.lab ? CC_OK : check_cluster(args, labs_own, e);
    if (status == CC_OK)
        status = cc_arg_count(args, "limit", 1, INT64_MAX, &h.limit, e);
    if (status == CC_OK && words != NULL)
        status = split_words(words, &h.mpirun_args, e);
    h.cluster = (struct cc_launch_cluster){.hostfile = cc_arg(args, "hostfile"),
                                           .hosts = cc_arg(args, "hosts"),
                                           .mpirun = cc_arg(args, "mpirun"),
                                           .mpirun_args = h.mpirun_args};
    *out = h;
    return status;
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
