/* The codec profile of this machine, which is measured on first use and kept in a file. */
#ifndef CC_CMD_INPUT_CACHE_H
#define CC_CMD_INPUT_CACHE_H

#include <stdbool.h>
#include <stddef.h>

#include "cmd/cli/progress.h"
#include "models/profile.h"
#include "schemes/spec.h"

struct cc_cache_request {
    const struct cc_spec_list *schemes; /* and fp32 */
    enum cc_element dtype;              /* of the gradients that codecs read */
    size_t largest; /* values of the largest tensor: larger sizes are not measured; 0: all are */
    bool remeasure; /* measure them even if the file has them */
    bool quiet;     /* no messages on stderr */
    struct cc_progress *progress;
    double share; /* its share of the progress, if there is something to measure */
};

/* Reads the profile from $XDG_CACHE_HOME/commcomp or ~/.cache/commcomp; there is a file for each
 * processor, instruction set, version of commcomp, synthetic distribution and type of gradients.
 * Measures what the file lacks, or has from a time at which the machine was busier than now, and
 * writes it back; other processes' entries stay. If the file cannot be read or written, stderr gets
 * a remark and the file stays as it is. *source describes for notes where the profile comes from.
 * Both are set on success only; the caller frees them. */
int cc_cache_profile(const struct cc_cache_request *request, struct cc_profile *out, char **source,
                     struct cc_error *e);

/* Writes the path of a file of this name in $XDG_CACHE_HOME/commcomp or ~/.cache/commcomp; false if
 * the environment names no place for it, or it is longer than cap. */
bool cc_cache_path(const char *name, char *out, size_t cap);
/* Creates the missing folders of a path. */
void cc_cache_folders(const char *path);

#endif
