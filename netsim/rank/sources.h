/* The sources of gradients that there are: one file each, and a line in the factory. */
#ifndef CC_NETSIM_RANK_SOURCES_H
#define CC_NETSIM_RANK_SOURCES_H

#include <mpi.h>

#include "netsim/rank/source.h"

struct cc_source_config {
    const struct cc_job *job; /* must outlive the source */
    int worker;               /* whose gradients; -1 - i: server i */
    size_t steps;             /* different ones, at most; 0: none, as there are no values */
    size_t in_flight;         /* steps, as in struct cc_source */
};

/* A source that emulates computing: the gradients of a number of different steps, loaded into
 * memory before any clock runs and used in turn, and one buffer that all results add up in. That
 * buffer is the model that was moved by every result since the row began. A worker replays the
 * stream of its rank, modulo the streams, of the job's trace; otherwise values are drawn from the
 * job's distribution, by its seed and the worker's rank. Without values (servers, and jobs without
 * data), computing takes its time all the same. */
int cc_source_preloaded_open(const struct cc_source_config *config, struct cc_source **out,
                             struct cc_error *e);
/* A training's gradients, for workers, and for servers that apply the optimizer. */
int cc_source_training_open(const struct cc_source_config *config, struct cc_source **out,
                            struct cc_error *e);

/* The source that the job asks for on this rank. Collective: all workers take the same number of
 * different steps, as many as fit into a quarter of the memory that is free where it is scarcest.
 * Close it with cc_source_close. */
int cc_source_open(const struct cc_job *job, MPI_Comm comm, struct cc_source **out,
                   struct cc_error *e);

/* --- emulated computing --- */

/* How long the parts of a step would take on this rank, from the job's compute and update times,
 * the tensors' shares of them, stragglers and the speed of the rank's host. */
struct cc_emulated {
    const struct cc_job *job;
    const struct cc_job_row *row;
    size_t worker;
    double speed; /* the rank's host's; the fastest one's is 1 */
};

/* For the steps of a row. */
struct cc_emulated cc_emulated_make(const struct cc_job *job, const struct cc_job_row *row,
                                    int worker);

/* Seconds of a part of `step`, as in cc_source_compute. */
double cc_emulated_compute_s(const struct cc_emulated *x, uint64_t step, enum cc_compute_part part,
                             const struct cc_message *m);
/* Seconds of the update of a message's tensors, or of all (NULL). */
double cc_emulated_update_s(const struct cc_emulated *x, const struct cc_message *m);

#endif
