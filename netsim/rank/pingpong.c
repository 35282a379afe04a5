/* Ping-pong between ranks 0 and 1: measures how long messages of several sizes take. */
#include <stdlib.h>

#include "core/memory.h"
#include "core/stats.h"
#include "netsim/rank/rank.h"
#include "netsim/transport/mpi_calls.h"

/* Round trips before those that count: connections open, buffers grow. */
enum { WARMUP = 3 };

/* *send_s: how long sending took. */
static int round_trip(struct cc_rank *r, uint8_t *buffer, size_t bytes, double *send_s,
                      struct cc_error *e)
{
    for (int i = 0; i < 2; i++) {
        const double since = cc_runtime_now();
        CC_TRY(cc_mpi_move(r->comm, 1 - r->rank, i == r->rank, buffer, bytes, MPI_BYTE, e));
        if (i == r->rank)
            *send_s = cc_runtime_now() - since;
    }
    return CC_OK;
}

/* Times the round trips of one size. No barrier before: a part of it would be in the first one. */
static int measure_size(struct cc_rank *r, size_t bytes, double *seconds, double *send_s,
                        struct cc_error *e)
{
    int status = CC_OK;
    double ignored;
    uint8_t *buffer;
    CC_TRY(CC_NEW(buffer, bytes, e));
    for (int i = 0; i < WARMUP; i++)
        CC_TRY_OUT(round_trip(r, buffer, bytes, &ignored, e));
    for (size_t i = 0; i < r->job.repeats; i++) {
        const double since = cc_runtime_now();
        CC_TRY_OUT(round_trip(r, buffer, bytes, &send_s[i], e));
        seconds[i] = (cc_runtime_now() - since) / 2;
    }
out:
    free(buffer);
    return status;
}

int cc_rank_pingpong(struct cc_rank *r, struct cc_error *e)
{
    int status = CC_OK;
    const size_t repeats = r->job.repeats;
    double *seconds;
    CC_TRY(CC_NEW(seconds, 2 * repeats, e));
    double *send_s = seconds + repeats;
    for (size_t i = 0; i < r->job.sizes && r->rank < 2; i++) {
        CC_TRY_OUT(measure_size(r, r->job.size[i], seconds, send_s, e));
        const struct cc_report what = {.kind = CC_REPORT_SIZE,
                                       .size = {.bytes = r->job.size[i],
                                                .samples = repeats,
                                                .seconds = seconds,
                                                .send_s = cc_stats_of(send_s, repeats).median}};
        CC_TRY_OUT(cc_rank_report(r, &what, e));
    }
    CC_TRY_OUT(cc_mpi_check(MPI_Barrier(r->comm), "MPI_Barrier", e));
out:
    free(seconds);
    return status;
}
