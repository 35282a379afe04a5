/* commcomp-rank: one rank of a run. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "core/isa.h"
#include "netsim/mpi/rank/rank.h"
#include "netsim/lab/shape.h"

static int run(MPI_Comm comm, const char *path, struct cc_error *e)
{
    struct cc_rank r;
    int status = cc_isa_init(e);
    if (status != CC_OK)
        return status;
    /* What goes wrong in MPI comes back as a status, so that it can be said by whom. */
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    status = cc_rank_open(&r, comm, path, stdout, e);
    if (status == CC_OK)
        status = cc_rank_run(&r, e);
    cc_rank_close(&r);
    return status;
}

/* By the rank itself: whoever it would have to send it to may be stuck. */
static void complain(MPI_Comm comm, const struct cc_error *e)
{
    struct cc_report what = {.kind = CC_REPORT_ERROR, .text = (char *)e->text};
    struct cc_error ignored;
    (void)MPI_Comm_rank(comm, &what.rank);
    (void)cc_report_print(&what, stdout, &ignored);
}

int main(int argc, char **argv)
{
    struct cc_error e = {""};
    /* The guard of a shaped interface, started by one of the ranks. */
    if (argc > 1 && strcmp(argv[1], "--shape") == 0)
        return cc_shape_guard(argv + 2);
    if (argc != 2) {
        fprintf(stderr, "usage: commcomp-rank JOB\n"
                        "`commcomp run` starts it by mpirun; docs/job.md says what a job is\n");
        return CC_USAGE;
    }
    /* Naps end when they should, not up to 50 us later. */
    (void)prctl(PR_SET_TIMERSLACK, 1UL);
    if (MPI_Init(&argc, &argv) != MPI_SUCCESS)
        return CC_FAIL;
    int status = run(MPI_COMM_WORLD, argv[1], &e);
    if (status != CC_OK) {
        complain(MPI_COMM_WORLD, &e);
        MPI_Abort(MPI_COMM_WORLD, CC_FAIL);
    }
    MPI_Finalize();
    return status;
}
