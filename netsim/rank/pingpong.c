/* Ping-pong: measures how long messages of several sizes take, between ranks 0 and 1, or from and
 * to rank 0 and all others at once, which tells apart the rates at which a host sends and receives.
 */
#include <stdlib.h>

#include "core/memory.h"
#include "core/stats.h"
#include "netsim/rank/rank.h"
#include "netsim/transport/mpi_calls.h"

/* Round trips before those that count: connections open, buffers grow. */
enum { WARMUP = 3 };

struct exchange {
    struct cc_rank *r;
    int others;           /* ranks, but for rank 0 */
    uint8_t *buffer;      /* a message; way `in`, rank 0: one of each other rank */
    size_t bytes;         /* of a message */
    MPI_Request *request; /* [2 * others]; rank 0's, unless the way is `pair` */
};

/* *send_s: how long sending took. */
static int round_trip(struct exchange *x, double *send_s, struct cc_error *e)
{
    struct cc_rank *r = x->r;
    for (int i = 0; i < 2; i++) {
        const double since = cc_runtime_now();
        CC_TRY(cc_mpi_move(r->comm, 1 - r->rank, i == r->rank, x->buffer, x->bytes, MPI_BYTE, e));
        if (i == r->rank)
            *send_s = cc_runtime_now() - since;
    }
    return CC_OK;
}

/* Rank 0 sends `sent` bytes to each other rank and receives `got` bytes from each, all at once. */
static int with_all(struct exchange *x, size_t sent, size_t got, double *send_s, struct cc_error *e)
{
    const MPI_Comm comm = x->r->comm;
    int out, in;
    CC_TRY(cc_mpi_count(sent, &out, e));
    CC_TRY(cc_mpi_count(got, &in, e));
    for (int i = 0; i < x->others; i++)
        CC_TRY(cc_mpi_check(
            MPI_Irecv(x->buffer + (size_t)i * got, in, MPI_BYTE, i + 1, 0, comm, &x->request[i]),
            "MPI_Irecv", e));
    const double since = cc_runtime_now();
    for (int i = 0; i < x->others; i++)
        CC_TRY(cc_mpi_check(
            MPI_Isend(x->buffer, out, MPI_BYTE, i + 1, 0, comm, &x->request[x->others + i]),
            "MPI_Isend", e));
    *send_s = (cc_runtime_now() - since) / x->others;
    return cc_mpi_check(MPI_Waitall(2 * x->others, x->request, MPI_STATUSES_IGNORE), "MPI_Waitall",
                        e);
}

/* One exchange by the job's way. */
static int exchange(struct exchange *x, double *send_s, struct cc_error *e)
{
    struct cc_rank *r = x->r;
    if (r->job.way == CC_WAY_PAIR)
        return round_trip(x, send_s, e);
    const size_t out = r->job.way == CC_WAY_OUT ? x->bytes : 0, in = x->bytes - out;
    if (r->rank == 0)
        return with_all(x, out, in, send_s, e);
    CC_TRY(cc_mpi_move(r->comm, 0, false, x->buffer, out, MPI_BYTE, e));
    return cc_mpi_move(r->comm, 0, true, x->buffer, in, MPI_BYTE, e);
}

/* Times the exchanges of one size. No barrier before: a part of it would be in the first one. */
static int measure_size(struct exchange *x, double *seconds, double *send_s, struct cc_error *e)
{
    const struct cc_job *job = &x->r->job;
    const double trips = job->way == CC_WAY_PAIR ? 2 : 1;
    const bool all = job->way == CC_WAY_IN && x->r->rank == 0;
    int status = CC_OK;
    double ignored;
    CC_TRY(CC_NEW(x->buffer, x->bytes * (all ? (size_t)x->others : 1), e));
    for (int i = 0; i < WARMUP; i++)
        CC_TRY_OUT(exchange(x, &ignored, e));
    for (size_t i = 0; i < job->repeats; i++) {
        const double since = cc_runtime_now();
        CC_TRY_OUT(exchange(x, &send_s[i], e));
        seconds[i] = (cc_runtime_now() - since) / trips;
    }
out:
    free(x->buffer);
    return status;
}

int cc_rank_pingpong(struct cc_rank *r, struct cc_error *e)
{
    const bool all = r->job.way != CC_WAY_PAIR;
    struct exchange x = {.r = r, .others = r->job.workers - 1};
    int status = CC_OK;
    const size_t repeats = r->job.repeats;
    double *seconds;
    CC_TRY(CC_NEW(seconds, 2 * repeats, e));
    double *send_s = seconds + repeats;
    CC_TRY_OUT(CC_NEW(x.request, 2 * (size_t)x.others, e));
    for (size_t i = 0; i < r->job.sizes && (all || r->rank < 2); i++) {
        x.bytes = r->job.size[i];
        CC_TRY_OUT(measure_size(&x, seconds, send_s, e));
        const struct cc_report what = {.kind = CC_REPORT_SIZE,
                                       .size = {.bytes = r->job.size[i],
                                                .samples = repeats,
                                                .seconds = seconds,
                                                .send_s = cc_stats_of(send_s, repeats).median}};
        CC_TRY_OUT(cc_rank_report(r, &what, e));
    }
    CC_TRY_OUT(cc_mpi_check(MPI_Barrier(r->comm), "MPI_Barrier", e));
out:
    free(x.request);
    free(seconds);
    return status;
}
