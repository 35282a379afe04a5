/* Launching the rank program with mpirun over the hosts of a lab or of a cluster: hands it the job,
 * passes on its reports, and ends it when it hangs. */
#ifndef CC_NETSIM_LAUNCH_LAUNCH_H
#define CC_NETSIM_LAUNCH_LAUNCH_H

#include <stdbool.h>

#include "core/error.h"
#include "netsim/job/job.h"
#include "netsim/job/report.h"
#include "netsim/lab/lab.h"
#include "netsim/launch/slots.h"

/* The program that starts the ranks of a cluster. */
enum cc_starter { CC_BY_MPIRUN, CC_BY_SRUN };
extern const char *const cc_starter_names[]; /* ends with NULL */

/* A cluster: how the user's own mpirun or srun is called. */
struct cc_launch_cluster {
    const char *hostfile, *hosts; /* both NULL: it finds its hosts itself (Slurm, ...) */
    struct cc_slot_list slots;    /* of either, or of the allocation; empty: not known */
    enum cc_starter starter;
    const char *mpirun;       /* NULL: the starter's name */
    char *const *mpirun_args; /* passed on, ending with NULL; or NULL */
    bool here; /* all ranks on this machine, whatever hosts a resource manager has given; without
                  hostfile and hosts */
};

/* Where the ranks run: in `lab`, or on `cluster` if lab is NULL. */
struct cc_launch_hosts {
    struct cc_lab *lab;
    const struct cc_launch_cluster *cluster;
};

struct cc_launch_config {
    struct cc_launch_hosts hosts;
    const char *rank_program; /* absolute path of commcomp-rank */
    /* Callbacks, all with `arg`. on_report gets each report; a failure ends the run. */
    int (*on_report)(void *arg, const struct cc_report *r, struct cc_error *e);
    /* By the forecast, the seconds until the next report is due; called at the start and after
     * every report. The watchdog gives the run up when they are over and nothing moves any more. */
    double (*remaining_s)(void *arg);
    /* Called several times a second, for progress; true ends the run as interrupted. */
    bool (*on_tick)(void *arg);
    void *arg;
    bool *began; /* set once mpirun runs, whatever becomes of it; may be NULL */
};

/* Runs a job to its end; afterwards no process of it is left. The job reaches rank 0 through
 * mpirun's stdin, so no file remains wherever a run ends. A message names the rank or host that
 * failed and quotes the last output of mpirun. */
int cc_launch(const struct cc_launch_config *config, const struct cc_job *job, struct cc_error *e);

/* --- its parts --- */

/* The command line of mpirun or srun: the hosts, Open MPI's parameters, the rank program. *out ends
 * with NULL; the caller frees it with cc_argv_free. */
int cc_mpirun_argv(const struct cc_launch_hosts *hosts, const char *rank_program,
                   const struct cc_job *job, char ***out, struct cc_error *e);

/* A hint, in parentheses, to be appended to a message of mpirun; "" if there is none. */
const char *cc_mpirun_remedy(const struct cc_launch_hosts *hosts, const char *message);

/* The resource manager in whose allocation this program runs ("Slurm", ...), whose hosts mpirun
 * finds by itself; NULL outside an allocation. */
const char *cc_launch_manager(void);

/* Fails if a row's bytes did not pass through the interface `device` (NULL if not known by name):
 * then MPI used another one, and the row's times are not those of the shaped link. cc_launch checks
 * every row with it. */
int cc_launch_check_bytes(const struct cc_report_row *r, const char *device, struct cc_error *e);

#endif
