/* The command line of smpirun. */
#ifndef CC_NETSIM_LAUNCH_SMPIRUN_ARGV_H
#define CC_NETSIM_LAUNCH_SMPIRUN_ARGV_H

#include "netsim/launch/smpirun.h"

/* Paths of what smpirun is to read and write. */
struct cc_smpirun_files {
    char platform[64], hosts[64];
    char paje[64]; /* or "" */
};

/* *out ends with NULL; free with cc_argv_free. */
int cc_smpirun_argv(const struct cc_smpirun_config *config, const struct cc_job *job,
                    const struct cc_smpirun_files *files, char ***out, struct cc_error *e);

#endif
