/* A job's training, as the task, the optimizer and the schedule that it describes, and back. */
#ifndef CC_NETSIM_JOB_TRAINING_H
#define CC_NETSIM_JOB_TRAINING_H

#include "netsim/job/evaluation.h"
#include "netsim/job/job.h"

/* Copies them into job->training, whose data are those of the task by their name. The task's
 * workers and seed must be the job's. Free with the job, also after an error. */
int cc_job_set_training(struct cc_job *job, const struct cc_task_config *task,
                        const struct cc_optimizer *optimizer, const struct cc_rate_schedule *rate,
                        double clip, struct cc_error *e);

/* The task of a job with a training, with `data` opened, for one thread. */
struct cc_task_config cc_job_task(const struct cc_job *job, const struct cc_data *data);

/* The local steps, with the workers' optimizer and its schedule, without layout. */
struct cc_local_steps cc_job_local(const struct cc_job *job, const struct cc_job_row *row);

/* The optimizer of the shared parameters and its schedule over a row's steps, without layout. */
struct cc_learner_config cc_job_learner(const struct cc_job *job, const struct cc_job_row *row);

/* --- steps of trainings, in one process or by ranks --- */

/* Applies what has arrived of a row's message `i` in a step, if it was sent, and sets it to 0: the
 * mean gradient, by a learner; or without one NULL the servers' deltas, or what is gathered of
 * shards. */
void cc_training_apply(const struct cc_job *job, const struct cc_job_row *row, size_t i,
                       uint64_t step, struct cc_learner *learner, float *received, float *weights);

/* Local steps: a worker takes what the exchange of the step before has left of the shared
 * parameters; and writes the differences that it sends in a step, those of other messages stay. */
void cc_training_take(const struct cc_job *job, const struct cc_job_row *row,
                      const struct cc_local_steps *l, uint64_t step, const float *shared,
                      float *own);
void cc_training_difference(const struct cc_job *job, const struct cc_job_row *row, uint64_t step,
                            const float *shared, const float *own, float *out);
/* Whether a worker sends in a step: all do, but for local steps with a quorum; and what a worker's
 * difference is then (cc_local_keep). */
bool cc_training_sends(const struct cc_job *job, uint64_t step, int worker);
void cc_training_keep(const struct cc_job *job, const struct cc_local_steps *l, uint64_t step,
                      int worker, float *own, float *difference);

/* Scores the workers' parameters, and the servers', which NULL and equal ones are scored as. A loss
 * that is not finite is divergence. */
int cc_training_score(struct cc_task *task, const float *workers, const float *servers,
                      const float *stats, struct cc_evaluation *out, struct cc_error *e);

#endif
