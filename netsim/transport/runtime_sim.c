/* The simulated runtime: SimGrid's clock, work and memory. All ranks are in one process, which
 * smpirun must not privatize (-no-privatize): they share its memory and its globals. A rank runs
 * until it sleeps, waits or calls MPI; only then does the clock advance. */
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <time.h>

#include "netsim/job/job.h"
#include "netsim/transport/mpi_check.h"
#include "netsim/transport/runtime.h"

void cc_runtime_watch(void)
{
}

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

/* Processor time of this thread. Between two points where ranks wait, one rank has used all of it.
 */
static double processor_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Whether every row of the job gives the cost of its codecs. No work is timed then: reading the
 * processor's clock would dominate the simulation's own time. */
static bool costs_known;

static void find_costs_known(const struct cc_job *job)
{
    costs_known = true;
    for (size_t i = 0; i < job->rows; i++)
        costs_known = costs_known && job->row[i].cost != NULL;
}

struct cc_work_timer cc_runtime_work_begin(void)
{
    return (struct cc_work_timer){.began = cc_runtime_now(),
                                  .real = costs_known ? 0 : processor_s()};
}

double cc_runtime_work_end(struct cc_work_timer since, double cost_s)
{
    if (isnan(cost_s)) /* not timed where rows have their costs: `since` has no time then */
        cost_s = costs_known ? 0 : processor_s() - since.real;
    cc_runtime_sleep(cost_s / cc_runtime_speed());
    return cc_runtime_now();
}

void cc_runtime_read_processor(bool on)
{
    (void)on;
}

double cc_runtime_work_took(struct cc_work_timer since, double now)
{
    return now - since.began;
}

/* Speed of the fastest host that a rank is on. Each rank raises it when it gets the job, and no row
 * begins before all ranks have the job. */
static double fastest;

double cc_runtime_speed(void)
{
    const double own = sg_host_get_speed(sg_host_self());
    fastest = fmax(fastest, own); /* for tests, which broadcast no job */
    return own / fastest;
}

/* --- memory --- */

/* The job and the size indexes of its rows, which all ranks share, and how many ranks still use
 * them. */
static struct cc_job shared_job;
static struct cc_size_index **shared_sizes;
static int job_users;

/* The message that tells a rank that the job is there. Its size is fixed, so that the clock, and
 * with it the last digits of all times, do not depend on the fields of a job. */
struct job_message {
    int *users; /* &job_users: tells whether ranks share their globals */
    char padding[264 - sizeof(int *)];
};

/* Sends the same bytes from rank 0 to each other rank. Not MPI_Bcast: SMPI would let every pair of
 * ranks communicate first. */
static int send_to_all(MPI_Comm comm, int rank, int ranks, void *what, size_t bytes,
                       struct cc_error *e)
{
    int code = MPI_SUCCESS;
    if (rank != 0)
        code = MPI_Recv(what, (int)bytes, MPI_BYTE, 0, 0, comm, MPI_STATUS_IGNORE);
    for (int i = 1; i < ranks && rank == 0 && code == MPI_SUCCESS; i++)
        code = MPI_Send(what, (int)bytes, MPI_BYTE, i, 0, comm);
    return cc_mpi_check(code, "sending the job to the ranks", e);
}

int cc_runtime_broadcast_job(MPI_Comm comm, const char *text, size_t length, struct cc_job *out,
                             struct cc_size_index ***sizes, struct cc_error *e)
{
    struct job_message message = {.users = &job_users};
    int rank = 0, ranks = 0;
    fastest = fmax(fastest, sg_host_get_speed(sg_host_self()));
    CC_TRY(cc_mpi_check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank", e));
    CC_TRY(cc_mpi_check(MPI_Comm_size(comm, &ranks), "MPI_Comm_size", e));
    if (rank == 0) {
        job_users = ranks;
        CC_TRY(cc_job_parse(text, length, &shared_job, e));
        if (cc_job_schemes_add(&shared_job, e) != CC_OK ||
            cc_size_indexes_make(&shared_job, &shared_sizes, e) != CC_OK) {
            cc_job_free(&shared_job);
            return CC_FAIL;
        }
        find_costs_known(&shared_job);
    }
    CC_TRY(send_to_all(comm, rank, ranks, &message, sizeof message, e));
    if (message.users != &job_users)
        return cc_fail(e, "ranks do not share their memory: give smpirun -no-privatize");
    *out = shared_job;
    *sizes = shared_sizes;
    return CC_OK;
}

void cc_runtime_free_job(struct cc_job *job, struct cc_size_index **sizes)
{
    if (--job_users > 0)
        return;
    cc_size_indexes_free(sizes, job->rows);
    cc_job_free(job);
}

int cc_runtime_ranks_on_host(MPI_Comm comm, int *out, struct cc_error *e)
{
    return cc_mpi_check(MPI_Comm_size(comm, out), "MPI_Comm_size", e);
}

uint8_t *cc_runtime_scratch(void)
{
    static uint8_t *scratch; /* shared by all ranks */
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
    /* "5" resets the kernel's peak. */
    f = fopen("/proc/self/clear_refs", "w");
    if (f != NULL) {
        (void)fputs("5", f);
        (void)fclose(f);
    }
    return 1024 * kib;
}

/* --- the end --- */

/* Ends the simulation with smpirun, a shell script: the kernel kills this process when its parent
 * dies, and it kills itself if the reader of its output had gone before that was arranged. Runs
 * when the program is loaded, before any rank begins. */
__attribute__((constructor)) static void end_with_smpirun(void)
{
    struct pollfd out = {.fd = 1};
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (poll(&out, 1, 0) > 0 && (out.revents & POLLERR) != 0)
        (void)raise(SIGKILL);
}
