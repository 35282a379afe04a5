/* Makes jobs in memory, for tests of code that takes them. */
#ifndef CC_TESTS_LIB_JOBS_H
#define CC_TESTS_LIB_JOBS_H

#include "netsim/job/job.h"

/* Adds a tensor at the end of the job and updates the offsets. The first tensor makes the job one
 * with data, as on a machine. Ends the program if there is no memory. */
void jobs_add(struct cc_job *job, const struct cc_shape *shape, bool raw);
void jobs_add_flat(struct cc_job *job, size_t n, bool raw);
void jobs_free(struct cc_job *job);

enum { JOBS_CHOICES = 5 };
/* Writes all that ssar-auto can choose for a row's messages, by the density of the workers'
 * gradients. `out` has room for JOBS_CHOICES of each message. Returns how many there are. */
size_t jobs_choices(const struct cc_job *job, const struct cc_message *message, size_t messages,
                    struct cc_job_choice *out);

#endif
