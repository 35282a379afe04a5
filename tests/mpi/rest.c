#include "tests/mpi/rest.h"

#include <sched.h>
#include <stdio.h>

#include "netsim/transport/runtime.h"

void rest(struct cc_rank_state *s, double until)
{
    struct cc_error e = {""};
    (void)sched_yield();
    if (cc_runtime_wait(cc_mpi_of(s->transport), false, 0, until, &e) == CC_OK)
        return;
    fprintf(stderr, "rank %d: %s\n", s->rank, e.text);
    MPI_Abort(MPI_COMM_WORLD, 1);
}
