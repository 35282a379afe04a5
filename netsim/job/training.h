/* A job's training, as the task, the optimizer and the schedule that it describes, and back. */
#ifndef CC_NETSIM_JOB_TRAINING_H
#define CC_NETSIM_JOB_TRAINING_H

#include "netsim/job/job.h"

/* Copies them into job->training, whose net and data are set by `data`, the text of the data set.
 * The task's workers and seed must be the job's. Free with the job, also after an error. */
int cc_job_set_training(struct cc_job *job, const struct cc_task_config *task, const char *data,
                        const struct cc_optimizer *optimizer, const struct cc_rate_schedule *rate,
                        struct cc_error *e);

/* The task of a job with a training, with `data` opened, for one thread. */
struct cc_task_config cc_job_task(const struct cc_job *job, const struct cc_data *data);

/* The local steps, with the workers' optimizer and its schedule, without layout. */
struct cc_local_steps cc_job_local(const struct cc_job *job, const struct cc_job_row *row);

/* The optimizer of the shared parameters and its schedule over a row's steps, without layout. */
struct cc_learner_config cc_job_learner(const struct cc_job *job, const struct cc_job_row *row);

#endif
