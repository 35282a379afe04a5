/* The command line: what a command is, and its parsed arguments. A command is described once, by a
 * struct cc_command with a table of options and one of columns; parsing, --help and the man page
 * read the same tables. */
#ifndef CC_CMD_CLI_COMMAND_H
#define CC_CMD_CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "results/record.h"
#include "schemes/plugin_load.h"
#include "schemes/spec.h"

/* The subject of an option: its heading in --help of commands with many options. */
enum cc_option_group {
    CC_NO_GROUP,
    CC_GROUP_TRAIN,
    CC_GROUP_SEND,
    CC_GROUP_CLUSTER,
    CC_GROUP_STEP,
    CC_GROUP_RUN,
    CC_GROUP_OUTPUT,
    CC_OPTION_GROUPS
};
extern const char *const cc_option_group_names[CC_OPTION_GROUPS];

/* An option. Tables end with an option without a name. An option with an argument may be given once
 * (--scheme adds up), unless it repeats. A command's option replaces the common option of the same
 * name. */
struct cc_option {
    const char *name;           /* without the dashes */
    const char *value;          /* the name of its argument ("PATH"); NULL: it takes none */
    const char *def;            /* the default, for help; NULL: none */
    const char *help;           /* sentences without the last full stop */
    const char *const *choices; /* allowed arguments, ending with NULL; NULL: any */
    const char *const *words;   /* some allowed arguments, for completion; or NULL */
    char letter;                /* one-letter form, or 0 */
    enum cc_option_group group; /* if the command's options have groups, */
    bool often;                 /* --help explains those that are used often, --help all all */
    bool repeats;               /* may be given more than once; cc_arg has the last argument */
    /* Called with each argument before any other word is parsed: the option brings schemes, which
     * --scheme may name wherever it stands. NULL: nothing. */
    int (*before)(const char *value, struct cc_error *e);
    const char *may_follow; /* the word that may follow an option without an argument; or NULL */
    /* The argument is a path. cc_args_check_outputs tests the written ones against the others. */
    enum { CC_NO_FILE, CC_READS_FILE, CC_WRITES_FILE } file;
};

/* The option that loads plugins, of the commands that take schemes. */
/* clang-format off */
#define CC_PLUGIN_OPTION                                                                           \
    {.name = "plugin", .value = "FILE", .file = CC_READS_FILE, .group = CC_GROUP_SEND,             \
     .repeats = true, .before = cc_plugin_load,                                                    \
     .help = "a scheme of your own, compiled to a shared object (docs/plugins.md), which is then " \
             "used as those of the catalogue; may be repeated. Its code is run: load only what "   \
             "you trust"}
/* clang-format on */

struct cc_args;

struct cc_command {
    const char *name; /* "bench", "trace info" */
    const char *summary;
    const char *operands; /* "IN OUT", "FILE..." for one or more, or "" */
    int min_operands, max_operands;
    int output_operand;      /* the operand that is written, from 1; 0: none */
    const char *description; /* paragraphs separated by an empty line */
    const char *examples;    /* a line each: the command, then "  # what it does" */
    const struct cc_option *options;
    const struct cc_column *columns;                                /* of its record */
    enum { CC_NO_SCHEME, CC_ONE_SCHEME, CC_SCHEMES } takes_schemes; /* --scheme, parameters */
    bool own_output; /* prints and writes its result itself, without the record */
    /* Does the work: fills args->record, which main prints, also after an error. */
    int (*run)(struct cc_args *args, struct cc_error *e);
};

/* All commands, in the order of --help, ending with NULL; cmd/main.c lists them. */
extern const struct cc_command *const cc_commands[];
/* The options that every command has which prints a record, and those of every command. */
extern const struct cc_option cc_record_options[], cc_common_options[];

/* --- the parsed command line --- */

enum { CC_MAX_OPTIONS = 96, CC_MAX_OPERANDS = 64 };

struct cc_args {
    const struct cc_command *command;
    int argc;
    char **argv;
    /* By index (cc_option_at): the command's options, the record's, the common ones. */
    const char *value[CC_MAX_OPTIONS];
    const char *operand[CC_MAX_OPERANDS];
    int operands;
    struct cc_spec_list schemes; /* of --scheme */
    enum { CC_NO_HELP, CC_HELP, CC_HELP_ALL } help;
    bool quiet;
    enum cc_format format;
    struct cc_record record;
};

/* Parses argv[first..argc) into *args, which the caller zeroed and later releases with
 * cc_args_free, also after an error. CC_USAGE with a message that suggests the nearest valid name.
 * With --help nothing else is checked. The texts of argv must outlive *args. */
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

/* The largest seed: JSON numbers are exact up to here. */
#define CC_MAX_SEED (((uint64_t)1 << 53) - 1)

/* The option's argument ("" if it takes none), or NULL if it was not given. The command must have
 * the option. */
const char *cc_arg(const struct cc_args *args, const char *name);
/* Whether the command has the option. */
bool cc_arg_known(const struct cc_args *args, const char *name);
/* cc_arg, or NULL if the command does not have the option. */
const char *cc_arg_or_null(const struct cc_args *args, const char *name);
/* Sets the option as if it had been given; the text must outlive *args. */
void cc_arg_set(struct cc_args *args, const char *name, const char *value);

/* Parse the option's argument. If it was not given, the result keeps the caller's default. A value
 * that cannot be parsed is a usage error that begins with the option's name. cc_arg_count: a count
 * between min and max; _time: seconds; _real: a finite number. */
int cc_arg_count(const struct cc_args *args, const char *name, uint64_t min, uint64_t max,
                 uint64_t *value, struct cc_error *e);
int cc_arg_time(const struct cc_args *args, const char *name, double *out, struct cc_error *e);
int cc_arg_real(const struct cc_args *args, const char *name, double *out, struct cc_error *e);
/* The index of the option's argument in its choices. */
void cc_arg_choice(const struct cc_args *args, const char *name, int *out);

/* The tables of a command's options: its own, those of records if it has one, the common ones. */
enum { CC_OPTION_TABLES = 3 };
const struct cc_option *cc_option_table(const struct cc_command *c, int i);
/* The number of these options, and each of them. */
size_t cc_option_count(const struct cc_command *c);
const struct cc_option *cc_option_at(const struct cc_command *c, size_t i);

#endif
