/* commcomp-rank: one rank of a run, and the guard of an interface that a rank shapes. The same
 * source, built with smpicc, is commcomp-rank-sim. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "core/interrupt.h"
#include "core/isa.h"
#include "core/trace/trace_decoder.h"
#include "netsim/lab/shape.h"
#include "netsim/rank/rank.h"
#include "netsim/transport/runtime.h"
#include "schemes/plugin_call.h"
#include "schemes/unpack.h"

static int run(MPI_Comm comm, const char *path, size_t *step, struct cc_error *e)
{
    struct cc_rank r;
    CC_TRY(cc_isa_init(e));
    /* MPI's errors are returned, so that the message can name the rank. */
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    int status = cc_rank_open(&r, comm, path, stdout, e);
    if (status == CC_OK)
        status = cc_rank_run(&r, e);
    *step = r.step;
    cc_rank_close(&r);
    return status;
}

/* Prints the error on this rank's own stdout, not through rank 0, which may be stuck. */
static void report_error(MPI_Comm comm, int status, size_t step, const struct cc_error *e)
{
    struct cc_report report = {.kind = CC_REPORT_ERROR,
                               .text = (char *)e->text,
                               .diverged = status == CC_DIVERGED,
                               .step = status == CC_DIVERGED ? step : 0};
    struct cc_error ignored;
    (void)MPI_Comm_rank(comm, &report.rank);
    (void)cc_report_print(&report, stdout, &ignored);
}

/* By the process that has waited for this one. */
static void report_killed(int rank, size_t process, int signal)
{
    char host[256] = "";
    struct cc_error ignored;
    (void)gethostname(host, sizeof host - 1);
    const struct cc_report report = {
        .kind = CC_REPORT_KILLED,
        .killed = {.host = host, .process = process, .rank = rank, .signal = signal}};
    (void)cc_report_print(&report, stdout, &ignored);
}

/* Has Open MPI send and receive over one of several interfaces of this host: the ranks of a host
 * use them in turn. */
static void choose_device(void)
{
    const char *list = getenv("OMPI_MCA_" CC_RANK_DEVICES),
               *place = getenv("OMPI_COMM_WORLD_LOCAL_RANK");
    char device[64];
    if (list == NULL || place == NULL)
        return;
    long nics = 1;
    for (const char *at = list; (at = strchr(at, ',')) != NULL; at++)
        nics++;
    for (long i = strtol(place, NULL, 10) % nics; i > 0; i--)
        list = strchr(list, ',') + 1;
    (void)snprintf(device, sizeof device, "%.*s", (int)strcspn(list, ","), list);
    (void)setenv("OMPI_MCA_btl_tcp_if_include", device, 1);
}

int main(int argc, char **argv)
{
    struct cc_error e = {""};
    cc_signals_of_writes(SIG_IGN);
    cc_trace_decode_by(cc_unpack);
    if (cc_runtime_simulates())
        cc_plugin_unwatched();
    /* Started by a rank (netsim/lab/shape.h). */
    if (argc > 1 && strcmp(argv[1], "--shape") == 0)
        return cc_shape_guard(argv + 2);
    if (argc != 2) {
        fprintf(stderr, "usage: commcomp-rank JOB\n"
                        "`commcomp run` starts it with mpirun; docs/job.md describes jobs\n");
        return CC_USAGE;
    }
    choose_device();
    cc_runtime_watch(report_killed);
    /* Sleeps end on time; by default up to 50 us late. */
    (void)prctl(PR_SET_TIMERSLACK, 1UL);
    if (MPI_Init(&argc, &argv) != MPI_SUCCESS)
        return CC_FAIL;
    size_t step = 0;
    int status = run(MPI_COMM_WORLD, argv[1], &step, &e);
    if (status != CC_OK) {
        report_error(MPI_COMM_WORLD, status, step, &e);
        MPI_Abort(MPI_COMM_WORLD, CC_FAIL);
    }
    MPI_Finalize();
    return status;
}
