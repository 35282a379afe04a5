/* Shapes an interface of every host while a job runs, if the job asks for it. */
#ifndef CC_NETSIM_RANK_SHAPED_H
#define CC_NETSIM_RANK_SHAPED_H

#include <mpi.h>
#include <stdbool.h>

#include "core/error.h"
#include "netsim/job/job.h"
#include "netsim/lab/shape.h"

struct cc_shaped {
    bool held; /* by this rank */
    struct cc_shaping shaping;
};

/* Collective: once it returns CC_OK on one rank, all hosts are shaped. A rank that fails returns
 * alone, and must end the job. This program's `--shape` must be cc_shape_guard. */
int cc_shaped_begin(const struct cc_job *job, MPI_Comm comm, struct cc_shaped *out,
                    struct cc_error *e);
/* Undoes the shaping. If the rank just ends, its guard does so. */
int cc_shaped_end(struct cc_shaped *s, struct cc_error *e);

#endif
