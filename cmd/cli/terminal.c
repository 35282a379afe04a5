#include "cmd/cli/terminal.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

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
