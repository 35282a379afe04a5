/* The codec profile of this machine: measured on first use, kept in a file. */
#ifndef CC_CMD_INPUT_CACHE_H
#define CC_CMD_INPUT_CACHE_H

#include <stdbool.h>

#include "models/profile.h"
#include "schemes/spec.h"

/* Reads it from $XDG_CACHE_HOME/commcomp or ~/.cache/commcomp, by processor, instruction set,
 * version of commcomp and synthetic distribution; measures what it lacks of these schemes and of
 * fp32 (everything, if `anew`), and writes it back. A cache that cannot be written is a remark on
 * stderr unless `quiet`. *source says where the profile comes from, in words, and is to be freed;
 * both are set on success only. */
int cc_cache_profile(const struct cc_spec_list *schemes, bool anew, bool quiet,
                     struct cc_profile *out, char **source, struct cc_error *e);

#endif
