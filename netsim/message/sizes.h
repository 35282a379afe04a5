/* How long payloads are, for jobs without data: what their ranks would encode is encoded once, for
 * the workers that differ, and the lengths go into the job. No MPI here. */
#ifndef CC_NETSIM_MESSAGE_SIZES_H
#define CC_NETSIM_MESSAGE_SIZES_H

#include "core/error.h"
#include "netsim/job/job.h"
#include "schemes/spec.h"

/* May be all 0. */
struct cc_sizes_config {
    const size_t *before; /* of each row: steps before the job's first, which leave their mark */
    bool (*on_tick)(void *arg, size_t row, double done); /* of the row, in [0, 1]; true: stop */
    void *arg;
};

/* Fills in the sizes of all rows, in the place of any that they have. The workers' own gradients
 * and random numbers, residuals that go on from step to step: for up to 16 workers, pushes and
 * pulls are byte by byte what a run with data sends; more workers are like the first 16. Sums that
 * are encoded on their way are those of the first 2, 4, ... workers' payloads. That it was stopped
 * is an error. */
int cc_sizes_fill(struct cc_job *job, const struct cc_sizes_config *config, struct cc_error *e);

/* Whether every payload of a scheme is as long as any other, whatever the gradients are. */
int cc_sizes_fixed(const struct cc_spec *spec, bool *out, struct cc_error *e);

#endif
