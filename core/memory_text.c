#include "core/memory_text.h"

#include <stdbool.h>
#include <stdlib.h>

static int out_of_memory(const char *what, struct cc_error *e)
{
    return cc_fail(e, "out of memory: %s", what);
}

int cc_memory_text_begin(struct cc_memory_text *t, const char *what, struct cc_error *e)
{
    *t = (struct cc_memory_text){.what = what};
    t->f = open_memstream(&t->text, &t->bytes);
    return t->f != NULL ? CC_OK : out_of_memory(what, e);
}

int cc_memory_text_end(struct cc_memory_text *t, int status, struct cc_error *e)
{
    const bool failed = ferror(t->f) != 0;
    const bool closed = fclose(t->f) == 0;
    t->f = NULL;
    /* glibc may set the text to NULL and report success. */
    if (status == CC_OK && closed && !failed && t->text != NULL)
        return CC_OK;
    free(t->text);
    t->text = NULL;
    return status != CC_OK ? status : out_of_memory(t->what, e);
}
