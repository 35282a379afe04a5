/* The command line: what a command is, and its parsed arguments. A command is described once, by a
 * struct cc_command with a table of options and one of columns; parsing, --help and the man page
 * read the same tables. */
#ifndef CC_CMD_CLI_COMMAND_H
#define CC_CMD_CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/cli/option.h"
#include "results/record.h"
#include "schemes/spec.h"

struct cc_args;
struct cc_recipe_command;
struct cc_recipe_part;

struct cc_command {
    const char *name; /* "bench", "trace info" */
    const char *summary;
    const char *operands; /* "IN OUT", "FILE..." for one or more, or "" */
    int min_operands, max_operands;
    int output_operand;      /* the operand that is written, from 1; 0: none */
    const char *description; /* paragraphs separated by an empty line */
    const char *examples;    /* a line each: the command, then "  # what it does"; the most useful
                              * two first, which --help has */
    const char *page;        /* that goes on: "docs/model.md" */
    const struct cc_option_use *options;
    const struct cc_column *columns;                                /* the columns of its record */
    enum { CC_NO_SCHEME, CC_ONE_SCHEME, CC_SCHEMES } takes_schemes; /* --scheme, parameters */
    bool own_output; /* prints and writes its result itself, without the record */
    /* Does the work: fills args->record, which main prints, also after an error. */
    int (*run)(struct cc_args *args, struct cc_error *e);
};

/* The options that every command has which prints a record, and those of every command; and the one
 * that loads plugins, of the commands that take schemes. */
extern const struct cc_option cc_record_options[], cc_common_options[], cc_plugin_options[];

/* cc_record_options: how the result is printed. */
struct cc_output_options {
    struct cc_given given;
    enum cc_format format;
    const char *output, *columns, *notes;
    bool wide;
};

/* --- the options of a command --- */

enum { CC_MAX_OPTIONS = 128, CC_MAX_OPERANDS = 64, CC_MAX_MORE = 16 };

/* --scheme and --NAME for commands that take schemes, if they are asked for; then the command's own
 * options, those of records if it has one, and the common ones, with what the command has of its
 * own. A name stands once: the first hides others. */
struct cc_option_list {
    struct cc_option option[CC_MAX_OPTIONS];
    const struct cc_option *row[CC_MAX_OPTIONS]; /* the row of a table that each comes from */
    size_t schemes, own, count;                  /* these end before schemes, before own, ... */
};
void cc_option_list(const struct cc_command *c, bool schemes, struct cc_option_list *out);
/* The index of the option whose name is the first n bytes of `name`; SIZE_MAX: there is none. */
size_t cc_option_find(const struct cc_option_list *list, const char *name, size_t n);

/* --- the parsed command line --- */

struct cc_args {
    const struct cc_command *command, *const *commands; /* the latter all, ending with NULL */
    int argc, first; /* the words of the options begin at `first` */
    char **argv;
    /* The recipe's command that these options are of, or NULL; and the result beside which its
     * journal is kept, NULL: that of --output. */
    const struct cc_recipe_command *recipe;
    const char *journal;
    struct cc_recipe_part *part; /* of a recipe, the only call to be done; or NULL */
    bool printed;                /* the command has printed its result itself, this time */
    struct cc_option_list options;
    const char *value[CC_MAX_OPTIONS]; /* by option */
    const char *more[CC_MAX_MORE]; /* the arguments of an option that adds up, but for the first */
    int more_count;
    const char *operand[CC_MAX_OPERANDS];
    int operands;
    struct cc_spec_list schemes; /* those of --scheme */
    const char *help; /* of --help: "", "all" or the name of an option; NULL: not given */
    bool quiet;
    struct cc_output_options
        output; /* as without options, if the command prints its result itself */
    struct cc_record record;
};

/* The command of this name, or NULL; `commands` ends with NULL. */
const struct cc_command *cc_command_find(const struct cc_command *const *commands,
                                         const char *name);
/* The second word of a command of this group: "info" of "trace info". NULL: it is not of the group.
 */
const char *cc_command_in_group(const struct cc_command *c, const char *group);

/* Parses argv[first..argc) into *args, which the caller zeroed but for `commands`, and later
 * releases with cc_args_free, also after an error. CC_USAGE with a message that suggests the
 * nearest valid name. With --help nothing else is checked. The texts of argv must outlive *args. */
int cc_args_parse(struct cc_args *args, const struct cc_command *command, int argc, char **argv,
                  int first, struct cc_error *e);
void cc_args_free(struct cc_args *args);
/* Whether the files that the options name (CC_WRITES_FILE) can be written, to be known before hours
 * of work: in a place where files can be made, with a suffix that tells the format where one is
 * needed, no two to the same file, and none over what the command reads. Opens no pipe. */
int cc_args_check_outputs(const struct cc_args *args, struct cc_error *e);
/* The same for a file that no option names, as it is written beside one that is: `name` is what a
 * message calls it. */
int cc_args_check_beside(const struct cc_args *args, const char *name, const char *path,
                         struct cc_error *e);
/* Prints what tells whether an input has changed: a line with size and time for each file that the
 * command reads, of a directory for each file in it. */
int cc_args_put_inputs(const struct cc_args *args, FILE *out, struct cc_error *e);

/* The largest seed: JSON numbers are exact up to here. */
#define CC_MAX_SEED (((uint64_t)1 << 53) - 1)

/* The text level, for recipes, and where a command's words decide which of its parts it becomes.
 * The option's argument ("" if it takes none); NULL if it was not given, or the command does not
 * have it. */
const char *cc_arg(const struct cc_args *args, const char *name);
/* Whether the option was given with this argument. */
bool cc_arg_is(const struct cc_args *args, const char *name, const char *value);
/* Sets the option as if it had been given, or not with NULL, before the structs are read. The
 * command must have it; the text must outlive *args. */
void cc_arg_set(struct cc_args *args, const char *name, const char *value);

#endif
