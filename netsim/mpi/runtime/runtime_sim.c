/* A world that SimGrid simulates. All ranks are in this process, which smpirun must not privatize
 * (-no-privatize): they share its memory and its globals, and one goes on until it sleeps, waits or
 * calls MPI. Only then does the clock move. */
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <time.h>

#include "netsim/mpi/exchange/exchange.h"
#include "netsim/mpi/runtime/runtime.h"

double cc_runtime_now(void)
{
    return simgrid_get_clock();
}

void cc_runtime_sleep(double seconds)
{
    if (seconds > 0)
        sg_actor_sleep_for(seconds);
}

/* --- work --- */

/* What this thread has really worked; it is only one rank's between two points where ranks wait. */
static double worked(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Whether all of the job's rows say what codecs cost, so that none is timed: to ask for the time is
 * what takes longest otherwise. */
static bool priced;

static void look_at_costs(const struct cc_job *job)
{
    priced = true;
    for (size_t i = 0; i < job->rows; i++)
        priced = priced && job->row[i].cost != NULL;
}

struct cc_work_timer cc_work_begin(void)
{
    return (struct cc_work_timer){.began = cc_runtime_now(), .real = priced ? 0 : worked()};
}

double cc_work_end(struct cc_work_timer since, double cost_s)
{
    cc_runtime_sleep((isnan(cost_s) ? worked() - since.real : cost_s) / cc_runtime_speed());
    return cc_runtime_now();
}

/* Of the ranks' hosts: each rank raises it when it gets the job, and no row begins before all have
 * it. */
static double fastest;

double cc_runtime_speed(void)
{
    const double own = sg_host_get_speed(sg_host_self());
    fastest = fmax(fastest, own); /* nobody has spread a job */
    return own / fastest;
}

/* --- memory --- */

/* How many ranks still have the job. */
static int holders;

/* From rank 0 to each of the others: MPI_Bcast would first let all of them write to all. */
static int tell(MPI_Comm comm, int rank, int ranks, void *what, size_t bytes, struct cc_error *e)
{
    int code = MPI_SUCCESS;
    if (rank != 0)
        code = MPI_Recv(what, (int)bytes, MPI_BYTE, 0, 0, comm, MPI_STATUS_IGNORE);
    for (int i = 1; i < ranks && rank == 0 && code == MPI_SUCCESS; i++)
        code = MPI_Send(what, (int)bytes, MPI_BYTE, i, 0, comm);
    return cc_mpi_check(code, "telling the ranks the job", e);
}

int cc_runtime_broadcast_job(MPI_Comm comm, const char *text, size_t length, struct cc_job *out,
                             struct cc_error *e)
{
    struct {
        struct cc_job job;
        int *holders;
    } what = {.holders = &holders};
    int rank = 0, ranks = 0, status = CC_OK;
    fastest = fmax(fastest, sg_host_get_speed(sg_host_self()));
    if (cc_mpi_check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank", e) != CC_OK ||
        cc_mpi_check(MPI_Comm_size(comm, &ranks), "MPI_Comm_size", e) != CC_OK)
        return CC_FAIL;
    if (rank == 0) {
        status = cc_job_parse(text, length, &what.job, e);
        holders = ranks;
        if (status == CC_OK)
            look_at_costs(&what.job);
    }
    if (status == CC_OK)
        status = tell(comm, rank, ranks, &what, sizeof what, e);
    if (status == CC_OK && what.holders != &holders)
        status = cc_fail(e, "ranks do not share their memory: give smpirun -no-privatize");
    if (status == CC_OK)
        *out = what.job;
    return status;
}

void cc_runtime_free_job(struct cc_job *job)
{
    if (--holders == 0)
        cc_job_free(job);
}

int cc_runtime_ranks_on_host(MPI_Comm comm, int *out, struct cc_error *e)
{
    return cc_mpi_check(MPI_Comm_size(comm, out), "MPI_Comm_size", e);
}

uint8_t *cc_runtime_scratch(void)
{
    static uint8_t *scratch; /* of all ranks */
    if (scratch == NULL)
        scratch = SMPI_SHARED_MALLOC(CC_SCRATCH_BYTES);
    return scratch;
}

size_t cc_runtime_peak_bytes(void)
{
    size_t kib = 0;
    char line[128];
    FILE *f = fopen("/proc/self/status", "r");
    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        if (sscanf(line, "VmHWM: %zu", &kib) == 1)
            break;
    if (f != NULL)
        (void)fclose(f);
    /* From here on, anew. */
    f = fopen("/proc/self/clear_refs", "w");
    if (f != NULL) {
        (void)fputs("5", f);
        (void)fclose(f);
    }
    return 1024 * kib;
}

/* --- the end --- */

/* Nobody's simulation goes on: not when smpirun, a shell script, is killed, nor when whoever
 * listens was gone before this was said. When this program is loaded, and so before any rank
 * begins. */
__attribute__((constructor)) static void end_with_smpirun(void)
{
    struct pollfd out = {.fd = 1};
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (poll(&out, 1, 0) > 0 && (out.revents & POLLERR) != 0)
        (void)raise(SIGKILL);
}
