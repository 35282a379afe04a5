/* The terminal that results and help are printed to, and messages on stderr. */
#ifndef CC_CMD_CLI_TERMINAL_H
#define CC_CMD_CLI_TERMINAL_H

#include <stddef.h>

#include "core/error.h"

/* The width of stdout in characters, at least 20: COLUMNS from the environment, else the
 * terminal's. 0 if stdout is a file or a pipe and COLUMNS is not set. */
size_t cc_terminal_width(void);

/* Prints "commcomp: ", the text and a line end on stderr, without control characters, as texts may
 * have names of files and words of the command line. */
void cc_say(const char *fmt, ...) CC_PRINTF(1, 2);

#endif
