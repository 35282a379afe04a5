/* The real runtime: ranks are processes on one machine or several, and time passes by itself. */
#include <math.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/memory.h"
#include "netsim/job/job.h"
#include "netsim/transport/host_id.h"
#include "netsim/transport/mpi_check.h"
#include "netsim/transport/runtime.h"

double cc_runtime_now(void)
{
    return cc_now();
}

void cc_runtime_sleep(double seconds)
{
    usleep((useconds_t)ceil(1e6 * fmin(seconds, 0.5)));
}

/* --- work --- */

static bool reads_processor = true;

void cc_runtime_read_processor(bool on)
{
    reads_processor = on;
}

static double processor_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

struct cc_work_timer cc_runtime_work_begin(void)
{
    return (struct cc_work_timer){.began = cc_now(), .real = reads_processor ? processor_s() : 0};
}

double cc_runtime_work_end(struct cc_work_timer since, double cost_s)
{
    (void)since;
    (void)cost_s;
    return cc_now();
}

double cc_runtime_work_took(struct cc_work_timer since, double now)
{
    return reads_processor ? processor_s() - since.real : now - since.began;
}

double cc_runtime_speed(void)
{
    return 1;
}

/* --- waiting --- */

int cc_waits_open(struct cc_mpi_transport *t, struct cc_error *e)
{
    (void)t;
    (void)e;
    return CC_OK;
}

void cc_waits_close(struct cc_mpi_transport *t)
{
    (void)t;
}

int cc_runtime_test(struct cc_requests *r, size_t i, bool *over, struct cc_error *e)
{
    int flag = 0;
    const struct cc_mpi_requests *m = cc_mpi_requests(r);
    int code = MPI_Test(&m->request[i], &flag, &m->status[i]);
    *over = flag != 0;
    return cc_mpi_check(code, "MPI_Test", e);
}

int cc_runtime_some(struct cc_requests *r, int *count, int *which, struct cc_error *e)
{
    const struct cc_mpi_requests *m = cc_mpi_requests(r);
    int code = MPI_Testsome((int)r->count, m->request, count, which, m->status);
    if (*count == MPI_UNDEFINED)
        *count = 0;
    return cc_mpi_check(code, "MPI_Testsome", e);
}

/* Limits of one sleep while cores are scarce and messages are under way. The longest is short
 * enough for socket buffers to hold what arrives meanwhile. A rank that only waits sleeps for a
 * 32nd of its wait so far, which lengthens the wait by 3% at most. */
#define LONGEST_SLEEP_S  200e-6
#define SHORTEST_SLEEP_S 10e-6

int cc_runtime_wait(struct cc_mpi_transport *t, bool yield_when_idle, double since, double until,
                    struct cc_error *e)
{
    (void)t;
    (void)e;
    if (!yield_when_idle)
        return CC_OK;
    const double now = cc_now();
    if (isfinite(until))
        cc_runtime_sleep(fmax(0, fmin(LONGEST_SLEEP_S, until - now)));
    else
        usleep(
            (useconds_t)(1e6 * fmin(LONGEST_SLEEP_S, fmax(SHORTEST_SLEEP_S, (now - since) / 32))));
    return CC_OK;
}

bool cc_runtime_collectives(void)
{
    return true;
}

/* Waits for a collective operation that has begun. */
static int finish(MPI_Request *all, bool yield_when_idle, struct cc_error *e)
{
    const double since = cc_now();
    int here = 0;
    for (;;) {
        CC_TRY(cc_mpi_check(MPI_Test(all, &here, MPI_STATUS_IGNORE), "MPI_Test", e));
        if (here)
            return CC_OK;
        CC_TRY(cc_runtime_wait(NULL, yield_when_idle, since, (double)INFINITY, e));
    }
}

int cc_runtime_barrier(MPI_Comm comm, bool yield_when_idle, struct cc_error *e)
{
    MPI_Request all;
    /* MPI_Barrier, which polls, lets ranks go within a microsecond of each other; MPI_Ibarrier and
     * MPI_Test do not. */
    if (!yield_when_idle)
        return cc_mpi_check(MPI_Barrier(comm), "MPI_Barrier", e);
    CC_TRY(cc_mpi_check(MPI_Ibarrier(comm, &all), "MPI_Ibarrier", e));
    return finish(&all, yield_when_idle, e);
}

int cc_runtime_begin(MPI_Comm comm, bool yield_when_idle, bool one_clock, double *at,
                     struct cc_error *e)
{
    MPI_Request all;
    double here = cc_now();
    if (!one_clock) {
        CC_TRY(cc_runtime_barrier(comm, yield_when_idle, e));
        *at = cc_now();
        return CC_OK;
    }
    CC_TRY(cc_mpi_check(MPI_Iallreduce(&here, at, 1, MPI_DOUBLE, MPI_MAX, comm, &all),
                        "MPI_Iallreduce", e));
    CC_TRY(finish(&all, yield_when_idle, e));
    *at += CC_JOB_PAUSE_S;
    for (double now; (now = cc_now()) < *at;)
        if (yield_when_idle)
            cc_runtime_sleep(*at - now);
    return CC_OK;
}

/* --- memory --- */

int cc_runtime_broadcast_job(MPI_Comm comm, const char *text, size_t length, struct cc_job *out,
                             struct cc_size_index ***sizes, struct cc_error *e)
{
    uint64_t bytes = length;
    *sizes = NULL; /* jobs without data run in simulations only */
    char *received = NULL;
    int rank = 0, status = CC_OK;
    CC_TRY(cc_mpi_check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank", e));
    CC_TRY(cc_mpi_check(MPI_Bcast(&bytes, 1, MPI_UINT64_T, 0, comm), "MPI_Bcast", e));
    if (rank != 0) {
        received = cc_alloc(bytes, e);
        if (received == NULL)
            return CC_FAIL;
    }
    void *buffer = rank != 0 ? received : (void *)text;
    CC_TRY_OUT(cc_mpi_check(MPI_Bcast(buffer, (int)bytes, MPI_BYTE, 0, comm), "MPI_Bcast", e));
    CC_TRY_OUT(cc_job_parse(buffer, (size_t)bytes, out, e));
    status = cc_job_schemes_add(out, e);
    if (status != CC_OK)
        cc_job_free(out);
out:
    free(received);
    return status;
}

void cc_runtime_free_job(struct cc_job *job, struct cc_size_index **sizes)
{
    cc_size_indexes_free(sizes, job->rows);
    cc_job_free(job);
}

int cc_runtime_ranks_on_host(MPI_Comm comm, int *out, struct cc_error *e)
{
    const struct cc_host_id here = cc_host_id_here();
    int ranks = 0, rank = 0;
    CC_TRY(cc_mpi_check(MPI_Comm_size(comm, &ranks), "MPI_Comm_size", e));
    CC_TRY(cc_mpi_check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank", e));
    uint64_t *all = cc_alloc((size_t)ranks * sizeof *all, e);
    if (all == NULL)
        return CC_FAIL;
    int code = MPI_Allgather(&here.machine, 1, MPI_UINT64_T, all, 1, MPI_UINT64_T, comm);
    *out = 1;
    for (int i = 0; code == MPI_SUCCESS && i < ranks; i++)
        *out += i != rank && all[i] == here.machine;
    free(all);
    return cc_mpi_check(code, "MPI_Allgather", e);
}

uint8_t *cc_runtime_scratch(void)
{
    return NULL;
}

size_t cc_runtime_peak_bytes(void)
{
    return 0;
}
