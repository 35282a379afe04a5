#include "netsim/rank/shaped.h"

#include "netsim/transport/mpi_calls.h"

/* Counts the ranks on this one's host. */
static int ranks_on_host(MPI_Comm comm, int *out, struct cc_error *e)
{
    MPI_Comm here;
    CC_TRY(cc_mpi_check(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here),
                        "the host", e));
    int status = cc_mpi_check(MPI_Comm_size(here, out), "the host", e);
    (void)MPI_Comm_free(&here);
    return status;
}

int cc_shaped_begin(const struct cc_job *job, MPI_Comm comm, struct cc_shaped *out,
                    struct cc_error *e)
{
    const struct cc_shape_config config = {.device = job->device,
                                           .bw_bps = job->shaping.bw_bps,
                                           .burst_bytes = job->shaping.burst_bytes,
                                           .limit_bytes = job->shaping.limit_bytes};
    int ranks;
    *out = (struct cc_shaped){.held = false};
    if (job->shaping.bw_bps <= 0)
        return CC_OK;
    CC_TRY(ranks_on_host(comm, &ranks, e));
    if (ranks > 1)
        return cc_fail(e,
                       "%d ranks share a host: what they send each other does not pass %s; give "
                       "each a host of its own",
                       ranks, job->device);
    CC_TRY(cc_shaping_begin("/proc/self/exe", &config, &out->shaping, e));
    out->held = true;
    return cc_mpi_check(MPI_Barrier(comm), "waiting for all hosts to be shaped", e);
}

int cc_shaped_end(struct cc_shaped *s, struct cc_error *e)
{
    if (!s->held)
        return CC_OK;
    s->held = false;
    return cc_shaping_end(&s->shaping, e);
}
