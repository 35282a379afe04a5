#include "core/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/utf8.h"

static void write_text(struct cc_error *e, const char *fmt, va_list args)
{
    if (e == NULL)
        return;
    (void)vsnprintf(e->text, sizeof e->text, fmt, args);
    cc_make_printable(e->text); /* names come from files; also for a character that was cut */
}

void cc_error_set(struct cc_error *e, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    write_text(e, fmt, args);
    va_end(args);
}

static void put_before(struct cc_error *e, const char *fmt, va_list args)
{
    if (e == NULL)
        return;
    char old[sizeof e->text];
    memcpy(old, e->text, sizeof old);
    write_text(e, fmt, args);
    size_t used = strlen(e->text);
    (void)snprintf(e->text + used, sizeof e->text - used, ": %s", old);
}

void cc_error_in(struct cc_error *e, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    put_before(e, fmt, args);
    va_end(args);
}

int cc_status_in(int status, struct cc_error *e, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    if (status != CC_OK)
        put_before(e, fmt, args);
    va_end(args);
    return status;
}
