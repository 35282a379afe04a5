/* Text that is printed to memory: a stream whose memory may run out at any write, or at its end. */
#ifndef CC_CORE_MEMORY_TEXT_H
#define CC_CORE_MEMORY_TEXT_H

#include <stddef.h>
#include <stdio.h>

#include "core/error.h"

/* Not to be copied while it is open. */
struct cc_memory_text {
    FILE *f;          /* print here */
    const char *what; /* it is */
    char *text;       /* after cc_memory_text_end */
    size_t bytes;     /* without the zero byte at the end */
};

/* Opens it. `what`, which must live as long, ends the message about memory: "the names of 9 hosts".
 * After success, call cc_memory_text_end. */
int cc_memory_text_begin(struct cc_memory_text *t, const char *what, struct cc_error *e);
/* Closes it after printing with this status, which is returned if it is a failure; on success the
 * caller frees t->text, else it is NULL. */
int cc_memory_text_end(struct cc_memory_text *t, int status, struct cc_error *e);

#endif
