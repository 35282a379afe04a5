/* The command line of mpirun. */
#ifndef CC_NETSIM_MPIRUN_H
#define CC_NETSIM_MPIRUN_H

#include "netsim/launch.h"

/* *out ends with NULL; free with cc_argv_free. */
int cc_mpirun_words(const struct cc_launch_how *how, const struct cc_job *job, char ***out,
                    struct cc_error *e);

/* What a message of mpirun's means here, to be put behind it; or "". */
const char *cc_mpirun_remedy(const struct cc_launch_how *how, const char *message);

#endif
