#include "netsim/rank/sources.h"

#include "core/memory.h"
#include "netsim/rank/pipe.h"
#include "netsim/transport/mpi_check.h"
#include "netsim/transport/runtime.h"

/* The number of steps that the job's mode has in flight: when steps overlap, the forward pass of
 * the next one begins before the last message of this one is back. */
static size_t steps_in_flight(const struct cc_job *job)
{
    if (job->mode == CC_PIPE)
        return cc_pipe_depth(job);
    return job->mode == CC_SEQUENTIAL ? 1 : 2;
}

int cc_source_open(const struct cc_job *job, MPI_Comm comm, struct cc_source **out,
                   struct cc_error *e)
{
    int rank = 0, ranks_on_host = 1;
    struct cc_source_config config = {.job = job, .in_flight = steps_in_flight(job)};
    CC_TRY(cc_mpi_check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank", e));
    config.worker = rank < job->workers ? rank : job->workers - 1 - rank;
    if (job->training.net != NULL)
        return cc_source_training_open(&config, out, e);
    if (!job->data)
        return cc_source_empty_open(&config, out, e);
    CC_TRY(cc_runtime_ranks_on_host(comm, &ranks_on_host, e));
    uint64_t steps = cc_preloaded_fit(job, cc_memory_available() / 4 / (size_t)ranks_on_host);
    int code = MPI_Allreduce(MPI_IN_PLACE, &steps, 1, MPI_UINT64_T, MPI_MIN, comm);
    CC_TRY(cc_mpi_check(code, "MPI_Allreduce", e));
    config.steps = (size_t)steps;
    if (config.worker < 0)
        return cc_source_empty_open(&config, out, e);
    return job->trace != NULL ? cc_source_replay_open(&config, out, e)
                              : cc_source_synthetic_open(&config, out, e);
}
