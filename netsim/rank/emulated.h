/* Emulated computing: how long the parts of a step would take on this rank, from the job's compute
 * and update times, the tensors' shares of them, stragglers and the speed of the rank's host. */
#ifndef CC_NETSIM_RANK_EMULATED_H
#define CC_NETSIM_RANK_EMULATED_H

#include "netsim/rank/source.h"

struct cc_emulated {
    const struct cc_job *job;
    const struct cc_job_row *row;
    size_t worker;
    double speed; /* the rank's host's; the fastest one's is 1 */
};

/* For the steps of a row. */
struct cc_emulated cc_emulated_make(const struct cc_job *job, const struct cc_job_row *row,
                                    int worker);

/* Seconds of a part of `step`, as in cc_source_compute. */
double cc_emulated_compute_s(const struct cc_emulated *x, uint64_t step, enum cc_compute_part part,
                             const struct cc_message *m);
/* Seconds of the update of a message's tensors, or of all (NULL). */
double cc_emulated_update_s(const struct cc_emulated *x, const struct cc_message *m);

#endif
