/* The reference for sums that are re-sparsified: the threshold of each step, from a sorted list of
 * magnitudes, and the account of what was computed, applied and held back. */
#ifndef CC_TESTS_MPI_KEEP_H
#define CC_TESTS_MPI_KEEP_H

#include "netsim/job/job.h"
#include "tests/mpi/box.h"

struct keep {
    size_t values, wanted;
    double surplus;
    bool few;    /* the step before kept too few */
    float least; /* the magnitude from which this step keeps values */
    /* By value: the sum of what all workers have computed, and of what their sums have applied. */
    double *computed, *size, *applied;
    float *momentum; /* each worker's: dgc's, which is what it computes */
};

void keep_open(struct keep *k, const struct cc_job *job, size_t values);
void keep_close(struct keep *k);

/* A worker's gradient of this message, from its first value on, before it is encoded; and, of what
 * it has sent, each pair. */
void keep_computes(struct keep *k, int rank, const struct box *b, const float *x);
void keep_sends(struct keep *k, int rank, const struct cc_index_value *pair, size_t pairs);

/* The step's sum, in which values that are absent are -0: gives each rank's pairs that it lacks to
 * the rank's codecs, and finds the next threshold. */
void keep_gives_back(struct keep *k, struct box *b, const struct cc_index_value *pair, size_t pairs,
                     const float *sum);
/* Returns the values kept. */
size_t keep_ends(struct keep *k, const float *sum);

/* How far the values applied and held back are from those computed, relative to the sum of the
 * magnitudes of these: the largest of all values. */
double keep_off(const struct keep *k, const struct box *rank, int ranks);

#endif
