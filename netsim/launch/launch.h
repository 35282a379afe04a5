/* Launching the rank program over the hosts of a lab or of a cluster, and listening to it. */
#ifndef CC_NETSIM_LAUNCH_LAUNCH_H
#define CC_NETSIM_LAUNCH_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"
#include "netsim/job/job.h"
#include "netsim/lab/lab.h"
#include "netsim/job/report.h"

/* On a cluster: how the user's own mpirun is called. */
struct cc_launch_cluster {
    const char *hostfile, *hosts; /* or both NULL: mpirun finds its hosts itself (Slurm, ...) */
    const char *mpirun;           /* NULL: "mpirun" */
    char *const *mpirun_args;     /* passed on, ending with NULL; or NULL */
};

struct cc_launch_config {
    struct cc_lab *lab; /* or NULL, then */
    const struct cc_launch_cluster *cluster;
    const char *rank_program; /* absolute path of commcomp-rank */
    /* What each report is handed to; a status that is not CC_OK ends the run. */
    int (*on_report)(void *arg, const struct cc_report *r, struct cc_error *e);
    /* Seconds that the work that is under way now may still take by the forecast; asked again after
     * every report. The watchdog gives up when it is over and nothing moves any more. */
    double (*deadline_s)(void *arg);
    /* Called several times a second, for progress; true: stop (interrupted). */
    bool (*on_tick)(void *arg);
    void *arg;
};

/* Starts mpirun, which hands the job to rank 0 on its stdin, so that no file is left wherever the
 * run ends; hands on the reports, and returns when all is over: nothing of it runs any more then.
 * Failures say which rank or host, and what mpirun last said. */
int cc_launch(const struct cc_launch_config *config, const struct cc_job *job, struct cc_error *e);

/* Whether a row's bytes went through the interface that was to carry them; cc_launch looks at every
 * row. */
int cc_launch_check_bytes(const struct cc_report_row *r, const char *device, struct cc_error *e);

/* The resource manager in whose allocation this program runs ("Slurm", ...), whose hosts mpirun
 * finds by itself; NULL outside of one. */
const char *cc_launch_manager(void);

#endif
