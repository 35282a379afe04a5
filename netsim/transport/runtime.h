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
#include "netsim/job/job.h"
#include "netsim/exchange/pack/size_index.h"

/* --- the end of a rank --- */

/* Has another process wait for this one, which says so if a signal ends this one (a report of kind
 * `killed`). Called before MPI_Init. A simulation, and a program without mpirun, goes on as it is.
 */
void cc_runtime_watch(void);

/* --- clock --- */

/* Seconds on the rank's clock, which only differences of have a meaning. */
double cc_runtime_now(void);
/* Sleeps for at most that many seconds. */
void cc_runtime_sleep(double seconds);
/* Differences in time below this are taken as none: no clock here resolves them. */
#define CC_INSTANT_S 1e-9

/* --- work --- */

/* Times codec work, or the adding of floats. */
struct cc_work_timer {
    double began; /* on the rank's clock */
    double real;  /* on the processor's clock */
};

struct cc_work_timer cc_work_begin(void);
/* Ends the work and returns the time on the rank's clock. On a real machine the clock has advanced
 * by itself. A simulation advances it now, by `cost_s` seconds of the fastest host, or, if that is
 * NAN (the cost is not known), by the processor time that the work really took; by nothing where
 * every row of the job gives its costs. */
double cc_work_end(struct cc_work_timer since, double cost_s);
/* The seconds of work that ended at `now`, as cc_work_end returned it. On a real machine they are
 * the processor time of this thread: ranks or programs that share the core do not lengthen them. */
double cc_work_took(struct cc_work_timer since, double now);
/* Whether the processor's clock is read, as it is at first. On a real machine each reading is a
 * system call of half a microsecond, too much where an exchange takes ten: without it cc_work_took
 * returns the time on the rank's clock. A simulation always reads it. */
void cc_work_read_processor(bool on);

/* --- waiting --- */

/* An array of requests with one owner, for instance a message's blocks. It is linked into struct
 * cc_waits, so it must stay in place until it is closed. Use the functions below to test the
 * requests, never MPI's: a wait of any owner may already have completed some. */
struct cc_requests {
    MPI_Request *request;
    MPI_Status *status; /* of the requests that are complete */
    bool *over;         /* complete, but not yet reported; simulated runtime only */
    size_t count;
    struct cc_waits *waits;
    struct cc_requests *next;
};

/* All requests that a rank has under way. All zeros: none. */
struct cc_waits {
    struct cc_requests *first;
    bool more;           /* an owner can go on without waiting: the next wait returns at once */
    struct timer *timer; /* limits how long a wait takes; simulated runtime only */
};

/* Prepares for waits with a finite `until`. Takes some (simulated) time itself. */
int cc_waits_open(struct cc_waits *w, struct cc_error *e);
/* Call it after all requests have been closed. All zeros are nothing to close. */
void cc_waits_close(struct cc_waits *w);

/* Allocates `count` requests, all MPI_REQUEST_NULL, and links them into *w. Close them with
 * cc_requests_close, which cancels those that are still under way. All zeros are nothing to close.
 */
int cc_requests_open(struct cc_waits *w, size_t count, struct cc_requests *out, struct cc_error *e);
void cc_requests_close(struct cc_requests *r);

/* Whether request i is complete. On completion its status[] is filled in and the request becomes
 * MPI_REQUEST_NULL; a request that is MPI_REQUEST_NULL counts as complete. */
int cc_requests_test(struct cc_requests *r, size_t i, bool *over, struct cc_error *e);
/* Reports each completed request once: *count indices in which[], which has room for all; status[k]
 * belongs to which[k]. */
int cc_requests_some(struct cc_requests *r, int *count, int *which, struct cc_error *e);

/* Waits for any request, but no longer than until `until` on the rank's clock (INFINITY: no limit).
 * May return early. The real runtime polls, or, with `yield_when_idle`, sleeps in slices: of the
 * time that is left, or of a small part of the time waited since `since`. */
int cc_runtime_wait(struct cc_waits *w, bool yield_when_idle, double since, double until,
                    struct cc_error *e);

/* Whether MPI's nonblocking collectives use the same algorithms as the blocking ones. SMPI's do
 * not: there every rank sends everything to every other rank. */
bool cc_runtime_collectives(void);

/* Waits until all ranks of the program have called it. In a simulation they all continue at the
 * same time. */
int cc_runtime_barrier(MPI_Comm comm, bool yield_when_idle, struct cc_error *e);

/* A barrier after which all ranks continue at the same time, *at on their clocks. Ranks leave a
 * plain barrier up to a millisecond apart where they share cores; here they agree on a time that is
 * CC_JOB_PAUSE_S ahead, and sleep until then. Without `one_clock` (ranks on several machines, whose
 * clocks differ) it is the plain barrier. */
int cc_runtime_begin(MPI_Comm comm, bool yield_when_idle, bool one_clock, double *at,
                     struct cc_error *e);

/* --- memory --- */

/* Sends the job from rank 0, which has read its text, to the other ranks, and makes the size
 * indexes of its rows (NULL if the job has data). Simulated ranks share one copy of both. Free them
 * with cc_runtime_free_job. */
int cc_runtime_broadcast_job(MPI_Comm comm, const char *text, size_t length, struct cc_job *out,
                             struct cc_size_index ***sizes, struct cc_error *e);
void cc_runtime_free_job(struct cc_job *job, struct cc_size_index **sizes);

/* Counts the ranks that share this one's memory, itself included. */
int cc_runtime_ranks_on_host(MPI_Comm comm, int *out, struct cc_error *e);

/* Memory for the messages of jobs without data: CC_SCRATCH_BYTES of address space that take almost
 * no memory. NULL in the real runtime, where every job has data. */
#define CC_SCRATCH_BYTES ((size_t)1 << 31)
uint8_t *cc_runtime_scratch(void);

/* The process's peak memory since the last call, in bytes; 0: not known. Simulated runtime only,
 * where all ranks share the process. */
size_t cc_runtime_peak_bytes(void);

/* The speed of this rank's host relative to the fastest host of any rank. Valid once every rank has
 * the job and all have passed a barrier. */
double cc_runtime_speed(void);

#endif
