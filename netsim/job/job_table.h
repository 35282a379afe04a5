/* The tables of the job's fields (job_table.c): what job.c parses and writes jobs by, and what
 * docs/job.md documents. */
#ifndef CC_NETSIM_JOB_JOB_TABLE_H
#define CC_NETSIM_JOB_JOB_TABLE_H

#include "netsim/job/fields.h"

extern const struct cc_table cc_job_table;   /* struct cc_job */
extern const struct cc_table cc_sizes_table; /* struct cc_job_sizes */

/* All of them, in the order of docs/job.md; ends with NULL. */
extern const struct cc_table *const cc_job_tables[];

#endif
