/* Command lines of mpirun and srun. Open MPI's parameters are ours unless --mpirun-args sets them.
 */
#include "netsim/launch/launch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/memory_text.h"
#include "netsim/launch/argv.h"

/* Whether the user gives this parameter with --mpirun-args: then it is left out here, as mpirun
 * refuses parameters that are given twice. Options of srun may have "=" and a value behind them. */
static bool user_sets(const struct cc_launch_hosts *hosts, const char *name)
{
    char *const *arg = hosts->lab == NULL ? hosts->cluster->mpirun_args : NULL;
    const size_t length = strlen(name);
    for (; arg != NULL && *arg != NULL; arg++)
        if (strncmp(*arg, name, length) == 0 && ((*arg)[length] == '\0' || (*arg)[length] == '='))
            return true;
    return false;
}

struct mca_parameter {
    const char *name, *value;
};

const char *const cc_starter_names[] = {"mpirun", "srun", NULL};

static bool by_srun(const struct cc_launch_hosts *hosts)
{
    return hosts->lab == NULL && hosts->cluster->starter == CC_BY_SRUN;
}

/* As options of mpirun, or for `env`, which srun starts. */
static void add_parameters(struct cc_argv *a, const struct cc_launch_hosts *hosts,
                           const struct mca_parameter *p, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (user_sets(hosts, p[i].name))
            continue;
        if (by_srun(hosts))
            cc_argv_add(a, "OMPI_MCA_%s=%s", p[i].name, p[i].value);
        else
            cc_argv_words(a, "--mca", p[i].name, p[i].value, NULL);
    }
}

static int cores(void)
{
    return (int)sysconf(_SC_NPROCESSORS_ONLN);
}

/* The size up to which a message is sent without asking the receiver (no rendezvous). The default
 * suits the blocks of exchanges without servers. Pushes and pulls are sent so up to 4 MiB: in
 * overlapped steps the receiver's consent would wait behind what it sends itself, and in others it
 * takes 0.2 to 0.5 ms each way from a rank that sleeps. */
static size_t eager_bytes(const struct cc_job *job)
{
    enum { USUAL = 64 * 1024, MOST = 4 * 1024 * 1024, HEADS = 16 * 1024 };
    size_t largest = 0;
    if (job->servers == 0)
        return USUAL;
    for (size_t i = 0; i < job->rows; i++)
        for (size_t k = 0; k < job->row[i].messages; k++) {
            const struct cc_message *m = &job->row[i].message[k];
            const size_t values = job->offset[m->last + 1] - job->offset[m->first];
            largest = values > largest ? values : largest;
        }
    const size_t bytes = largest < MOST / sizeof(float) ? largest * sizeof(float) + HEADS : MOST;
    return bytes > USUAL ? bytes : USUAL;
}

/* Every parameter of Open MPI that differs from its default, and why. */
static void add_all_parameters(struct cc_argv *a, const struct cc_launch_hosts *hosts,
                               const struct cc_job *job)
{
    const size_t most = eager_bytes(job), usual_part = 128 * 1024;
    char eager[32], part[32];
    (void)snprintf(eager, sizeof eager, "%zu", most);
    (void)snprintf(part, sizeof part, "%zu", most > usual_part ? most : usual_part);
    const struct mca_parameter lab[] = {
        /* The lab's agent starts programs on its hosts, also inside an allocation of Slurm or
         * another manager, whose hosts are not those of the lab. */
        {"plm", "rsh"},
        {"plm_rsh_agent", CC_LAB_AGENT},
        {"ras", "^slurm,tm,lsf,gridengine,alps"},
        /* By default some hosts would start others, but from one host no other can be entered. */
        {"plm_rsh_no_tree_spawn", "1"},
        /* Keeps mpirun's own messages off the shaped links. */
        {"oob_tcp_if_include", CC_LAB_CONTROL},
        /* Files of mpirun and its daemons vanish with the lab. */
        {"orte_tmpdir_base", CC_LAB_FOLDER},
        /* There are more ranks than cores: a rank that waits lets others run. */
        {"mpi_yield_when_idle", "1"},
    };
    const struct mca_parameter here[] = {
        /* Nothing is started elsewhere, also inside an allocation. */
        {"plm", "isolated"},
        {"ras", "^slurm,tm,lsf,gridengine,alps"},
        /* With more ranks than cores, one that waits lets others run; with fewer, it polls. */
        {"mpi_yield_when_idle", job->workers + job->servers > cores() ? "1" : "0"},
        /* Through memory alone: with TCP each rank would listen on all interfaces. */
        {"btl", "self,vader"},
        /* Messages of some kilobytes leave at once, through shared memory, as smaller ones do: to
         * be fetched by the receiver takes several times as long, all the more where ranks have to
         * take turns for it. Larger ones are fetched, as they would be copied twice. */
        {"btl_vader_eager_limit", "16384"},
    };
    const struct mca_parameter tcp[] = {
        /* TCP only, also between ranks that could share memory, so that the shaped links carry all
         * messages; but several workers of one host do share its memory. */
        {"pml", "ob1"},
        {"btl", cc_job_per_host(job) > 1 ? "tcp,self,vader" : "tcp,self"},
        {"btl_tcp_eager_limit", eager},
        {"btl_tcp_rndv_eager_limit", eager},
        /* The parts of a larger message. Open MPI wants them no smaller than the other two. */
        {"btl_tcp_max_send_size", part},
        {"btl_tcp_if_include", hosts->lab != NULL ? CC_LAB_DATA : job->device},
    };
    if (hosts->lab != NULL)
        add_parameters(a, hosts, lab, sizeof lab / sizeof lab[0]);
    if (hosts->lab == NULL && hosts->cluster->here)
        add_parameters(a, hosts, here, sizeof here / sizeof here[0]);
    /* On a cluster without shaping, and here, MPI chooses the fastest transport by itself. */
    if (hosts->lab != NULL || job->device != NULL)
        add_parameters(a, hosts, tcp, sizeof tcp / sizeof tcp[0]);
}

/* Names the hosts with one slot each, and two for a worker and a server: ranks go to the hosts in
 * turn, so that rank i runs on host i, and colocated server i does, too. Hosts of several workers
 * have a slot for each, and are filled one after the other. */
static void add_lab_hosts(struct cc_argv *a, const struct cc_job *job)
{
    const int hosts = cc_job_hosts(job);
    struct cc_memory_text list;
    a->status = cc_memory_text_begin(&list, "the names of hosts", a->e);
    if (a->status != CC_OK)
        return;
    for (int i = 0; i < hosts; i++)
        (void)fprintf(list.f, "%s" CC_LAB_HOST ":%d", i > 0 ? "," : "", i,
                      job->colocated && i < job->servers        ? 2
                      : i < job->workers / cc_job_per_host(job) ? cc_job_per_host(job)
                                                                : 1);
    a->status = cc_memory_text_end(&list, CC_OK, a->e);
    if (a->status != CC_OK)
        return;
    cc_argv_words(a, "--host", list.text, NULL);
    free(list.text);
}

/* Names a cluster's hosts, with the slots that the job needs or without. */
static void add_slots(struct cc_argv *a, const char *option, const struct cc_launch_cluster *c,
                      const struct cc_slots_wanted *wanted, bool with_counts)
{
    struct cc_memory_text list;
    if (a->status == CC_OK)
        a->status = cc_memory_text_begin(&list, "the names of hosts", a->e);
    if (a->status != CC_OK)
        return;
    a->status =
        cc_memory_text_end(&list, cc_slots_put(&c->slots, wanted, with_counts, list.f, a->e), a->e);
    if (a->status != CC_OK)
        return;
    cc_argv_words(a, option, list.text, NULL);
    free(list.text);
}

/* Hosts of several workers get as many slots as the job has workers of a host, whatever room there
 * is, so that worker i is on host i / `per_host`. */
static void add_cluster_hosts(struct cc_argv *a, const struct cc_launch_cluster *c,
                              const struct cc_job *job)
{
    const int per_host = cc_job_per_host(job);
    const struct cc_slots_wanted wanted = {job->workers / per_host, per_host, job->servers};
    if (per_host > 1 && c->slots.count > 0) {
        add_slots(a, "--host", c, &wanted, true);
        return;
    }
    if (c->hostfile != NULL)
        cc_argv_words(a, "--hostfile", c->hostfile, NULL);
    if (c->hosts != NULL)
        cc_argv_words(a, "--host", c->hosts, NULL);
}

/* The hosts of an allocation that srun takes: with several workers each as many as needed, and else
 * one for each rank, as far as there are any. */
static void add_srun_hosts(struct cc_argv *a, const struct cc_launch_cluster *c,
                           const struct cc_job *job)
{
    const int per_host = cc_job_per_host(job), ranks = job->workers + job->servers;
    struct cc_slots_wanted wanted = {cc_job_hosts(job), per_host, 0};
    if (per_host == 1 && c->slots.count > 0 && (size_t)ranks > c->slots.count)
        wanted.hosts = (int)c->slots.count;
    cc_argv_words(a, "--nodes", NULL);
    cc_argv_add(a, "%d", wanted.hosts);
    if (per_host > 1) {
        cc_argv_words(a, "--ntasks-per-node", NULL);
        cc_argv_add(a, "%d", per_host);
    }
    cc_argv_words(a, "--distribution", per_host > 1 ? "block" : "cyclic", NULL);
    if (c->hosts != NULL || c->hostfile != NULL)
        add_slots(a, "--nodelist", c, &wanted, false);
}

/* srun starts the ranks through PMIx, and gives rank 0 the job. */
static int srun_argv(const struct cc_launch_hosts *hosts, const char *rank_program,
                     const struct cc_job *job, char ***out, struct cc_error *e)
{
    const struct cc_launch_cluster *c = hosts->cluster;
    struct cc_argv a = {.e = e};
    if (cc_job_per_host(job) > 1 && job->servers > 0)
        return cc_fail(e, "srun puts as many ranks on every host, and servers have hosts of their "
                          "own: start them with --launcher mpirun");
    cc_argv_words(&a, c->mpirun != NULL ? c->mpirun : "srun", "--ntasks", NULL);
    cc_argv_add(&a, "%d", job->workers + job->servers);
    add_srun_hosts(&a, c, job);
    if (!user_sets(hosts, "--mpi"))
        cc_argv_words(&a, "--mpi", "pmix", NULL);
    cc_argv_words(&a, "--input", "0", "--kill-on-bad-exit=1", "--cpu-bind=none", NULL);
    for (size_t i = 0; c->mpirun_args != NULL && c->mpirun_args[i] != NULL; i++)
        cc_argv_add(&a, "%s", c->mpirun_args[i]);
    if (job->device != NULL) {
        cc_argv_words(&a, "env", NULL);
        add_all_parameters(&a, hosts, job);
    }
    cc_argv_words(&a, rank_program, "-", NULL);
    *out = cc_argv_take(&a);
    return a.status;
}

int cc_mpirun_argv(const struct cc_launch_hosts *hosts, const char *rank_program,
                   const struct cc_job *job, char ***out, struct cc_error *e)
{
    static const struct cc_launch_cluster none;
    const struct cc_launch_cluster *c = hosts->lab == NULL ? hosts->cluster : &none;
    const int ranks = job->workers + job->servers;
    struct cc_argv a = {.e = e};
    if (by_srun(hosts))
        return srun_argv(hosts, rank_program, job, out, e);
    cc_argv_words(&a, c->mpirun != NULL ? c->mpirun : "mpirun", "-np", NULL);
    cc_argv_add(&a, "%d", ranks);
    if (hosts->lab != NULL) {
        add_lab_hosts(&a, job);
        /* The user is root within the lab's namespaces, though perhaps not outside. */
        cc_argv_add(&a, "--allow-run-as-root");
    } else {
        add_cluster_hosts(&a, c, job);
        if (c->here)
            cc_argv_add(&a, "--oversubscribe");
        if (c->here && !user_sets(hosts, "--allow-run-as-root"))
            cc_argv_add(&a, "--allow-run-as-root");
    }
    /* Every host gets one rank before any gets a second; workers come first, then servers. With
     * several workers a host, it gets all of these before the next one gets any. */
    if (!user_sets(hosts, "--map-by"))
        cc_argv_words(&a, "--map-by", cc_job_per_host(job) > 1 ? "slot" : "node", NULL);
    /* In a lab each of mpirun's daemons believes that it has the machine to itself: binding would
     * put all ranks on the same core. Codecs also run several threads. */
    if (!user_sets(hosts, "--bind-to"))
        cc_argv_words(&a, "--bind-to", "none", NULL);
    add_all_parameters(&a, hosts, job);
    if (hosts->lab != NULL && job->device != NULL && strchr(job->device, ',') != NULL)
        cc_argv_words(&a, "--mca", CC_RANK_DEVICES, job->device, NULL);
    for (size_t i = 0; c->mpirun_args != NULL && c->mpirun_args[i] != NULL; i++)
        cc_argv_add(&a, "%s", c->mpirun_args[i]);
    cc_argv_words(&a, rank_program, "-", NULL); /* the rank program reads the job from stdin */
    *out = cc_argv_take(&a);
    return a.status;
}

const char *cc_mpirun_remedy(const struct cc_launch_hosts *hosts, const char *message)
{
    if (by_srun(hosts))
        return strstr(message, "pmix") != NULL ? " (`srun --mpi=list` names what Slurm has: "
                                                 "--mpirun-args \"--mpi NAME\")"
                                               : "";
    if (hosts->lab == NULL && strstr(message, "run as root") != NULL)
        return " (allow it with --mpirun-args --allow-run-as-root)";
    if (hosts->lab == NULL && strstr(message, "not enough slots") != NULL)
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
