/* Schemes beside the catalogue's: a command has them from its options, and tells its ranks of them
 * in the job. */
#ifndef CC_NETSIM_JOB_JOB_SCHEMES_H
#define CC_NETSIM_JOB_JOB_SCHEMES_H

#include "netsim/job/job.h"

/* Writes the schemes that were added to this process's catalogue into a job that has none. */
int cc_job_schemes_take(struct cc_job *job, struct cc_error *e);

/* Adds the job's schemes to this process's catalogue; those that are there already stay. */
int cc_job_schemes_add(const struct cc_job *job, struct cc_error *e);

#endif
