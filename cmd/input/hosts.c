#include "cmd/input/hosts.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/infile.h"
#include "core/memory.h"
#include "netsim/launch/host_names.h"
#include "netsim/launch/program.h"

/* Splits text at its blanks into a list that ends with NULL. After an error, too, *out is to be
 * freed word by word. */
static int split_at_blanks(const char *text, char ***out, struct cc_error *e)
{
    static const char blanks[] = " \t\n";
    const size_t most = strlen(text) / 2 + 2;
    size_t count = 0;
    char **words;
    CC_TRY(CC_NEW(words, most, e));
    *out = words;
    for (const char *p = text + strspn(text, blanks); *p != '\0'; p += strspn(p, blanks)) {
        const size_t n = strcspn(p, blanks);
        CC_TRY(cc_text(&words[count++], e, "%.*s", (int)n, p));
        p += n;
    }
    return CC_OK;
}

/* clang-format off */
#define MEMBER(m) CC_OPTION_AT(struct cc_hosts, m)
const struct cc_option cc_hosts_options[] = {
    {.name = "limit", MEMBER(limit), .kind = CC_TAKES_COUNT, .min = 1, .max = INT64_MAX,
     .value = "BYTES", .otherwise = "by the rate", .group = CC_GROUP_CLUSTER,
     .help = "size of the queues in front of the lab's links"},
    {.name = "congestion", MEMBER(congestion), .value = "NAME", .def = "reno",
     .group = CC_GROUP_CLUSTER, .help = "TCP congestion control of the lab's hosts"},
    {.name = "lab", MEMBER(lab), .group = CC_GROUP_CLUSTER,
     .help = "use a lab on this machine even if a resource manager has given hosts"},
    {.name = "hostfile", MEMBER(cluster.hostfile), .value = "FILE", .file = CC_READS_FILE,
     .brief = "run on these hosts, as mpirun takes them",
     .group = CC_GROUP_CLUSTER, .help = "run on a cluster: mpirun's list of hosts"},
    {.name = "hosts", MEMBER(cluster.hosts), .value = "LIST", .group = CC_GROUP_CLUSTER,
     .help = "run on a cluster: hosts with commas between them, each with the ranks that it has "
             "room for, as in a:8,b:8; without a number, one"},
    {.name = "launcher", MEMBER(cluster.starter), .value = "NAME", .def = "mpirun",
     .choices = cc_starter_names, .group = CC_GROUP_RUN,
     .help = "what starts the ranks of a cluster: {words}; the latter inside an allocation of Slurm"},
    {.name = "mpirun", MEMBER(cluster.mpirun), .value = "PROGRAM", .otherwise = "the launcher's name",
     .group = CC_GROUP_RUN, .help = "the mpirun or srun program to use"},
    {.name = "mpirun-args", MEMBER(mpirun_text), .value = "WORDS",
     .group = CC_GROUP_RUN,
     .help = "arguments for it, as in \"--mca btl_tcp_if_include eth0\""},
    {.name = NULL},
};
/* clang-format on */

/* Checks the names of hosts, and reads the slots that each has. */
static int read_slots(struct cc_launch_cluster *c, struct cc_error *e)
{
    struct cc_error why;
    struct cc_bytes file;
    struct stat info;
    if (c->hosts != NULL && cc_host_list_check(c->hosts, &why) != CC_OK)
        return cc_usage(e, "%s", why.text);
    if (c->hosts != NULL)
        CC_TRY_IN(cc_slots_of_list(c->hosts, &c->slots, e), e, "--hosts");
    if (c->hostfile == NULL)
        return CC_OK;
    /* mpirun reads it again. */
    if (stat(c->hostfile, &info) == 0 && !S_ISREG(info.st_mode))
        return cc_fail(e, "%s: it is read twice, and is not a regular file: write the hosts to one",
                       c->hostfile);
    CC_TRY(cc_file_read(c->hostfile, &file, e));
    const char *text = (const char *)file.data;
    int status = cc_hostfile_check(c->hostfile, text, file.size, e);
    if (status == CC_OK)
        status = cc_slots_of_hostfile(text, file.size, &c->slots, e);
    cc_bytes_free(&file);
    return status;
}

static int read_options(const struct cc_args *args, struct cc_hosts *out, struct cc_error *e)
{
    *out = (struct cc_hosts){.lab = false};
    CC_TRY(cc_options_read(args, cc_hosts_options, out, e));
    if (out->mpirun_text != NULL)
        CC_TRY(split_at_blanks(out->mpirun_text, &out->mpirun_args, e));
    out->cluster.mpirun_args = out->mpirun_args;
    if (out->cluster.hostfile != NULL && out->cluster.hosts != NULL)
        return cc_usage(e, "--hostfile and --hosts exclude each other");
    return read_slots(&out->cluster, e);
}

int cc_hosts_parse_plain(const struct cc_args *args, struct cc_hosts *out, struct cc_error *e)
{
    CC_TRY(read_options(args, out, e));
    out->cluster.here = out->cluster.hostfile == NULL && out->cluster.hosts == NULL;
    if (out->cluster.here && out->cluster.starter == CC_BY_SRUN)
        return cc_usage(e, "--launcher srun: without --hosts, all ranks run on this machine, where "
                           "mpirun starts them");
    return CC_OK;
}

int cc_hosts_parse(const struct cc_args *args, const char *of_cluster, const char *of_lab,
                   struct cc_hosts *out, struct cc_error *e)
{
    CC_TRY(read_options(args, out, e));
    struct cc_launch_cluster *c = &out->cluster;
    const void *const clusters_own[] = {&c->hostfile, &c->hosts,         &c->starter,
                                        &c->mpirun,   &out->mpirun_text, NULL};
    const void *const labs_own[] = {&out->lab, &out->limit, &out->congestion, NULL};
    const char *lab = cc_given_of(out, labs_own);
    /* A lab is the default, unless an option belongs to clusters or a resource manager allocated
     * hosts. */
    if (of_cluster == NULL && cc_given_of(out, clusters_own) == NULL &&
        (out->lab || cc_launch_manager() == NULL)) {
        out->lab = true;
        return CC_OK;
    }
    out->lab = false;
    if (c->hostfile == NULL && c->hosts == NULL && cc_launch_manager() == NULL)
        return cc_usage(e, "on which hosts? Give --hostfile FILE or --hosts LIST, or run it in an "
                           "allocation (Slurm, ...); without options of a cluster, a lab is built "
                           "on this machine");
    const char *manager = cc_launch_manager();
    if (c->starter == CC_BY_SRUN && (manager == NULL || strcmp(manager, "Slurm") != 0))
        return cc_usage(e,
                        "--launcher srun: it starts ranks inside an allocation of Slurm: run this "
                        "in a job of sbatch or salloc");
    if (c->hostfile == NULL && c->hosts == NULL)
        CC_TRY(cc_slots_of_allocation(&c->slots, e));
    if (lab == NULL)
        lab = of_lab;
    return lab == NULL
               ? CC_OK
               : cc_usage(e, "--%s is of a lab on this machine: leave it out on a cluster", lab);
}

void cc_hosts_free(struct cc_hosts *h)
{
    for (size_t i = 0; h->mpirun_args != NULL && h->mpirun_args[i] != NULL; i++)
        free(h->mpirun_args[i]);
    free(h->mpirun_args);
    cc_slots_free(&h->cluster.slots);
    *h = (struct cc_hosts){.lab = true};
}

static char *rank_program(struct cc_error *e)
{
    return cc_program_beside("commcomp-rank", "COMMCOMP_RANK",
                             "make builds it where mpicc is installed (Debian: libopenmpi-dev)", e);
}

int cc_hosts_check(struct cc_error *e)
{
    char *program = rank_program(e);
    free(program);
    return program != NULL ? CC_OK : CC_FAIL;
}

int cc_hosts_launch(const struct cc_hosts *h, struct cc_lab *lab,
                    const struct cc_launch_config *calls, const struct cc_job *job,
                    struct cc_error *e)
{
    struct cc_launch_config config = *calls;
    char *program = rank_program(e);
    if (program == NULL)
        return CC_FAIL;
    config.hosts.lab = lab;
    config.hosts.cluster = &h->cluster;
    config.rank_program = program;
    const int status = cc_launch(&config, job, e);
    free(program);
    return status;
}
