/* Makes jobs in memory, for tests of code that takes them. */
#ifndef CC_TESTS_LIB_JOBS_H
#define CC_TESTS_LIB_JOBS_H

#include "netsim/job/job.h"

/* Adds a tensor at the end of the job and updates the offsets. The first tensor makes the job one
 * with data, as on a machine. Ends the program if there is no memory. */
void jobs_add(struct cc_job *job, const struct cc_shape *shape, bool raw);
void jobs_add_flat(struct cc_job *job, size_t n, bool raw);
void jobs_free(struct cc_job *job);

#endif
