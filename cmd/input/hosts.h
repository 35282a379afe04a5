/* Where ranks run: in a lab on this machine, or on a cluster; for run and calibrate. */
#ifndef CC_CMD_INPUT_HOSTS_H
#define CC_CMD_INPUT_HOSTS_H

#include "cmd/cli/command.h"
#include "netsim/launch/launch.h"

/* clang-format off */
#define CC_HOSTS_OPTIONS                                                                           \
    {.name = "limit", .value = "BYTES", .def = "what suits the rate",                              \
     .help = "of the queues in front of the lab's links"},                                         \
    {.name = "congestion", .value = "NAME", .def = "reno",                                         \
     .help = "TCP congestion control of the lab's hosts"},                                         \
    {.name = "lab", .help = "a lab on this machine also where a resource manager has given hosts"},\
    {.name = "hostfile", .value = "FILE", .file = CC_READS_FILE, .help = "run on a cluster: mpirun's list of hosts"},     \
    {.name = "hosts", .value = "LIST", .help = "run on a cluster: hosts with commas between them"},\
    {.name = "mpirun", .value = "PROGRAM", .def = "mpirun", .help = "of the cluster"},             \
    {.name = "mpirun-args", .value = "WORDS",                                                      \
     .help = "handed on to mpirun, as in \"--mca btl_tcp_if_include eth0\""}
/* clang-format on */

/* What the options say. */
struct cc_hosts {
    bool lab; /* or a cluster: */
    struct cc_launch_cluster cluster;
    char **mpirun_args; /* owned; ends with NULL */
    const char *congestion;
    uint64_t limit; /* bytes; 0: what the rate asks for */
};

/* Reads the options above. A command may have more that only a cluster has, or only a lab: lists
 * that end with NULL, or NULL. Free with cc_hosts_free, also after an error. */
int cc_hosts_parse(const struct cc_args *args, const char *const *clusters_own,
                   const char *const *labs_own, struct cc_hosts *out, struct cc_error *e);
void cc_hosts_free(struct cc_hosts *h);

/* $COMMCOMP_RANK, or commcomp-rank beside this program; to be freed. */
char *cc_rank_program(struct cc_error *e);

#endif
