/* The runtime under a rank: its clock, and how it sleeps, works, waits and shares memory. There are
 * two implementations: processes on real machines (runtime_real.c, in commcomp-rank), and actors
 * that SimGrid simulates (runtime_sim*.c, in commcomp-rank-sim). All other files of
 * netsim/exchange and netsim/rank are the same in both programs.
 *
 * Simulated ranks are threads of control in one process: they share its memory, switch only where
 * they wait, and their clock stands still while they compute. */
#ifndef CC_NETSIM_TRANSPORT_RUNTIME_H
#define CC_NETSIM_TRANSPORT_RUNTIME_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "netsim/transport/mpi.h"

/* Whether ranks are simulated. SMPI's nonblocking collectives are then not the algorithms of the
 * blocking ones: every rank sends everything to every other rank. */
bool cc_runtime_simulates(void);

/* --- the end of a rank --- */

/* Has another process wait for this one, which calls `killed` if a signal ends this one. Called
 * before MPI_Init. A simulation, and a program without mpirun, goes on as it is. */
typedef void cc_killed_report(int rank, size_t process, int signal);
void cc_runtime_watch(cc_killed_report *killed);

/* --- clock --- */

/* Seconds on the rank's clock, of which only differences have a meaning. */
double cc_runtime_now(void);
/* Sleeps for at most that many seconds. */
void cc_runtime_sleep(double seconds);
/* Differences in time below this are taken as none: no clock here resolves them. */
#define CC_INSTANT_S 1e-9

/* --- work --- */

/* As in struct cc_transport_ops. */
struct cc_work_timer cc_runtime_work_begin(size_t values);
double cc_runtime_work_end(struct cc_work_timer since, double cost_s);
double cc_runtime_work_took(struct cc_work_timer since, double now);
/* Whether the processor's clock is read, as it is at first, for work on more than a few values. On
 * a real machine each reading is a system call of half a microsecond, too much where an exchange
 * takes ten, and where a simulation knows what all work costs: without it work_took returns the
 * time on the rank's clock. */
void cc_runtime_read_processor(bool on);

/* --- cores --- */

/* Seconds for which this rank's thread has run, and has been ready to run and waited for a core,
 * since it began; 0 where the kernel does not say, and in a simulation. */
struct cc_core_time {
    double ran_s, waited_s;
};
struct cc_core_time cc_runtime_core_time(void);
/* Seconds for which programs have run on this machine, over all cores, since it started; -1: not
 * known. The kernel counts them by ticks of 10 ms or less. */
double cc_runtime_machine_ran_s(void);

/* --- waiting --- */

/* Prepares for waits with a finite `until`. Takes some (simulated) time itself. */
int cc_waits_open(struct cc_mpi_transport *t, struct cc_error *e);
/* Call it after all requests have been closed. Without waits there is nothing to close. */
void cc_waits_close(struct cc_mpi_transport *t);

/* As in struct cc_transport_ops. */
int cc_runtime_test(struct cc_requests *r, size_t i, bool *over, struct cc_error *e);
int cc_runtime_some(struct cc_requests *r, int *count, int *which, struct cc_error *e);

/* Waits for any request, but no longer than until `until` on the rank's clock (INFINITY: no limit).
 * May return early. The real runtime polls, or, with `yield_when_idle`, sleeps in slices: of the
 * time that is left, or of a small part of the time waited since `since`. */
int cc_runtime_wait(struct cc_mpi_transport *t, bool yield_when_idle, double since, double until,
                    struct cc_error *e);

/* Waits until all ranks of the program have called it. In a simulation they all continue at the
 * same time. */
int cc_runtime_barrier(MPI_Comm comm, bool yield_when_idle, struct cc_error *e);

/* A barrier of ranks that share a clock, after which they continue at the same time, *at. They
 * leave a plain barrier up to a millisecond apart where they share cores; here they agree on a time
 * that is `pause_s` ahead, and sleep until then. */
int cc_runtime_begin(MPI_Comm comm, bool yield_when_idle, double pause_s, double *at,
                     struct cc_error *e);

/* --- memory --- */

/* Counts the ranks that share this one's memory, itself included. */
int cc_runtime_ranks_on_host(MPI_Comm comm, int *out, struct cc_error *e);

/* Memory for the messages of jobs without data: CC_SCRATCH_BYTES of address space that take almost
 * no memory. NULL in the real runtime, where every job has data. */
#define CC_SCRATCH_BYTES ((size_t)1 << 31)
uint8_t *cc_runtime_scratch(void);

/* The process's peak memory since the last call, in bytes; 0: not known. Simulated runtime only,
 * where all ranks share the process. */
size_t cc_runtime_peak_bytes(void);

/* The speed of this rank's host relative to the fastest host of any rank that has called it. */
double cc_runtime_speed(void);

#endif
