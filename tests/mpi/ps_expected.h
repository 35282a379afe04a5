/* The reference for parameter servers: the model, the bytes and the messages, by plain codec calls
 * of one process. */
#ifndef CC_TESTS_MPI_PS_EXPECTED_H
#define CC_TESTS_MPI_PS_EXPECTED_H

#include "tests/mpi/ps_trial.h"

struct ps_kept_slice;

struct ps_expected {
    struct ps_kept_slice *slice; /* ps_expect's alone */
    size_t slices;
    float *after; /* the model after each step */
    struct ps_counts counts[MOST_RANKS][STEPS];
};

/* Fills in the counts and `after`, which has room for STEPS models. */
void ps_expect(const struct ps_trial *t, struct ps_expected *x);

#endif
