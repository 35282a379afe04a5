/* Jobs made in memory, for tests of what works from them. */
#ifndef CC_TESTS_LIB_JOBS_H
#define CC_TESTS_LIB_JOBS_H

#include "netsim/job/job.h"

/* A tensor at the end of the job; its offsets are kept up to date. The first one makes the job
 * one with data, as on a machine. Ends the program when there is no memory. */
void jobs_add(struct cc_job *job, const struct cc_shape *shape, bool raw);
void jobs_add_flat(struct cc_job *job, size_t n, bool raw);
void jobs_free(struct cc_job *job);

#endif
