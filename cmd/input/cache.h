/* The codec profile of this machine, which is measured on first use and kept in a file. */
#ifndef CC_CMD_INPUT_CACHE_H
#define CC_CMD_INPUT_CACHE_H

#include <stdbool.h>

#include "models/profile.h"
#include "schemes/spec.h"

/* Reads the profile from $XDG_CACHE_HOME/commcomp or ~/.cache/commcomp; there is a file for each
 * processor, instruction set, version of commcomp and synthetic distribution. Measures those of
 * `schemes`, and fp32, that the file lacks (all of them if `anew`), and writes it back. If that
 * fails, stderr gets a remark unless `quiet`. *source describes for notes where the profile comes
 * from. Both are set on success only; the caller frees them. */
int cc_cache_profile(const struct cc_spec_list *schemes, bool anew, bool quiet,
                     struct cc_profile *out, char **source, struct cc_error *e);

#endif
