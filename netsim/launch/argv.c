#include "netsim/launch/argv.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/memory.h"

void cc_argv_add(struct cc_argv *a, const char *fmt, ...)
{
    if (a->status == CC_OK)
        a->status = cc_grow((void **)&a->word, &a->capacity, a->count + 2, sizeof *a->word, a->e);
    if (a->status != CC_OK)
        return;
    va_list args;
    va_start(args, fmt);
    int length = vasprintf(&a->word[a->count], fmt, args);
    va_end(args);
    if (length < 0) {
        a->word[a->count] = NULL;
        a->status = cc_fail(a->e, "out of memory: a command line of %zu words", a->count + 1);
        return;
    }
    a->word[++a->count] = NULL;
}

char **cc_argv_take(struct cc_argv *a)
{
    if (a->status == CC_OK)
        return a->word;
    cc_argv_free(a->word);
    a->word = NULL;
    return NULL;
}

void cc_argv_free(char **words)
{
    for (size_t i = 0; words != NULL && words[i] != NULL; i++)
        free(words[i]);
    free(words);
}
