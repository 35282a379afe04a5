/* Lets a rank wait until it can go on. */
#ifndef CC_TESTS_MPI_REST_H
#define CC_TESTS_MPI_REST_H

#include <mpi.h>

#include "netsim/exchange/exchange.h"

/* Ranks wait asleep, as those of `run` do where they share processors: one that polls in a loop
 * takes the processor as often as one that works, and one that wakes up gets it before others. */

/* Sleeps for some microseconds; where ranks are simulated, until something comes to this one, or
 * until `until` on its clock. */
void rest(struct cc_rank_state *s, double until);

/* MPI_Bcast from rank 0, and MPI_Allreduce of sums in place, of ranks that come at different times.
 */
void rest_bcast(void *data, size_t bytes, MPI_Comm comm);
void rest_sum(void *sum, int count, MPI_Datatype type, MPI_Comm comm);

#endif
