/* The place where ranks run, for run, validate and calibrate: a lab on this machine, or a cluster.
 */
#ifndef CC_CMD_INPUT_HOSTS_H
#define CC_CMD_INPUT_HOSTS_H

#include "cmd/cli/command.h"
#include "netsim/launch/launch.h"

/* clang-format off */
#define CC_HOSTS_OPTIONS                                                                           \
    {.name = "limit", .value = "BYTES", .def = "by the rate",                                      \
     .group = CC_GROUP_CLUSTER,                                                                    \
     .help = "size of the queues in front of the lab's links"},                                    \
    {.name = "congestion", .value = "NAME", .def = "reno",                                         \
     .group = CC_GROUP_CLUSTER,                                                                    \
     .help = "TCP congestion control of the lab's hosts"},                                         \
    {.name = "lab", .group = CC_GROUP_CLUSTER,                                                     \
     .help = "use a lab on this machine even if a resource manager has given hosts"},              \
    {.name = "hostfile", .value = "FILE", .file = CC_READS_FILE,                                   \
     .group = CC_GROUP_CLUSTER,                                                                    \
     .help = "run on a cluster: mpirun's list of hosts"},                                          \
    {.name = "hosts", .value = "LIST", .group = CC_GROUP_CLUSTER,                                  \
     .help = "run on a cluster: hosts with commas between them"},                                  \
    {.name = "mpirun", .value = "PROGRAM", .def = "mpirun", .group = CC_GROUP_RUN,                 \
     .help = "the mpirun program to use"},                                                         \
    {.name = "mpirun-args", .value = "WORDS",                                                      \
     .group = CC_GROUP_RUN,                                                                        \
     .help = "arguments for mpirun, as in \"--mca btl_tcp_if_include eth0\""}
/* clang-format on */

/* The parsed options. */
struct cc_hosts {
    bool lab;                         /* else: */
    struct cc_launch_cluster cluster; /* its texts belong to the command line */
    char **mpirun_args;               /* owned; ends with NULL */
    const char *congestion;
    uint64_t limit; /* bytes; 0: by the rate */
};

/* Parses the options above. `clusters_own` and `labs_own` name the command's further options that
 * only make sense on a cluster, or in a lab: lists that end with NULL, or NULL. Free *out with
 * cc_hosts_free, also after an error. */
int cc_hosts_parse(const struct cc_args *args, const char *const *clusters_own,
                   const char *const *labs_own, struct cc_hosts *out, struct cc_error *e);
/* The same for a network that is not shaped: without --hostfile and --hosts, all ranks run on this
 * machine. The options of a lab have been refused. */
int cc_hosts_parse_plain(const struct cc_args *args, struct cc_hosts *out, struct cc_error *e);
void cc_hosts_free(struct cc_hosts *h);

/* The path of the ranks' program: $COMMCOMP_RANK, or commcomp-rank beside this program. The caller
 * frees it; NULL after an error. */
char *cc_rank_program(struct cc_error *e);

#endif
