/* The limit on open files, `ulimit -n`, which programs that are started inherit. */
#ifndef CC_CORE_OPEN_FILES_H
#define CC_CORE_OPEN_FILES_H

#include <stddef.h>

#include "core/error.h"

/* Raises the soft limit of this process to `count` if it is lower; fails if the hard limit forbids
 * that, naming the program that needs so many. */
int cc_open_files_need(const char *program, size_t count, struct cc_error *e);

#endif
