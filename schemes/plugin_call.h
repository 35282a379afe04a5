/* Calls of plugins' code that are under way. One that does not return ends the program, and so does
 * one that ends it: with a message that names the plugin, and exit code 1. */
#ifndef CC_SCHEMES_PLUGIN_CALL_H
#define CC_SCHEMES_PLUGIN_CALL_H

#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"
#include "schemes/scheme.h"

struct cc_plugin {
    char *path;                  /* absolute */
    const struct cc_scheme *own; /* as the file defines it */
    struct cc_scheme guarded;    /* of the catalogue; codecs point to it */
    uint32_t checksum;           /* of the file */
    bool tested;                 /* the self-test is over: calls may take longer */
};

/* The plugins that are loaded (plugin_load.c), which never move. */
enum { CC_MOST_PLUGINS = 64 };
extern struct cc_plugin cc_plugins[CC_MOST_PLUGINS];

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

/* The same of a function of a scheme that may be a plugin's, of n values. The program's own schemes
 * cost a comparison. */
int cc_scheme_enter(const struct cc_scheme *s, const char *what, size_t n);

#endif
