/* How long payloads are, for jobs without data: what their ranks would encode is encoded once, for
 * the workers that differ, and the lengths go into the job. No MPI here. */
#ifndef CC_NETSIM_SIZES_H
#define CC_NETSIM_SIZES_H

#include "core/error.h"
#include "netsim/job.h"

/* Fills in the sizes of all rows, in the place of any that they have. The workers' own gradients
 * and random numbers, residuals that go on from step to step, from the first uncounted one on: for
 * up to 16 workers, pushes and pulls are byte by byte what a run with data sends; more workers are
 * like the first 16. Sums that are encoded on their way are those of the first 2, 4, ... workers'
 * payloads. */
int cc_sizes_fill(struct cc_job *job, struct cc_error *e);

#endif
