/* The reference for exchanges that merge index-value pairs: the sum, in the order of additions that
 * docs/wire.md gives, and how many bytes move, by plain loops over all values. */
#ifndef CC_TESTS_MPI_MERGE_H
#define CC_TESTS_MPI_MERGE_H

#include "netsim/job/job.h"
#include "schemes/scheme.h"

struct merge {
    const struct cc_job *job;
    size_t values;
    bool recdouble, split;           /* neither: halving, then doubling */
    bool dense;                      /* sums are sent as all values */
    float least;                     /* smaller values of the whole sum are left out */
    bool quantized;                  /* the second stage's bodies are not counted */
    struct cc_index_value *pair[32]; /* each rank's, sorted */
    size_t pairs[32];
};

/* Returns the bytes that all ranks send. */
uint64_t merge_sum(const struct merge *m, float *sum);

/* The bytes of a stream of c pairs of n values, with the number before it. */
uint64_t merge_stream_bytes(size_t n, size_t c, enum cc_wire wire, bool dense);

#endif
