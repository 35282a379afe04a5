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

#include "core/clock.h"
#include "core/memory.h"
#include "netsim/transport/mpi_calls.h"
#include "netsim/transport/runtime.h"

void cc_runtime_watch(cc_killed_report *killed)
{
    (void)killed;
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

/* Work is timed by this thread's processor time: between two points where ranks wait, one rank has
 * used all of it. */

static bool reads_processor = true;

void cc_runtime_read_processor(bool on)
{
    reads_processor = on;
}

struct cc_work_timer cc_runtime_work_begin(size_t values)
{
    (void)values; /* the clock stands still: only the processor's tells what the work takes */
    return (struct cc_work_timer){.began = cc_runtime_now(),
                                  .real = reads_processor ? cc_thread_now() : 0};
}

double cc_runtime_work_end(struct cc_work_timer since, double cost_s)
{
    if (isnan(cost_s))
        cost_s = reads_processor ? cc_thread_now() - since.real : 0;
    cc_runtime_sleep(cost_s / cc_runtime_speed());
    return cc_runtime_now();
}

double cc_runtime_work_took(struct cc_work_timer since, double now)
{
    return now - since.began;
}

/* That of the fastest host that a rank is on, of those that have asked for their speed. */
static double fastest;

double cc_runtime_speed(void)
{
    const double own = sg_host_get_speed(sg_host_self());
    fastest = fmax(fastest, own);
    return own / fastest;
}

/* --- cores --- */

struct cc_core_time cc_runtime_core_time(void)
{
    return (struct cc_core_time){0};
}

double cc_runtime_machine_ran_s(void)
{
    return -1;
}

/* --- memory --- */

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
    const size_t kib = cc_memory_counter("/proc/self/status", "VmHWM:", 0);
    /* "5" resets the kernel's peak. */
    FILE *f = fopen("/proc/self/clear_refs", "w");
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
