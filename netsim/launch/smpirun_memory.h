/* How much memory a simulation needs. */
#ifndef CC_NETSIM_LAUNCH_SMPIRUN_MEMORY_H
#define CC_NETSIM_LAUNCH_SMPIRUN_MEMORY_H

#include <stddef.h>

#include "netsim/job/job.h"

/* An estimate of the bytes that a simulation of the job needs: one process holds all ranks. At most
 * 2^60. */
size_t cc_smpirun_memory(const struct cc_job *job);

#endif
