/* Options. Each is one row of a table: its name, the member of a struct that its argument fills,
 * its default, its help. A struct of options begins with a struct cc_given and has one table, which
 * several commands may take rows from; cc_options_read fills it in one call, in no particular
 * order, and the command then checks it. Parsing, --help, the man page and the completion in shells
 * read the same rows. */
#ifndef CC_CMD_CLI_OPTION_H
#define CC_CMD_CLI_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/exchange.h"

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

/* How the text of an argument is read; the member's type says the rest. */
enum cc_option_kind {
    CC_TAKES_WORD,  /* bool: the option is given; const char *: the text; an enum: one of `choices`
                     */
    CC_TAKES_COUNT, /* a whole number from min to max, as in 25M: int, uint64_t, size_t or double */
    CC_TAKES_REAL,  /* double: a finite number */
    CC_TAKES_TIME,  /* double: seconds, as in 5ms */
    CC_TAKES_RATE,  /* double: bits per second, as in 10mbps */
    CC_TAKES_SHARE  /* double: 1% or 0.01 */
};

/* An option. Tables end with a row without a name. An option with an argument may be given once
 * (--scheme adds up), unless it repeats. */
struct cc_option {
    const char *name;  /* without the dashes */
    const char *value; /* the name of its argument ("PATH"); NULL: it takes none */
    /* The default, read as if it had been given. NULL: the member keeps the value that it has. */
    const char *def;
    /* The default in words, where other options decide it, for help alone; "": none. */
    const char *otherwise;
    /* Sentences without the last full stop. {words} stands for the choices or words, {exchanges}
     * for the exchanges that have the flag. */
    const char *help;
    enum cc_exchange_flag exchanges;
    const char *const *choices; /* allowed arguments, ending with NULL; NULL: any */
    const char *const *words;   /* some allowed arguments, for completion; or NULL */
    char letter;                /* one-letter form, or 0 */
    enum cc_option_group group; /* if the command's options have groups, */
    /* A few words for --help, which has the options that are used often: NULL or "" is not one of
     * them. --help all has all options. */
    const char *brief;
    bool repeats; /* may be given more than once; the last argument counts, */
    bool adds_up; /* or the first, and args->more has the others */
    enum cc_option_kind kind;
    uint64_t min, max; /* limits of counts; max 0: no limit but the type's */
    /* CC_OPTION_AT: the member. CC_OPTION_LIST: an array of its type, from a list with commas,
     * which belongs to the struct, and the member that counts it. at is 0 without a member. */
    size_t at, count_at, size;
    enum cc_member_type {
        CC_MEMBER_OTHER,
        CC_MEMBER_BOOL,
        CC_MEMBER_INT,
        CC_MEMBER_SIZE,
        CC_MEMBER_DOUBLE,
        CC_MEMBER_TEXT
    } type;
    /* In place of the kind: sets the member, or the element of a list, from a text, and allocates
     * nothing. An error's message gets the option's name in front, unless it begins with one. */
    int (*parse)(const char *text, void *member, struct cc_error *e);
    /* Called with each argument before any other word is parsed: the option brings schemes, which
     * --scheme may name wherever it stands. NULL: nothing. */
    int (*before)(const char *value, struct cc_error *e);
    bool may_name_option; /* --help: the name of an option, or "all", may follow */
    /* The argument is a path. cc_args_check_outputs tests the written ones against the others. */
    enum { CC_NO_FILE, CC_READS_FILE, CC_WRITES_FILE } file;
};

#define CC_MEMBER_TYPE(expression)                                                                 \
    _Generic((expression),                                                                         \
        bool: CC_MEMBER_BOOL,                                                                      \
        int: CC_MEMBER_INT,                                                                        \
        unsigned: CC_MEMBER_INT,                                                                   \
        unsigned long: CC_MEMBER_SIZE,                                                             \
        unsigned long long: CC_MEMBER_SIZE,                                                        \
        double: CC_MEMBER_DOUBLE,                                                                  \
        const char *: CC_MEMBER_TEXT,                                                              \
        default: CC_MEMBER_OTHER)
#define CC_OPTION_AT(struct_type, member)                                                          \
    .at = offsetof(struct_type, member), .size = sizeof(((struct_type *)0)->member),               \
    .type = CC_MEMBER_TYPE(((struct_type *)0)->member)
#define CC_OPTION_LIST(struct_type, member, counter)                                               \
    .at = offsetof(struct_type, member), .count_at = offsetof(struct_type, counter),               \
    .size = sizeof *((struct_type *)0)->member,                                                    \
    .type = CC_MEMBER_TYPE(*((struct_type *)0)->member)

/* The rows that a command takes from a table: those that are named, in this order, with blanks
 * between them, or all. `own` has what differs in this command from the one row that is named: its
 * value, def ("" for none), otherwise, help, brief, choices, words, max or group. Lists end with an
 * element without rows. A row hides later ones of its name. */
struct cc_option_use {
    const struct cc_option *rows;
    const char *names;
    struct cc_option own;
};

/* The first member of a struct of options: its table, and which of its rows were given. */
struct cc_given {
    const struct cc_option *rows;
    uint64_t bits[2];
};

struct cc_args;

/* Fills the struct of options at `options` by its table. A row that the command does not have has
 * the table's default; a member whose row has neither argument nor default stays as it is: zero the
 * struct before. A text that cannot be read is a usage error that begins with the option's
 * name. cc_options_free releases the lists, also after an error; they must be empty before. */
int cc_options_read(const struct cc_args *args, const struct cc_option *rows, void *options,
                    struct cc_error *e);
void cc_options_free(void *options);

/* Whether the arguments that were given can be read, whatever the struct, before a command does. */
int cc_options_check(const struct cc_args *args, struct cc_error *e);

/* The same for one row and its argument. */
int cc_option_read(const struct cc_option *o, const char *text, void *options, struct cc_error *e);

/* The name of the option that fills the member, if it was given; otherwise NULL. */
const char *cc_given(const void *options, const void *member);
/* The first of these members that was given: a list that ends with NULL. Or of all. */
const char *cc_given_of(const void *options, const void *const *members);
const char *cc_given_any(const void *options);

#endif
