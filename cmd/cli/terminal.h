/* The terminal that results and help are printed to. */
#ifndef CC_CMD_CLI_TERMINAL_H
#define CC_CMD_CLI_TERMINAL_H

#include <stddef.h>

/* The width of stdout in characters, at least 20: COLUMNS from the environment, else the
 * terminal's. 0 if stdout is a file or a pipe and COLUMNS is not set. */
size_t cc_terminal_width(void);

#endif
