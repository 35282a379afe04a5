/* What a job asks of a host, beside its ranks: that an interface is shaped while the job runs. */
#ifndef CC_NETSIM_MPI_HOST_H
#define CC_NETSIM_MPI_HOST_H

#include <mpi.h>
#include <stdbool.h>

#include "core/error.h"
#include "netsim/job.h"
#include "netsim/shape.h"

struct cc_host {
    bool shaped;
    struct cc_shaping shaping;
};

/* Collective: when it returns CC_OK on one rank, all hosts are shaped as the job says. A rank that
 * fails returns by itself, and must end the job. This program's `--shape` must be cc_shape_guard.
 */
int cc_host_begin(const struct cc_job *job, MPI_Comm comm, struct cc_host *out, struct cc_error *e);
/* What was shaped is undone when this returns, and also when the rank just ends. */
int cc_host_end(struct cc_host *h, struct cc_error *e);

#endif
