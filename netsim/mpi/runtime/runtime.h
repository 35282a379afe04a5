/* The world that a rank lives in: its clock, how it sleeps, computes and waits. There are two: this
 * machine (world/real.c, in commcomp-rank), and one that SimGrid simulates (world/sim.c, in
 * commcomp-rank-sim). All other files of netsim/mpi are the same in both.
 *
 * In the simulated one all ranks are in one process, take turns at points where they wait, and
 * share its memory; its clock stands still while they compute. */
#ifndef CC_NETSIM_MPI_RUNTIME_RUNTIME_H
#define CC_NETSIM_MPI_RUNTIME_RUNTIME_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "netsim/job/job.h"

/* Seconds on the rank's clock. */
double cc_runtime_now(void);
/* So long, or less. */
void cc_runtime_sleep(double seconds);
/* Less time than this is none: no clock here can tell. */
#define CC_INSTANT_S 1e-9

/* --- work --- */

/* A stretch of codec work, or of adding floats. */
struct cc_work_timer {
    double began; /* on the rank's clock */
    double real;  /* on the processor's; the simulated world's own business */
};

struct cc_work_timer cc_work_begin(void);
/* The work is done. On this machine the clock has gone on meanwhile. In a simulation it now goes
 * on: by `cost_s`, which is what it takes on the fastest host, or, if that is NAN (nobody has said
 * what such work costs), by what it really took. Returns now. */
double cc_work_end(struct cc_work_timer since, double cost_s);

/* --- waiting --- */

/* Requests that somebody on this rank has under way: an array, kept where it is until it is
 * dropped. Test them with the functions below only: who waits for anything at all may have found
 * some complete. */
struct cc_requests {
    MPI_Request *request;
    MPI_Status *status; /* of those that are complete */
    bool *over;         /* complete, and not told yet; the simulated world's */
    size_t count;
    struct cc_waits *waits;
    struct cc_requests *next;
};

/* What a rank has under way, all together. All zeros: nothing. */
struct cc_waits {
    struct cc_requests *first;
    bool more;           /* somebody can go on by itself: the next wait comes back at once */
    struct timer *timer; /* the simulated world's: what ends a wait in time */
};

/* For ranks that wait for some time: makes the timer. It may take time itself. */
int cc_waits_open(struct cc_waits *w, struct cc_error *e);
/* After all its requests. */
void cc_waits_close(struct cc_waits *w);

/* Makes the arrays, of MPI_REQUEST_NULL, and adds them. Free with cc_requests_close, which cancels
 * what is still under way; all zeros are nothing to free. */
int cc_requests_open(struct cc_waits *w, size_t count, struct cc_requests *out, struct cc_error *e);
void cc_requests_close(struct cc_requests *r);

/* Whether request i is complete: told once, and then its status[] is filled in and it is
 * MPI_REQUEST_NULL. One that is MPI_REQUEST_NULL and was told is complete too. */
int cc_requests_test(struct cc_requests *r, size_t i, bool *over, struct cc_error *e);
/* Those of all that are complete: *count of them in which[], which has room for all; status[k] is
 * that of which[k]. */
int cc_requests_some(struct cc_requests *r, int *count, int *which, struct cc_error *e);

/* Waits for any request, at most until `until` (on the rank's clock; INFINITY: however long it
 * takes). On this machine it polls, or, if `nap`, sleeps in slices: of the time that is left, or a
 * small part of the time waited so far. It may come back at any time. `since`: when the wait began.
 */
int cc_runtime_wait(struct cc_waits *w, bool yield_when_idle, double since, double until,
                    struct cc_error *e);

/* Whether MPI's collectives that do not block are as good as those that do. SMPI's are not: every
 * rank sends all to all others. */
bool cc_runtime_collectives(void);

/* Until all ranks are here, all of the program's. In a simulation all go on at the same time. */
int cc_runtime_barrier(MPI_Comm comm, bool yield_when_idle, struct cc_error *e);

/* --- memory --- */

/* The job from rank 0, which has read its text, to all others. In a simulation they share it. */
int cc_runtime_broadcast_job(MPI_Comm comm, const char *text, size_t length, struct cc_job *out,
                             struct cc_error *e);
void cc_runtime_free_job(struct cc_job *job);

/* How many ranks share this one's memory, itself included. */
int cc_runtime_ranks_on_host(MPI_Comm comm, int *out, struct cc_error *e);

/* Where bytes come from and go to that nobody looks at (jobs without data): CC_SCRATCH_BYTES which
 * take no memory. NULL on this machine, where there are no such jobs. */
#define CC_SCRATCH_BYTES ((size_t)1 << 31)
uint8_t *cc_runtime_scratch(void);

/* The most memory that the process has had since the last call; 0: not known. The simulated world
 * only: its ranks share it. */
size_t cc_runtime_peak_bytes(void);

/* The speed of this rank's host, where the fastest one that a rank has is 1. Once all ranks have
 * the job and have met. */
double cc_runtime_speed(void);

#endif
