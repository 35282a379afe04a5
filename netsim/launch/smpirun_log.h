/* The output of smpirun and SimGrid: finds in it why a simulation ended badly. */
#ifndef CC_NETSIM_LAUNCH_SMPIRUN_LOG_H
#define CC_NETSIM_LAUNCH_SMPIRUN_LOG_H

#include <stdbool.h>
#include <stddef.h>

#include "netsim/launch/log_tail.h"

#define CC_SMPI_RANKS 6 /* number of waiting ranks that are named */

struct cc_smpirun_log {
    /* Reasons found so far. */
    bool deadlock, no_memory, unknown_setting, unknown_host;
    size_t waiting;          /* number of ranks that wait in a deadlock, */
    int rank[CC_SMPI_RANKS]; /* and the first of them */
};

/* Adds one output line, given without its newline. Lines that may tell the reason are passed on to
 * `tail` without SimGrid's time and place; backtraces, lists of settings and the command line are
 * dropped. Start from a zeroed struct. */
void cc_smpirun_log_add(struct cc_smpirun_log *log, struct cc_log_tail *tail, const char *line,
                        size_t length);

/* The text of a line of SimGrid's behind its prefix, "[0.000000] ./src/...: [xbt_exception/ERROR]
 * ", or the line itself if it has none. */
const char *cc_simgrid_text(const char *line);
/* The same without the kind of an exception, "Uncaught exception std::invalid_argument: ". */
const char *cc_simgrid_reason(const char *text);

/* Writes the waiting ranks: "17 ranks (0, 1, 2, 3, 4, 5, ...)". */
void cc_smpirun_log_waiting(const struct cc_smpirun_log *log, char *out, size_t size);

#endif
