#include "tests/mpi/rest.h"

#include <math.h>
#include <stdio.h>

#include "core/clock.h"
#include "netsim/transport/runtime.h"

static void check(int status, int rank, const struct cc_error *e)
{
    if (status == CC_OK)
        return;
    fprintf(stderr, "rank %d: %s\n", rank, e->text);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

void rest(struct cc_rank_state *s, double until)
{
    struct cc_error e = {""};
    check(cc_runtime_wait(cc_mpi_of(s->transport), true, cc_now(), until, &e), s->rank, &e);
}

/* Waits for a collective operation, as rest() does. */
static void finish(MPI_Request *all)
{
    const double since = cc_now();
    struct cc_error e = {""};
    for (int over = 0; !over; MPI_Test(all, &over, MPI_STATUS_IGNORE))
        check(cc_runtime_wait(NULL, true, since, (double)INFINITY, &e), 0, &e);
}

void rest_bcast(void *data, size_t bytes, MPI_Comm comm)
{
    MPI_Request all;
    if (cc_runtime_simulates()) {
        MPI_Bcast(data, (int)bytes, MPI_BYTE, 0, comm);
        return;
    }
    MPI_Ibcast(data, (int)bytes, MPI_BYTE, 0, comm, &all);
    finish(&all);
}

void rest_sum(void *sum, int count, MPI_Datatype type, MPI_Comm comm)
{
    MPI_Request all;
    if (cc_runtime_simulates()) {
        MPI_Allreduce(MPI_IN_PLACE, sum, count, type, MPI_SUM, comm);
        return;
    }
    MPI_Iallreduce(MPI_IN_PLACE, sum, count, type, MPI_SUM, comm, &all);
    finish(&all);
}
