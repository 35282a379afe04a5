#include "netsim/rank/sources.h"

#include "core/memory.h"
#include "netsim/rank/step_modes.h"
#include "netsim/transport/mpi_calls.h"
#include "netsim/transport/runtime.h"

/* The number of steps that the job's mode has in flight: when steps overlap, the forward pass of
 * the next one begins before the last message of this one is back. */
static size_t steps_in_flight(const struct cc_job *job)
{
    if (job->mode == CC_PIPE)
        return cc_pipe_depth(job);
    return job->mode == CC_SEQUENTIAL ? 1 : 2;
}

/* How many of the job's different steps fit into these bytes, at least one. */
static size_t steps_that_fit(const struct cc_job *job, size_t bytes)
{
    const size_t steps = bytes / sizeof(float) / cc_job_values(job);
    return steps < 1 ? 1 : steps < job->trace_steps ? steps : job->trace_steps;
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
        return cc_source_preloaded_open(&config, out, e);
    CC_TRY(cc_runtime_ranks_on_host(comm, &ranks_on_host, e));
    uint64_t steps = steps_that_fit(job, cc_memory_available() / 4 / (size_t)ranks_on_host);
    CC_TRY(cc_mpi_allreduce(comm, &steps, 1, MPI_UINT64_T, MPI_MIN, e));
    config.steps = config.worker >= 0 ? (size_t)steps : 0;
    return cc_source_preloaded_open(&config, out, e);
}
