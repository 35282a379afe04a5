/* What the files of jobs share; for job*.c only. */
#ifndef CC_NETSIM_JOB_JOB_WORDS_H
#define CC_NETSIM_JOB_JOB_WORDS_H

#include "core/format/json.h"
#include "core/trace/trace.h" /* cc_distribution_names */
#include "netsim/job/job.h"

/* The words of a job's enums, in their order; each list ends with NULL. */
extern const char *const cc_job_kinds[], *const cc_job_vias[], *const cc_job_modes[],
                                                                   *const cc_job_pull_orders[];

/* A tensor's cost is so many numbers. */
enum { CC_JOB_COSTS = sizeof(struct cc_job_cost) / sizeof(double) };

/* "simulation", which may be missing. */
int cc_job_parse_simulation(const cJSON *root, struct cc_job *job, struct cc_error *e);
/* A row's "cost" and "sizes": missing, or as the rest of the job wants them. What was allocated
 * belongs to *row also after an error. */
int cc_job_parse_cost(const cJSON *item, const struct cc_job *job, struct cc_job_row *row,
                      struct cc_error *e);
int cc_job_parse_sizes(const cJSON *item, const struct cc_job *job, struct cc_job_row *row,
                       struct cc_error *e);

#endif
