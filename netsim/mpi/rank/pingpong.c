/* Ping-pong between ranks 0 and 1: what messages of several sizes take. */
#include <stdlib.h>

#include "core/memory.h"
#include "netsim/mpi/runtime/mpi_check.h"
#include "netsim/mpi/rank/rank.h"

/* There and back so often before it counts: connections open, buffers grow. */
enum { UNCOUNTED = 3 };

static int there_and_back(struct cc_rank *r, uint8_t *buffer, int bytes, struct cc_error *e)
{
    const int other = 1 - r->rank;
    for (int i = 0; i < 2; i++) {
        int code = i == r->rank
                       ? MPI_Send(buffer, bytes, MPI_BYTE, other, 0, r->comm)
                       : MPI_Recv(buffer, bytes, MPI_BYTE, other, 0, r->comm, MPI_STATUS_IGNORE);
        if (cc_mpi_check(code, i == r->rank ? "MPI_Send" : "MPI_Recv", e) != CC_OK)
            return CC_FAIL;
    }
    return CC_OK;
}

/* No barrier: it would be part of the first round trip. */
static int one_size(struct cc_rank *r, size_t bytes, double *seconds, struct cc_error *e)
{
    int status = CC_OK;
    uint8_t *buffer = cc_alloc0(bytes, e);
    if (buffer == NULL)
        return CC_FAIL;
    for (int i = 0; i < UNCOUNTED && status == CC_OK; i++)
        status = there_and_back(r, buffer, (int)bytes, e);
    for (size_t i = 0; i < r->job.repeats && status == CC_OK; i++) {
        double since = cc_runtime_now();
        status = there_and_back(r, buffer, (int)bytes, e);
        seconds[i] = (cc_runtime_now() - since) / 2;
    }
    free(buffer);
    return status;
}

int cc_rank_pingpong(struct cc_rank *r, struct cc_error *e)
{
    int status = CC_OK;
    double *seconds = cc_alloc(r->job.repeats * sizeof *seconds, e);
    if (seconds == NULL)
        return CC_FAIL;
    for (size_t i = 0; i < r->job.sizes && r->rank < 2 && status == CC_OK; i++) {
        status = one_size(r, r->job.size[i], seconds, e);
        const struct cc_report what = {
            .kind = CC_REPORT_SIZE,
            .size = {.bytes = r->job.size[i], .samples = r->job.repeats, .seconds = seconds}};
        if (status == CC_OK)
            status = cc_rank_report(r, &what, e);
    }
    free(seconds);
    return status == CC_OK ? cc_mpi_check(MPI_Barrier(r->comm), "MPI_Barrier", e) : status;
}
