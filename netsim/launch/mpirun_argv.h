/* mpirun's command line: the hosts, Open MPI's parameters, the rank program. */
#ifndef CC_NETSIM_LAUNCH_MPIRUN_ARGV_H
#define CC_NETSIM_LAUNCH_MPIRUN_ARGV_H

#include "core/error.h"
#include "netsim/job/job.h"
#include "netsim/lab/lab.h"

/* A cluster: how the user's own mpirun is called. */
struct cc_launch_cluster {
    const char *hostfile, *hosts; /* both NULL: mpirun finds its hosts itself (Slurm, ...) */
    const char *mpirun;           /* NULL: "mpirun" */
    char *const *mpirun_args;     /* passed on, ending with NULL; or NULL */
    bool here; /* all ranks on this machine, whatever hosts a resource manager has given; without
                  hostfile and hosts */
};

/* Where the ranks run: in `lab`, or on `cluster` if lab is NULL. */
struct cc_launch_hosts {
    const struct cc_lab *lab;
    const struct cc_launch_cluster *cluster;
};

/* *out ends with NULL; the caller frees it with cc_argv_free. */
int cc_mpirun_argv(const struct cc_launch_hosts *hosts, const char *rank_program,
                   const struct cc_job *job, char ***out, struct cc_error *e);

/* A hint, in parentheses, to be appended to a message of mpirun; "" if there is none. */
const char *cc_mpirun_remedy(const struct cc_launch_hosts *hosts, const char *message);

/* The resource manager in whose allocation this program runs ("Slurm", ...), whose hosts mpirun
 * finds by itself; NULL outside an allocation. */
const char *cc_launch_manager(void);

#endif
