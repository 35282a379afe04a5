/* The words of a job's enums, in their order; each list ends with NULL. For job*.c only. */
#ifndef CC_NETSIM_JOB_WORDS_H
#define CC_NETSIM_JOB_WORDS_H

#include "core/trace.h" /* cc_distribution_names */

extern const char *const cc_job_kinds[], *const cc_job_vias[], *const cc_job_modes[],
                                                                   *const cc_job_pull_orders[];

#endif
