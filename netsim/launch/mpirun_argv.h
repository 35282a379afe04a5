/* The command line of mpirun. */
#ifndef CC_NETSIM_LAUNCH_MPIRUN_ARGV_H
#define CC_NETSIM_LAUNCH_MPIRUN_ARGV_H

#include "netsim/launch/launch.h"

/* *out ends with NULL; free with cc_argv_free. */
int cc_mpirun_argv(const struct cc_launch_config *config, const struct cc_job *job, char ***out,
                   struct cc_error *e);

/* What a message of mpirun's means here, to be put behind it; or "". */
const char *cc_mpirun_remedy(const struct cc_launch_config *config, const char *message);

#endif
