#include "netsim/launch/argv.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/memory.h"

void cc_argv_add(struct cc_argv *a, const char *fmt, ...)
{
    if (a->status == CC_OK)
        a->status = CC_GROW(a->arg, &a->capacity, a->count + 2, a->e);
    if (a->status != CC_OK)
        return;
    va_list args;
    va_start(args, fmt);
    int length = vasprintf(&a->arg[a->count], fmt, args);
    va_end(args);
    if (length < 0) {
        a->arg[a->count] = NULL;
        a->status = cc_fail(a->e, "out of memory: a command line of %zu arguments", a->count + 1);
        return;
    }
    a->arg[++a->count] = NULL;
}

void cc_argv_words(struct cc_argv *a, const char *word, ...)
{
    va_list args;
    va_start(args, word);
    for (; word != NULL; word = va_arg(args, const char *))
        cc_argv_add(a, "%s", word);
    va_end(args);
}

char **cc_argv_take(struct cc_argv *a)
{
    if (a->status == CC_OK)
        return a->arg;
    cc_argv_free(a->arg);
    a->arg = NULL;
    return NULL;
}

void cc_argv_free(char **argv)
{
    for (size_t i = 0; argv != NULL && argv[i] != NULL; i++)
        free(argv[i]);
    free(argv);
}
