/* The sources of gradients that there are: one file each, and a line in the factory. */
#ifndef CC_NETSIM_RANK_SOURCES_H
#define CC_NETSIM_RANK_SOURCES_H

#include <mpi.h>

#include "netsim/rank/preloaded.h"
#include "netsim/rank/source.h"

/* A trace's steps. A worker replays the stream of its rank, or of its rank modulo the streams. */
int cc_source_replay_open(const struct cc_source_config *config, struct cc_source **out,
                          struct cc_error *e);
/* Values drawn from the job's distribution, by its seed and the worker's rank. */
int cc_source_synthetic_open(const struct cc_source_config *config, struct cc_source **out,
                             struct cc_error *e);
/* A training's gradients, for workers, and for servers that apply the optimizer. */
int cc_source_training_open(const struct cc_source_config *config, struct cc_source **out,
                            struct cc_error *e);
/* No values: servers, and workers in jobs without data, whose computing takes its time all the
 * same. */
int cc_source_empty_open(const struct cc_source_config *config, struct cc_source **out,
                         struct cc_error *e);

/* The source that the job asks for on this rank. Collective: all workers take the same number of
 * different steps, as many as fit into a quarter of the memory that is free where it is scarcest.
 * Close it with cc_source_close. */
int cc_source_open(const struct cc_job *job, MPI_Comm comm, struct cc_source **out,
                   struct cc_error *e);

#endif
