#include "netsim/launch/mpirun_argv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "netsim/launch/argv.h"

static bool users_own(const struct cc_launch_config *config, const char *name)
{
    char *const *arg = config->lab == NULL ? config->cluster->mpirun_args : NULL;
    for (; arg != NULL && *arg != NULL; arg++)
        if (strcmp(*arg, name) == 0)
            return true;
    return false;
}

struct setting {
    const char *name, *value;
};

/* What the user sets is left out: mpirun refuses what is set twice. */
static void add_settings(struct cc_argv *w, const struct cc_launch_config *config,
                         const struct setting *s, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (users_own(config, s[i].name))
            continue;
        cc_argv_add(w, "--mca");
        cc_argv_add(w, "%s", s[i].name);
        cc_argv_add(w, "%s", s[i].value);
    }
}

/* Every parameter of Open MPI that is not its default, and why. */
static void add_all_settings(struct cc_argv *w, const struct cc_launch_config *config,
                             const struct cc_job *job)
{
    const char *agent = config->lab != NULL ? cc_lab_agent(config->lab) : NULL;
    const struct setting lab[] = {
        /* Hosts are entered by the lab's agent, also inside an allocation of Slurm or another
         * manager, whose hosts are not the lab's. */
        {"plm", "rsh"},
        {"plm_rsh_agent", agent},
        {"ras", "^slurm,tm,lsf,gridengine,alps"},
        /* A host cannot enter another one; by default some would start the others. */
        {"plm_rsh_no_tree_spawn", "1"},
        /* mpirun's own messages stay off the shaped links. */
        {"oob_tcp_if_include", CC_LAB_CONTROL},
        /* Files of mpirun and its daemons die with the lab. */
        {"orte_tmpdir_base", CC_LAB_FOLDER},
        /* More ranks than cores: who waits lets others run. */
        {"mpi_yield_when_idle", "1"},
    };
    const struct setting tcp[] = {
        /* TCP alone, also between ranks that could share memory: only then does the shaped link
         * carry everything. */
        {"pml", "ob1"},
        {"btl", "tcp,self"},
        /* Its default, stated because the exchanges count on it: their blocks leave at once,
         * without a question to the receiver first. */
        {"btl_tcp_eager_limit", "65536"},
        {"btl_tcp_if_include", config->lab != NULL ? CC_LAB_DATA : job->device},
    };
    if (config->lab != NULL)
        add_settings(w, config, lab, sizeof lab / sizeof lab[0]);
    /* On a cluster that is not shaped, MPI takes the fastest way that it knows. */
    if (config->lab != NULL || job->device != NULL)
        add_settings(w, config, tcp, sizeof tcp / sizeof tcp[0]);
}

/* Rank i runs on host i. */
static void add_lab_hosts(struct cc_argv *w, int hosts)
{
    char *list = NULL;
    size_t length;
    FILE *f = open_memstream(&list, &length);
    if (f == NULL) {
        w->status = cc_fail(w->e, "out of memory: the names of %d hosts", hosts);
        return;
    }
    for (int i = 0; i < hosts; i++)
        (void)fprintf(f, "%s" CC_LAB_HOST ":1", i > 0 ? "," : "", i);
    if (fclose(f) != 0)
        w->status = cc_fail(w->e, "out of memory: the names of %d hosts", hosts);
    cc_argv_add(w, "--host");
    cc_argv_add(w, "%s", list);
    free(list);
}

static void add_cluster_hosts(struct cc_argv *w, const struct cc_launch_cluster *c)
{
    if (c->hostfile != NULL) {
        cc_argv_add(w, "--hostfile");
        cc_argv_add(w, "%s", c->hostfile);
    }
    if (c->hosts != NULL) {
        cc_argv_add(w, "--host");
        cc_argv_add(w, "%s", c->hosts);
    }
}

int cc_mpirun_argv(const struct cc_launch_config *config, const struct cc_job *job, char ***out,
                   struct cc_error *e)
{
    struct cc_argv w = {.e = e};
    static const struct cc_launch_cluster none;
    const struct cc_launch_cluster *c = config->lab == NULL ? config->cluster : &none;
    cc_argv_add(&w, "%s", c->mpirun != NULL ? c->mpirun : "mpirun");
    cc_argv_add(&w, "-np");
    cc_argv_add(&w, "%d", job->workers + job->servers);
    if (config->lab != NULL) {
        add_lab_hosts(&w, job->workers + job->servers);
        /* Root of the lab's namespaces, which may be nobody outside. */
        cc_argv_add(&w, "--allow-run-as-root");
    } else {
        add_cluster_hosts(&w, c);
    }
    /* Workers first, then servers, one rank on each host before any gets two. */
    if (!users_own(config, "--map-by")) {
        cc_argv_add(&w, "--map-by");
        cc_argv_add(&w, "node");
    }
    /* Bound ranks would all sit on the same core, as every daemon believes to be alone on the
     * machine; and a codec has more threads than one. */
    if (!users_own(config, "--bind-to")) {
        cc_argv_add(&w, "--bind-to");
        cc_argv_add(&w, "none");
    }
    add_all_settings(&w, config, job);
    for (size_t i = 0; c->mpirun_args != NULL && c->mpirun_args[i] != NULL; i++)
        cc_argv_add(&w, "%s", c->mpirun_args[i]);
    cc_argv_add(&w, "%s", config->rank_program);
    cc_argv_add(&w, "-"); /* the job comes on stdin */
    *out = cc_argv_take(&w);
    return w.status;
}

const char *cc_mpirun_remedy(const struct cc_launch_config *config, const char *message)
{
    if (config->lab == NULL && strstr(message, "run as root") != NULL)
        return " (allow it with --mpirun-args --allow-run-as-root)";
    if (config->lab == NULL && strstr(message, "not enough slots") != NULL)
        return " (one slot for each worker and server: \"slots=N\" in the hostfile, or "
               "--mpirun-args --oversubscribe)";
    return "";
}

const char *cc_launch_manager(void)
{
    static const struct {
        const char *variable, *name;
    } managers[] = {
        {"SLURM_JOB_ID", "Slurm"},    {"PBS_NODEFILE", "PBS"},        {"LSB_HOSTS", "LSF"},
        {"LSB_DJOB_HOSTFILE", "LSF"}, {"PE_HOSTFILE", "Grid Engine"},
    };
    for (size_t i = 0; i < sizeof managers / sizeof managers[0]; i++) {
        const char *value = getenv(managers[i].variable);
        if (value != NULL && value[0] != '\0')
            return managers[i].name;
    }
    return NULL;
}
