/* The place where ranks run, for run, validate and calibrate: a lab on this machine, or a cluster.
 */
#ifndef CC_CMD_INPUT_HOSTS_H
#define CC_CMD_INPUT_HOSTS_H

#include "cmd/cli/command.h"
#include "netsim/launch/launch.h"

struct cc_hosts {
    struct cc_given given;
    bool lab;                         /* else: */
    struct cc_launch_cluster cluster; /* its texts belong to the command line */
    const char *mpirun_text;          /* --mpirun-args, or NULL; */
    char **mpirun_args;               /* its words, owned; ends with NULL */
    const char *congestion;
    uint64_t limit; /* bytes; 0: by the rate */
};
extern const struct cc_option cc_hosts_options[];

/* Reads the options, and decides where ranks run. `of_cluster` and `of_lab` are the names of
 * options that were given and belong to a cluster, or to a lab, or NULL. Free *out with
 * cc_hosts_free, also after an error. */
int cc_hosts_parse(const struct cc_args *args, const char *of_cluster, const char *of_lab,
                   struct cc_hosts *out, struct cc_error *e);
/* The same for a network that is not shaped: without --hostfile and --hosts, all ranks run on this
 * machine. The options of a lab have been refused. */
int cc_hosts_parse_plain(const struct cc_args *args, struct cc_hosts *out, struct cc_error *e);
void cc_hosts_free(struct cc_hosts *h);

/* Fails if the program of the ranks, which cc_hosts_launch starts, is not there. */
int cc_hosts_check(struct cc_error *e);

/* Launches a job on the lab's hosts, or with NULL on the cluster's: cc_launch, with a program of
 * ranks that is $COMMCOMP_RANK, or commcomp-rank beside this program. `calls` has the other members
 * of the configuration. */
int cc_hosts_launch(const struct cc_hosts *h, struct cc_lab *lab,
                    const struct cc_launch_config *calls, const struct cc_job *job,
                    struct cc_error *e);

#endif
