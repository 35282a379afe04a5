/* The command line of smpirun. */
#ifndef CC_NETSIM_SMPI_WORDS_H
#define CC_NETSIM_SMPI_WORDS_H

#include "netsim/smpirun.h"

/* Paths of what smpirun is to read and write. */
struct cc_smpi_files {
    char platform[64], hosts[64];
    char paje[64]; /* or "" */
};

/* *out ends with NULL; free with cc_argv_free. */
int cc_smpi_words(const struct cc_smpirun_how *how, const struct cc_job *job,
                  const struct cc_smpi_files *files, char ***out, struct cc_error *e);

#endif
