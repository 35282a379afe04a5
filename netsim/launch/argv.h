/* Command lines, built argument by argument. */
#ifndef CC_NETSIM_LAUNCH_ARGV_H
#define CC_NETSIM_LAUNCH_ARGV_H

#include <stddef.h>

#include "core/error.h"

/* A growing list of arguments that ends with NULL. Initialise with zeros and `e`. The first failure
 * is kept in `status`; later additions then do nothing, so only the end needs a check. */
struct cc_argv {
    char **arg;
    size_t count, capacity;
    int status;
    struct cc_error *e;
};

/* Appends one formatted argument. */
void cc_argv_add(struct cc_argv *a, const char *fmt, ...) CC_PRINTF(2, 3);

/* Appends arguments as they are; the last one must be NULL. */
void cc_argv_words(struct cc_argv *a, const char *word, ...) __attribute__((sentinel));

/* Returns the list, which the caller frees with cc_argv_free; NULL after a failure. */
char **cc_argv_take(struct cc_argv *a);

/* Frees the list and its strings; NULL is allowed. */
void cc_argv_free(char **argv);

#endif
