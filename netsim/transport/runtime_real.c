/* The real runtime: ranks are processes on one machine or several, and time passes by itself. */
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/memory.h"
#include "netsim/transport/mpi_calls.h"
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

/* So few values are added or copied in a few microseconds, by the rank's clock as well as by the
 * processor's, unless another program gets the core meanwhile: what is longer then is not work.
 * (Twice as many values: the readings are a tenth of what a message costs; half as many: overlapped
 * rings of small tensors read the processor's clock as often as others.) */
#define FEW_VALUES    2048
#define LONGEST_FEW_S 50e-6

struct cc_work_timer cc_runtime_work_begin(size_t values)
{
    const bool few = values <= FEW_VALUES;
    return (struct cc_work_timer){.began = cc_now(),
                                  .real = few               ? (double)NAN
                                          : reads_processor ? cc_thread_now()
                                                            : 0};
}

double cc_runtime_work_end(struct cc_work_timer since, double cost_s)
{
    (void)since;
    (void)cost_s;
    return cc_now();
}

double cc_runtime_work_took(struct cc_work_timer since, double now)
{
    if (!reads_processor)
        return now - since.began;
    return isnan(since.real) ? fmin(now - since.began, LONGEST_FEW_S)
                             : cc_thread_now() - since.real;
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

bool cc_runtime_simulates(void)
{
    return false;
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

int cc_runtime_begin(MPI_Comm comm, bool yield_when_idle, double pause_s, double *at,
                     struct cc_error *e)
{
    MPI_Request all;
    double here = cc_now();
    CC_TRY(cc_mpi_check(MPI_Iallreduce(&here, at, 1, MPI_DOUBLE, MPI_MAX, comm, &all),
                        "MPI_Iallreduce", e));
    CC_TRY(finish(&all, yield_when_idle, e));
    *at += pause_s;
    for (double now; (now = cc_now()) < *at;)
        if (yield_when_idle)
            cc_runtime_sleep(*at - now);
    return CC_OK;
}

/* --- memory --- */

int cc_runtime_ranks_on_host(MPI_Comm comm, int *out, struct cc_error *e)
{
    const struct cc_host_id here = cc_host_id_here();
    int ranks = 0, rank = 0;
    CC_TRY(cc_mpi_place(comm, &rank, &ranks, e));
    uint64_t *all;
    CC_TRY(CC_NEW(all, (size_t)ranks, e));
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
