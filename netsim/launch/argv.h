/* Command lines, word by word. */
#ifndef CC_NETSIM_LAUNCH_ARGV_H
#define CC_NETSIM_LAUNCH_ARGV_H

#include <stddef.h>

#include "core/error.h"

/* A list of words that ends with NULL, growing; a failure stays. Start from zeros and e. */
struct cc_argv {
    char **word;
    size_t count, capacity;
    int status;
    struct cc_error *e;
};

void cc_argv_add(struct cc_argv *a, const char *fmt, ...) CC_PRINTF(2, 3);
/* The words, to be freed with cc_argv_free, or NULL after a failure. */
char **cc_argv_take(struct cc_argv *a);
void cc_argv_free(char **words);

#endif
