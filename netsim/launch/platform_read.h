/* Reading platforms that others wrote for SimGrid. */
#ifndef CC_NETSIM_LAUNCH_PLATFORM_READ_H
#define CC_NETSIM_LAUNCH_PLATFORM_READ_H

#include "core/error.h"
#include "netsim/platform/platform.h"

/* Reads a platform file and assigns its hosts to the ranks in the order of their names, where
 * numbers in names count as numbers ("node-2" before "node-10"). Runs commcomp-platform, so that
 * SimGrid itself tells which hosts there are. Fails with the file's name if it is not a platform or
 * has fewer hosts than ranks, or if a host lacks a loopback. The caller frees *out with
 * cc_platform_free. */
int cc_platform_read(const char *path, int workers, int servers, struct cc_platform *out,
                     struct cc_error *e);

#endif
