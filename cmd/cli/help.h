/* The program's description of itself, printed to `out` from the tables of all commands, which are
 * in the order of --help and end with NULL. */
#ifndef CC_CMD_CLI_HELP_H
#define CC_CMD_CLI_HELP_H

#include "cmd/cli/command.h"

/* --help, wrapped to the terminal's width, or to 80 characters without a terminal. */
void cc_help_program(const struct cc_command *const *commands, FILE *out);
/* The commands of a group: "trace". */
void cc_help_group(const struct cc_command *const *commands, const char *group, FILE *out);
/* `of`: "" the options that are used often, and two examples: at most 40 lines; "all" every option,
 * column and example; or the name of an option, or of a scheme's parameter: CC_USAGE if there is
 * none. */
int cc_help_command(const struct cc_command *c, const char *of, FILE *out, struct cc_error *e);
/* The program's man page, in man(7)'s macros, and that of a command, commcomp-bench(1). */
void cc_help_man(const struct cc_command *const *commands, FILE *out);
void cc_help_man_command(const struct cc_command *c, FILE *out);

/* Scripts that complete commands, options and their arguments in a shell. */
void cc_completion_bash(const struct cc_command *const *commands, FILE *out);
void cc_completion_zsh(const struct cc_command *const *commands, FILE *out);

/* --- texts that they share --- */

extern const char cc_program_summary[];

/* The help of an option, with its lists of words. */
void cc_option_help(const struct cc_option *o, char *out, size_t cap);
/* Prints an item of a list, and what it is. */
typedef void cc_put_item(FILE *out, const char *title, const char *text);
/* Prints "-o, --output FILE" with the help and the default; and the columns of a result, such as
 * "step_s [s]", with their help, and head and unit in tables. */
void cc_put_option(const struct cc_option *o, cc_put_item *put, FILE *out);
void cc_put_columns(const struct cc_column *table, cc_put_item *put, FILE *out);

#endif
