/* The fields of struct cc_job_consistency, in a job. */
#ifndef CC_NETSIM_JOB_CONSISTENCY_H
#define CC_NETSIM_JOB_CONSISTENCY_H

#include "netsim/job/fields.h"

extern const struct cc_table cc_job_consistency_table;

/* How the consistency fits the fields of the job before it. */
int cc_job_check_consistency(const struct cc_scope *s, struct cc_error *e);

#endif
