/* Running recipes: recipe_calls.c makes the calls of a command, recipe_rows.c fills in what a
 * recipe sets in rows, recipe_journal.c keeps what is done, recipe_run.c runs all of it; recipes.c
 * lists recipes. */
#ifndef CC_CMD_RECIPE_RECIPE_H
#define CC_CMD_RECIPE_RECIPE_H

#include <stdbool.h>

#include "cmd/cli/command.h"
#include "models/recipe.h"

/* --- the calls of a command --- */

enum { CC_RECIPE_AXES = 8, CC_RECIPE_CALLS = 10000 };

/* A call: its words, as of a command line, without those of the output, and the cases that it is
 * of.
 */
struct cc_recipe_call {
    char **word;
    size_t words, capacity;
    const cJSON *of[CC_RECIPE_AXES]; /* NULL where the axis is a list of an option */
};

struct cc_recipe_calls {
    const struct cc_args *args; /* those of the user */
    const struct cc_recipe_command *command;
    const char *label; /* "--paper thesis-5.4", for messages */
    cJSON *apart;      /* the lists of the options that are taken apart */
    struct cc_recipe_call *call;
    size_t count;
};

/* Makes the calls, and checks them as far as can be without working: options, schemes, columns,
 * tables. Free them also after an error. */
int cc_recipe_calls_make(const struct cc_args *args, const struct cc_recipe_command *c,
                         const char *label, struct cc_recipe_calls *out, struct cc_error *e);
void cc_recipe_calls_free(struct cc_recipe_calls *calls);
/* Whether the word names an option of a command. Sets *span to the number of words with its
 * argument, and *index to that of the option. */
bool cc_recipe_word(const struct cc_option_list *list, const char *word, int *span, size_t *index);
/* Parses a call into *out, whose record is empty; free it with cc_args_free, also after an error.
 */
int cc_recipe_call_parse(const struct cc_recipe_calls *calls, const struct cc_recipe_call *call,
                         struct cc_args *out, struct cc_error *e);

/* Whether a list of texts, or NULL, has the word. */
bool cc_recipe_has(const cJSON *list, const char *word);

/* --- rows --- */

/* Sets the value of a row in a column of the record: a text, a number or a truth value. */
int cc_recipe_set_value(struct cc_record *r, size_t row, const struct cc_result_key *key,
                        const cJSON *value, struct cc_error *e);

/* Sets the columns of a call's cases in its rows, of the record from `first` on. */
int cc_recipe_rows_of_call(const struct cc_recipe_call *call, struct cc_record *r, size_t first,
                           struct cc_error *e);
/* Sets what the recipe computes and what is published, once all rows are there; and compares. */
int cc_recipe_rows_complete(const struct cc_recipe_command *c, struct cc_record *r,
                            struct cc_error *e);
/* Notes which rows of the recipe's crossings are ahead where. */
int cc_recipe_crossings(const struct cc_recipe_command *c, struct cc_record *r, struct cc_error *e);
/* Refuses columns that the record does not have, and members that are for other commands. */
int cc_recipe_rows_check(const struct cc_recipe_command *c, const struct cc_command *command,
                         struct cc_error *e);

/* --- running --- */

/* Runs a command of a recipe in place of args->command->run: args has the options of the user, who
 * chose it by `label`. With a file of results, calls that were complete are taken from its journal.
 */
int cc_recipe_run(struct cc_args *args, const struct cc_recipe_command *c, const char *label,
                  struct cc_error *e);
/* Counts the calls of all commands of a recipe, as they are without options of the user. */
int cc_recipe_count(const struct cc_recipe *r, const struct cc_command *const *commands,
                    size_t *count, struct cc_error *e);
/* Checks all that can be known before work. */
int cc_recipe_check(const struct cc_args *args, const struct cc_recipe_command *c,
                    const char *label, struct cc_error *e);
/* The same for --paper or --recipe, `option`, of a command: the recipe is FOLDER/NAME, whose first
 * command is this one. */
int cc_recipe_run_named(struct cc_args *args, const char *folder, const char *option,
                        struct cc_error *e);

/* --- what was done --- */

/* The journal of a result: a line for each call that was complete. */
struct cc_recipe_journal {
    char *path; /* NULL: there is none, and the functions do nothing */
    char *text; /* as it is written; NULL: nothing yet */
    char *head; /* the beginning of the line of the call that was looked up last */
};

/* The journal's path beside `output`, to be freed; NULL where that is none, or a stream. */
int cc_recipe_journal_path(const char *output, char **out, struct cc_error *e);
/* The same of a single call of a recipe, which another process may do at the same time: its rows
 * are kept in a journal of its own, FILE.journal.N. */
struct cc_recipe_part {
    size_t wanted; /* the number of the call among those of all commands, from 0 */
    size_t seen;   /* calls that were counted so far */
};

/* Opens the journal beside `output`, with the lines of the journals of its parts, or, unless part
 * is NULL, that of a part alone. Lines that are damaged, or that another version of the program
 * wrote, are dropped with a remark that names file and line: their calls are done again. A file
 * that is not a journal is an error. Close it also after an error. */
int cc_recipe_journal_open(struct cc_recipe_journal *j, const struct cc_recipe_calls *calls,
                           const char *output, const struct cc_recipe_part *part,
                           struct cc_error *e);
/* Adds the rows and notes of the call, which was parsed into *args, to args->record if it was done;
 * sets *found. */
int cc_recipe_journal_find(struct cc_recipe_journal *j, const struct cc_recipe_calls *calls,
                           const struct cc_recipe_call *call, struct cc_args *args, bool *found,
                           struct cc_error *e);
/* Adds the call that was looked up last, whose record is complete. */
int cc_recipe_journal_add(struct cc_recipe_journal *j, const struct cc_record *r,
                          struct cc_error *e);
/* Removes it and those of its parts, once the result is written. */
void cc_recipe_journal_remove(const char *output);
void cc_recipe_journal_close(struct cc_recipe_journal *j);

#endif
