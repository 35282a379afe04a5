/* The job of a training: what netsim needs to know of it, in this process or in ranks. */
#ifndef CC_NETSIM_INPROCESS_TRAINING_JOB_H
#define CC_NETSIM_INPROCESS_TRAINING_JOB_H

#include "netsim/inprocess/training.h"
#include "netsim/job/job.h"

/* Makes the exchange, the tensors and a row, with a message for the whole step or, where steps
 * overlap, for each tensor. Several servers share every tensor. Free with cc_job_free, also after
 * an error if *out was zeroed before. */
int cc_training_job(const struct cc_training_config *c, const struct cc_tensor_info *tensor,
                    size_t tensors, struct cc_job *out, struct cc_error *e);

/* Adds all else that ranks need, to such a job; compute_s: NaN: what it really takes. */
int cc_training_job_for_ranks(const struct cc_training_config *c, double compute_s,
                              const double *share, struct cc_job *job, struct cc_error *e);

#endif
