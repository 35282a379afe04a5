/* A command of the program: its options, the columns of its record, and what it does. Parsing,
 * --help and the man page all come from this description. */
#ifndef CC_CMD_CLI_COMMAND_H
#define CC_CMD_CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "results/record.h"
#include "schemes/spec.h"

/* One option. A table ends with an option without a name. Every option but `--scheme` is given at
 * most once; the last one counts. A command's option stands for the common one of its name. */
struct cc_option {
    const char *name;           /* without the dashes */
    const char *value;          /* what its argument is called ("PATH"); NULL: it takes none */
    const char *def;            /* the default, for help; NULL: none */
    const char *help;           /* sentences without the last full stop */
    const char *const *choices; /* allowed arguments, ending with NULL; NULL: any */
    char letter;                /* one-letter form, or 0 */
    /* The argument is a path. cc_args_check_outputs tests the written ones against the others. */
    enum { CC_NO_FILE, CC_READS_FILE, CC_WRITES_FILE } file;
};

struct cc_args;

struct cc_command {
    const char *name; /* "bench", "trace info" */
    const char *summary;
    const char *operands; /* "IN OUT", or "" */
    int min_operands, max_operands;
    const char *description; /* paragraphs separated by an empty line */
    const char *examples;    /* a line each: the command, then "  # what it does" */
    const struct cc_option *options;
    const struct cc_column *columns;                                /* of its record */
    enum { CC_NO_SCHEME, CC_ONE_SCHEME, CC_SCHEMES } takes_schemes; /* --scheme, and parameters */
    bool own_output; /* it prints and writes its result itself: no record */
    int (*run)(struct cc_args *args, struct cc_error *e);
};

/* Every command, ending with NULL. */
extern const struct cc_command *const cc_commands[];
/* The options that all commands have. */
extern const struct cc_option cc_common_options[];

/* --- the parsed command line --- */

enum { CC_MAX_OPTIONS = 96, CC_MAX_OPERANDS = 4 };

struct cc_args {
    const struct cc_command *command;
    int argc;
    char **argv;
    const char *value[CC_MAX_OPTIONS]; /* by index: the command's options, then the common ones */
    const char *operand[CC_MAX_OPERANDS];
    int operands;
    struct cc_spec_list schemes;
    bool help, quiet;
    enum cc_format format;
    struct cc_record record; /* filled by run, printed by main, also after an error */
};

/* Fills *args (zeroed by the caller). On a usage error the message names the nearest valid word. */
int cc_args_parse(struct cc_args *args, const struct cc_command *command, int argc, char **argv,
                  int first, struct cc_error *e);
void cc_args_free(struct cc_args *args);
/* Whether the files that the options name (CC_WRITES_FILE) can be written, to be known before hours
 * of work: in a place where files can be made, with a suffix that says the format where one is
 * needed, no two to the same file, and none over what the command reads. Opens no pipe. */
int cc_args_check_outputs(const struct cc_args *args, struct cc_error *e);

/* Seeds are written as JSON numbers, which are exact up to here. */
#define CC_MAX_SEED (((uint64_t)1 << 53) - 1)

/* The option's argument ("" for one that takes none), or NULL if it was not given. The name must be
 * one of the command's options. */
const char *cc_arg(const struct cc_args *args, const char *name);
/* Whether the command has such an option. */
bool cc_arg_known(const struct cc_args *args, const char *name);
/* cc_arg, and NULL if it has none. */
const char *cc_arg_or_null(const struct cc_args *args, const char *name);
/* As if the option had been given; the text must outlive *args. */
void cc_arg_set(struct cc_args *args, const char *name, const char *value);

/* The argument as a count between min and max; *out keeps its default if the option is absent. */
int cc_arg_count(const struct cc_args *args, const char *name, uint64_t min, uint64_t max,
                 uint64_t *out, struct cc_error *e);
/* The argument as a time in seconds, or as a number; *out likewise. */
int cc_arg_time(const struct cc_args *args, const char *name, double *out, struct cc_error *e);
int cc_arg_real(const struct cc_args *args, const char *name, double *out, struct cc_error *e);
/* The index of the argument in the option's choices; *out keeps its default if absent. */
void cc_arg_choice(const struct cc_args *args, const char *name, int *out);

/* "--help" and the man page. */
void cc_help_program(FILE *out);
void cc_help_group(const char *group, FILE *out); /* "trace": its commands */
void cc_help_command(const struct cc_command *c, FILE *out);
void cc_help_man(FILE *out);

/* `commcomp lab-enter`, which is not for people and in no list. */
int cc_lab_enter_main(int argc, char **argv);

extern const struct cc_command cc_command_bench, cc_command_schemes, cc_command_nets,
    cc_command_model, cc_command_calibrate, cc_command_advise, cc_command_run, cc_command_sim,
    cc_command_paper, cc_command_plot, cc_command_encode, cc_command_decode, cc_command_trace_info,
    cc_command_trace_synth, cc_command_trace_convert, cc_command_validate;

#endif
