/* How much memory a simulation needs: all ranks are in one process. */
#include <stdio.h>
#include <string.h>

#include "core/memory.h"
#include "netsim/launch/smpirun.h"

/* As measured, with SimGrid 3.32: of the process, of a rank with its stack, of what a rank keeps
 * ready for one message in one round. */
#define PROCESS_BYTES 32e6
#define RANK_BYTES    150e3
#define ROUND_BYTES   500.0

/* Flat steps that a worker has: a gradient at least, the model, what it sends and what comes. */
#define ARRAYS 4.0

static int rounds_of(const struct cc_job *job)
{
    if (job->servers > 0)
        return 2;
    if (strcmp(job->exchange, "ring") == 0)
        return 2 * (job->workers - 1);
    if (strcmp(job->exchange, "allgather") == 0 || job->via == CC_JOB_ALLGATHER)
        return job->workers - 1;
    int rounds = 2; /* of who is above a power of two; and there and back: */
    for (int power = 1; power < job->workers; power *= 2)
        rounds += 2;
    return rounds;
}

static double row_bytes(const struct cc_job *job, const struct cc_job_row *row)
{
    const double workers = job->workers, values = (double)cc_job_values(job);
    double bytes = ROUND_BYTES * (workers + job->servers) * (double)row->messages * rounds_of(job);
    bool gathers = strcmp(job->exchange, "allgather") == 0;
    /* Everyone has everyone's. Of other schemes, whose payloads are smaller, nothing is known. */
    if (job->data && gathers && strcmp(row->scheme, "fp32") == 0)
        bytes += sizeof(float) * workers * workers * values;
    return bytes;
}

size_t cc_smpirun_memory(const struct cc_job *job)
{
    const double ranks = job->workers + job->servers;
    double most = 0;
    for (size_t i = 0; i < job->rows; i++) {
        double bytes = row_bytes(job, &job->row[i]);
        most = bytes > most ? bytes : most;
    }
    most += PROCESS_BYTES + RANK_BYTES * ranks;
    if (job->data)
        most += ARRAYS * sizeof(float) * ranks * (double)cc_job_values(job);
    return most < (double)((size_t)1 << 60) ? (size_t)most : (size_t)1 << 60;
}
