/* What SimGrid says when a simulation ends badly, as far as it helps. */
#ifndef CC_NETSIM_LAUNCH_SMPIRUN_LOG_H
#define CC_NETSIM_LAUNCH_SMPIRUN_LOG_H

#include <stdbool.h>
#include <stddef.h>

#include "netsim/launch/log_tail.h"

#define CC_SMPI_RANKS 6 /* that are named */

struct cc_smpirun_log {
    bool deadlock, memory, version, host;
    size_t waiting; /* ranks, in a deadlock */
    int rank[CC_SMPI_RANKS];
};

/* One line that smpirun or the simulation printed. What says why goes on to `words`, without
 * SimGrid's own marks; backtraces, lists of settings and the command line do not. */
void cc_smpirun_log_add(struct cc_smpirun_log *s, struct cc_log_tail *words, const char *line,
                        size_t length);

/* "17 ranks (0, 1, 2, 3, 4, 5, ...)". */
void cc_smpirun_log_waiting(const struct cc_smpirun_log *s, char *out, size_t size);

#endif
