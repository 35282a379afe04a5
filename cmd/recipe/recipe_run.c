/* Running a recipe's command: its calls one after the other, the rows of all in one record. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cli/terminal.h"
#include "cmd/recipe/recipe.h"
#include "core/interrupt.h"
#include "core/memory_text.h"

/* --- rows and notes --- */

/* Moves the rows, and what else is printed, from a call's record, which has the same columns. A
 * note that several calls have stays once; those of the recipe stand in place of the command's. */
static int take_record(const struct cc_recipe_command *c, struct cc_record *r,
                       struct cc_record *from, struct cc_error *e)
{
    for (size_t i = 0; i < from->row_count; i++) {
        size_t at;
        CC_TRY(cc_record_add(r, &at, e));
        const struct cc_row row = r->rows[at];
        r->rows[at] = from->rows[i];
        from->rows[i] = row;
    }
    for (size_t i = 0; i < from->note_count && c->keys == NULL; i++)
        CC_TRY(cc_record_note_once(r, e, "%s", from->notes[i]));
    if (from->mpi[0] != '\0')
        memcpy(r->mpi, from->mpi, sizeof r->mpi);
    cc_record_title(r, "%s", c->title != NULL ? c->title : from->title);
    r->partial = r->partial || from->partial;
    return CC_OK;
}

/* The columns that the table shows: "net,workers". */
static int choose(const struct cc_recipe_command *c, struct cc_record *r, struct cc_error *e)
{
    struct cc_memory_text text;
    if (c->columns == NULL)
        return CC_OK;
    CC_TRY(cc_memory_text_begin(&text, "the columns of a recipe", e));
    for (const cJSON *k = c->columns->child; k != NULL; k = k->next)
        fprintf(text.f, "%s%s", k->valuestring, k->next != NULL ? "," : "");
    CC_TRY(cc_memory_text_end(&text, CC_OK, e));
    const int status = cc_record_choose_usual(r, text.text, e);
    free(text.text);
    return status;
}

/* --- calls --- */

/* Does the call, or takes what was done. After an error or an interrupt the rows until then are
 * kept. */
static int do_call(const struct cc_recipe_calls *calls, const struct cc_recipe_call *call,
                   struct cc_recipe_journal *journal, struct cc_record *r, struct cc_error *e)
{
    struct cc_args one;
    const size_t first = r->row_count;
    struct cc_error why = {""};
    bool found = false;
    int status = cc_recipe_call_parse(calls, call, &one, e);
    if (status == CC_OK)
        status = cc_recipe_journal_find(journal, calls, call, &one, &found, e);
    if (status == CC_OK && !found) {
        status = calls->args->command->run(&one, e);
        if (status == CC_OK && !one.record.partial && !cc_interrupted())
            status = cc_recipe_journal_add(journal, &one.record, e);
    }
    if (take_record(calls->command, r, &one.record, &why) != CC_OK ||
        cc_recipe_rows_of_call(call, r, first, &why) != CC_OK) {
        status = CC_FAIL;
        *e = why;
    }
    cc_args_free(&one);
    return status;
}

static int run_calls(struct cc_args *args, const struct cc_recipe_calls *calls, struct cc_error *e)
{
    struct cc_record *r = &args->record;
    struct cc_recipe_journal journal;
    if (args->journal == NULL && calls->count > 1)
        args->journal = args->output.output;
    int status = cc_recipe_journal_open(&journal, calls, args->journal, args->part, e);
    for (size_t i = 0; i < calls->count && status == CC_OK && !cc_interrupted(); i++)
        if (args->part == NULL || args->part->seen++ == args->part->wanted)
            status = do_call(calls, &calls->call[i], &journal, r, e);
    cc_recipe_journal_close(&journal);
    return status;
}

static int add_notes(const struct cc_recipe_command *c, struct cc_record *r, struct cc_error *e)
{
    for (const cJSON *n = cc_recipe_first(c->notes); n != NULL; n = n->next)
        CC_TRY(
            cc_record_note_once(r, e, "%s", n->valuestring)); /* a command may have put it, too */
    return CC_OK;
}

int cc_recipe_check(const struct cc_args *args, const struct cc_recipe_command *c,
                    const char *label, struct cc_error *e)
{
    struct cc_recipe_calls calls;
    int status = cc_recipe_calls_make(args, c, label, &calls, e);
    if (status == CC_OK)
        status = cc_recipe_rows_check(c, args->command, e);
    cc_recipe_calls_free(&calls);
    return status;
}

int cc_recipe_count(const struct cc_recipe *r, const struct cc_command *const *commands,
                    size_t *count, struct cc_error *e)
{
    char *none[] = {NULL};
    *count = 0;
    for (size_t i = 0; i < r->count; i++) {
        const struct cc_recipe_command *c = &r->item[i];
        const struct cc_command *command = cc_command_find(commands, c->command);
        struct cc_args args = {.commands = commands};
        struct cc_recipe_calls calls = {.count = 0};
        if (command == NULL)
            return cc_fail(e, "%s: command %zu: '%.40s' is not a command", r->name, i, c->command);
        int status = cc_args_parse(&args, command, 0, none, 0, e);
        if (status == CC_OK)
            status = cc_recipe_calls_make(&args, c, r->name, &calls, e);
        *count += calls.count;
        cc_recipe_calls_free(&calls);
        cc_args_free(&args);
        CC_TRY(status);
    }
    return CC_OK;
}

int cc_recipe_run(struct cc_args *args, const struct cc_recipe_command *c, const char *label,
                  struct cc_error *e)
{
    struct cc_record *r = &args->record;
    struct cc_recipe_calls calls;
    int status = CC_OK;
    CC_TRY_OUT(cc_recipe_calls_make(args, c, label, &calls, e));
    CC_TRY_OUT(choose(c, r, e));
    if (c == c->recipe->item && c->recipe->takes[0] != '\0' && !args->quiet)
        cc_say("%s takes %s with its own options", c->recipe->name, c->recipe->takes);
    status = run_calls(args, &calls, e);
    r->partial = r->partial || cc_interrupted();
    struct cc_error why = {""};
    if (cc_recipe_rows_complete(c, r, &why) != CC_OK || add_notes(c, r, &why) != CC_OK ||
        cc_recipe_crossings(c, r, &why) != CC_OK) {
        status = CC_FAIL;
        *e = why;
    }
out:
    cc_recipe_calls_free(&calls);
    return status;
}

int cc_recipe_run_named(struct cc_args *args, const char *folder, const char *option,
                        struct cc_error *e)
{
    char name[96], label[96];
    struct cc_recipe *recipe;
    (void)snprintf(name, sizeof name, "%s/%s", folder, cc_arg(args, option));
    (void)snprintf(label, sizeof label, "--%s %s", option, cc_arg(args, option));
    CC_TRY(cc_recipe_open(name, &recipe, e));
    const int status = cc_recipe_run(args, &recipe->item[0], label, e);
    cc_recipe_free(recipe);
    return status;
}
