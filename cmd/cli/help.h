/* The program's description of itself, printed to `out` from the tables of all commands, which are
 * in the order of --help and end with NULL. */
#ifndef CC_CMD_CLI_HELP_H
#define CC_CMD_CLI_HELP_H

#include "cmd/cli/command.h"

/* --help, wrapped to the terminal's width, or to 80 characters without a terminal. */
void cc_help_program(const struct cc_command *const *commands, FILE *out);
/* The commands of a group: "trace". */
void cc_help_group(const struct cc_command *const *commands, const char *group, FILE *out);
/* A command whose options have groups: those that are used often, and the names of the others; with
 * `all`, and for other commands, every option and column. */
void cc_help_command(const struct cc_command *c, bool all, FILE *out);
/* The man page, in man(7)'s macros. */
void cc_help_man(const struct cc_command *const *commands, FILE *out);

/* Scripts that complete commands, options and their arguments in a shell. */
void cc_completion_bash(const struct cc_command *const *commands, FILE *out);
void cc_completion_zsh(const struct cc_command *const *commands, FILE *out);

/* --- texts that they share --- */

extern const char cc_program_summary[];

/* The options --scheme and --NAME of the commands that have them; an empty table for others. */
const struct cc_option *cc_scheme_options(const struct cc_command *c);
/* All options of a command, without those that another one of the same name hides: those of schemes
 * first, of which a command has none or two. */
struct cc_option_list {
    struct cc_option option[CC_MAX_OPTIONS + 2];
    size_t count, schemes;
};
void cc_option_list(const struct cc_command *c, struct cc_option_list *out);

/* "-o, --output FILE"; its help; and its help with the default. */
void cc_option_title(const struct cc_option *o, char *out, size_t cap);
void cc_option_help(const struct cc_option *o, char *out, size_t cap);
void cc_option_text(const struct cc_option *o, char *out, size_t cap);
/* "step_s [s]", and its help with the table's head and unit. */
void cc_column_title(const struct cc_column *c, char *out, size_t cap);
void cc_column_text(const struct cc_column *c, char *out, size_t cap);

#endif
