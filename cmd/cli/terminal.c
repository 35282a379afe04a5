#include "cmd/cli/terminal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "core/utf8.h"
#include "core/units.h"

size_t cc_terminal_width(void)
{
    enum { LEAST = 20, MOST = 10000 };
    const char *columns = getenv("COLUMNS");
    struct winsize w = {.ws_col = 0};
    uint64_t width = 0;
    if (columns == NULL || cc_parse_count(columns, &width, NULL) != CC_OK || width == 0)
        width = ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 ? w.ws_col : 0;
    if (width == 0)
        return 0;
    return width < LEAST ? LEAST : width > MOST ? MOST : (size_t)width;
}

void cc_say(const char *fmt, ...)
{
    char text[1024];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    cc_make_printable(text);
    (void)fprintf(stderr, "commcomp: %s\n", text);
}
