/* Processes that a test has started, identified by files of its scratch directory. */
#ifndef CC_TESTS_LIB_PROCESS_H
#define CC_TESTS_LIB_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the process whose id is in a file of the scratch directory has ended, reaped or not.
 * Waits up to 2 s for it: SIGKILL takes effect only when the process is scheduled. */
bool process_has_ended(void **state, const char *name);

/* The number of processes, besides this one, with the scratch directory in their command line. */
size_t count_processes(void **state);

#endif
