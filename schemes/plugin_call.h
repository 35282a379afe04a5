/* Calls of plugins' code that are under way. One that does not return ends the program, and so does
 * one that ends it: with a message that names the plugin, and exit code 1. */
#ifndef CC_SCHEMES_PLUGIN_CALL_H
#define CC_SCHEMES_PLUGIN_CALL_H

#include <stddef.h>

#include "core/error.h"

/* Seconds that a call may take: CC_CALL_S, and more for each value. After a signal that asks the
 * program to end, a call that has taken CC_CALL_TOLD_S is cut off. */
#define CC_CALL_S       60.0
#define CC_CALL_VALUE_S 10e-6
#define CC_CALL_TOLD_S  1.0
/* In the self-test, whose tensors have few values. */
#define CC_CALL_TEST_S 5.0

/* Starts the thread that watches calls, unless cc_plugin_unwatched() was called or it is there, and
 * from then on tells exit() within a call from one of the program's own. */
int cc_plugin_watch(struct cc_error *e);
/* For simulated ranks, whose clock is not this machine's: calls are not watched. */
void cc_plugin_unwatched(void);

/* The ends of a call. `path` is the plugin's, `what` the function: "encode"; both are kept by
 * address until the call has ended. Returns what cc_plugin_leave takes. */
int cc_plugin_enter(const char *path, const char *what, double limit_s);
void cc_plugin_leave(int call);

#endif
