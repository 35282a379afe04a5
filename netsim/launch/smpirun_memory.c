/* The estimate is the sum of the process itself, each rank's stack and fixed data, the gradients
 * (if the job computes with data) and what a training keeps, and for the most demanding row each
 * rank's buffers for the messages of all rounds. */
#include <string.h>

#include "netsim/launch/smpirun.h"

#include "schemes/spec.h"

/* Measured with SimGrid 3.32: the process, a rank with its stack, and what a rank holds for one
 * message in one round. */
#define PROCESS_BYTES 32e6
#define RANK_BYTES    150e3
#define ROUND_BYTES   500.0

/* Arrays of one step's values in a worker: a gradient (at least one), the model, what it sends and
 * what it receives. */
#define ARRAYS 4.0

/* A training keeps the optimizer's state, one or two arrays, with what an update begins from or
 * takes: on each server, where these send model deltas, and otherwise on each worker. While rank 0
 * writes a checkpoint, it has a copy of all residuals. */
static double training_arrays(const struct cc_job *job)
{
    const struct cc_job_training *t = &job->training;
    const double states = (double)cc_optimizer_state(&t->optimizer, 1);
    const double copies = t->checkpoint != NULL ? job->workers + job->servers : 0;
    return t->net == NULL ? 0 : (states + 1) * (t->deltas ? job->servers : job->workers) + copies;
}

static int count_rounds(const struct cc_job *job)
{
    const int rounds = cc_exchange_info(job->exchange)->rounds(job->workers);
    const bool gathers =
        job->via == CC_VIA_ALLGATHER && cc_exchange_has(job->exchange, CC_X_RECODES);
    return gathers && rounds < job->workers - 1 ? job->workers - 1 : rounds;
}

static double row_bytes(const struct cc_job *job, const struct cc_job_row *row)
{
    const double workers = job->workers, values = (double)cc_job_values(job);
    double bytes =
        ROUND_BYTES * (workers + job->servers) * (double)row->messages * count_rounds(job);
    bool gathers = cc_exchange_has(job->exchange, CC_X_GATHERS);
    /* Each worker holds the payloads of all. Those of other schemes are smaller, and unknown here.
     */
    if (job->data && gathers && strcmp(row->scheme, CC_RAW_SCHEME) == 0)
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
        most +=
            sizeof(float) * (ARRAYS * ranks + training_arrays(job)) * (double)cc_job_values(job);
    return most < (double)((size_t)1 << 60) ? (size_t)most : (size_t)1 << 60;
}
