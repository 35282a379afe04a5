/* The calls of a recipe's command: its options and those of the user, for each combination of its
 * lists and cases. A call is parsed as a command line is, so that every mistake is found where
 * options are. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/recipe/recipe.h"
#include "core/file.h"
#include "core/format/json.h"
#include "core/memory.h"
#include "models/paper/paper.h"

bool cc_recipe_has(const cJSON *list, const char *word)
{
    for (const cJSON *c = cc_recipe_first(list); c != NULL; c = c->next)
        if (strcmp(c->valuestring, word) == 0)
            return true;
    return false;
}

/* --- options of the user --- */

/* The user's argument, or NULL. That of --scheme is not kept as a text: "" stands for it. */
static const char *given(const struct cc_args *args, const char *name)
{
    if (strcmp(name, "scheme") == 0)
        return args->schemes.count > 0 ? "" : NULL;
    return cc_arg(args, name);
}

/* Whether the option chooses the recipe. */
static bool chooses(const char *option)
{
    return strcmp(option, "paper") == 0 || strcmp(option, "recipe") == 0;
}

static int refuse(const struct cc_recipe_calls *calls, const char *option, const char *because,
                  struct cc_error *e)
{
    return cc_usage(e, "%s and --%s exclude each other: %s", calls->label, option, because);
}

/* Refuses names in a list, or of an object's members, that are not options of the command. */
static int check_names(const struct cc_args *args, const cJSON *list, const char *member,
                       struct cc_error *e)
{
    for (const cJSON *o = cc_recipe_first(list); o != NULL; o = o->next) {
        const char *name = o->string != NULL ? o->string : o->valuestring;
        if (strcmp(name, "scheme") != 0 &&
            cc_option_find(&args->options, name, strlen(name)) == SIZE_MAX)
            return cc_fail(e, "%s: %s has no option --%.60s", member, args->command->name, name);
    }
    return CC_OK;
}

/* Refuses the user's options that the recipe does not go with: some by name, or, with a list of
 * those that are open, all others of the command. */
static int refuse_others(const struct cc_recipe_calls *calls, struct cc_error *e)
{
    const struct cc_recipe_command *c = calls->command;
    const char *because = c->because != NULL ? c->because : "the recipe fixes it";
    CC_TRY(check_names(calls->args, c->open, "\"open\", \"refuse\"", e));
    for (const cJSON *r = cc_recipe_first(c->refuse); r != NULL; r = r->next)
        CC_TRY(check_names(calls->args, cc_recipe_get(r, "options"), "\"open\", \"refuse\"", e));
    for (const cJSON *r = cc_recipe_first(c->refuse); r != NULL; r = r->next)
        for (const cJSON *o = cc_recipe_get(r, "options")->child; o != NULL; o = o->next)
            if (given(calls->args, o->valuestring) != NULL)
                return refuse(calls, o->valuestring, cc_recipe_get(r, "because")->valuestring, e);
    if (c->open == NULL)
        return CC_OK;
    if (calls->args->schemes.count > 0 && !cc_recipe_has(c->open, "scheme"))
        return refuse(calls, "scheme", because, e);
    for (size_t i = 0; i < calls->args->options.own; i++) {
        const char *name = calls->args->options.option[i].name;
        if (given(calls->args, name) != NULL && !cc_recipe_has(c->open, name) && !chooses(name))
            return refuse(calls, name, because, e);
    }
    return CC_OK;
}

/* --- words --- */

/* Adds a copy of the words, or with a value "word=value". */
static int add_word(struct cc_recipe_call *call, const char *word, const char *value,
                    struct cc_error *e)
{
    CC_TRY(CC_GROW(call->word, &call->capacity, call->words + 1, e));
    CC_TRY(cc_text(&call->word[call->words], e, "%s%s%s", word, value != NULL ? "=" : "",
                   value != NULL ? value : ""));
    call->words++;
    return CC_OK;
}

/* The value of a constant of a published table, after its fit. */
static int print_constant(const cJSON *value, char text[CC_NUMBER_CAP], struct cc_error *e)
{
    const char *table = cc_recipe_get(value, "table")->valuestring;
    const char *name = cc_recipe_get(value, "constant")->valuestring;
    struct cc_paper *p;
    CC_TRY(cc_paper_open(table, &p, e));
    int status = cc_paper_solve(p, e);
    const double number = cc_paper_constant_value(p, name);
    if (status == CC_OK && isnan(number))
        status = cc_fail(e, "the table %s has no constant \"%s\"", table, name);
    (void)snprintf(text, CC_NUMBER_CAP, "%.9g", number);
    cc_paper_free(p);
    return status;
}

/* Whether the user's options meet the condition of a value; one that is not given does. */
static bool holds(const struct cc_args *args, const cJSON *condition)
{
    for (const cJSON *c = cc_recipe_first(condition); c != NULL; c = c->next) {
        const char *have = given(args, c->string);
        if (have != NULL && !cc_recipe_has(c, have))
            return false;
    }
    return true;
}

/* Refuses options of a recipe that choose one, or say how the whole result is printed and saved. */
static int refuse_option(const struct cc_option_list *list, const char *word, struct cc_error *e)
{
    int span;
    size_t index;
    if (chooses(word + 2))
        return cc_fail(e, "%s chooses a recipe, and is not an option of one; \"base\" names one",
                       word);
    if (cc_recipe_word(list, word, &span, &index) && index >= list->own)
        return cc_fail(e, "%s is of the whole result: give it on the command line", word);
    return CC_OK;
}

/* The list of an option that is taken apart, {"each": [...]}; NULL: it is not. */
static const cJSON *taken_apart(const struct cc_recipe_calls *calls, const char *option)
{
    return cc_recipe_get(calls->apart, option);
}

/* Takes the user's argument apart at its commas, or takes the recipe's list. */
static int take_apart(struct cc_recipe_calls *calls, const cJSON *option, struct cc_error *e)
{
    const char *at = given(calls->args, option->string);
    cJSON *list = at != NULL ? cJSON_AddArrayToObject(calls->apart, option->string)
                             : cJSON_Duplicate(cc_recipe_get(option, "each"), 1);
    bool added = list != NULL;
    for (size_t n; at != NULL && added; at = at[n] == ',' ? at + n + 1 : NULL) {
        char word[64];
        n = strcspn(at, ",");
        (void)snprintf(word, sizeof word, "%.*s", (int)n, at);
        if (n >= sizeof word)
            return cc_usage(e, "--%s: '%.60s...' is too long", option->string, at);
        added = cJSON_AddItemToArray(list, cJSON_CreateString(word));
    }
    if (added && taken_apart(calls, option->string) == NULL)
        added = cJSON_AddItemToObject(calls->apart, option->string, list);
    return added ? CC_OK : cc_fail(e, "out of memory: the options of a recipe");
}

/* Adds an option of the recipe, unless the user gave it or its condition does not hold. */
static int add_option(const struct cc_recipe_calls *calls, struct cc_recipe_call *call,
                      const cJSON *option, const cJSON *value, struct cc_error *e)
{
    char word[72], text[CC_NUMBER_CAP];
    const cJSON *condition = cc_recipe_get(value, "if");
    (void)snprintf(word, sizeof word, "--%.68s", option->string);
    CC_TRY(refuse_option(&calls->args->options, word, e));
    CC_TRY_IN(check_names(calls->args, condition, "\"if\"", e), e, "%s", word);
    if (cJSON_IsNull(value) || !holds(calls->args, condition) ||
        (given(calls->args, option->string) != NULL && taken_apart(calls, option->string) == NULL))
        return CC_OK;
    if (condition != NULL)
        value = cc_recipe_get(value, "value");
    if (cJSON_IsTrue(value) || cJSON_IsString(value))
        return add_word(call, word, cJSON_IsTrue(value) ? NULL : value->valuestring, e);
    if (cJSON_IsNumber(value))
        cc_number_print(value->valuedouble, text);
    else
        CC_TRY_IN(print_constant(value, text, e), e, "%s", word);
    return add_word(call, word, text, e);
}

/* Whatever a case of the call says about the option, NULL: nothing; null if one takes it away. */
static const cJSON *in_case(const struct cc_recipe_call *call, const char *option)
{
    const cJSON *found = NULL;
    for (size_t i = 0; i < CC_RECIPE_AXES; i++) {
        const cJSON *o = cc_recipe_get(cc_recipe_get(call->of[i], "options"), option);
        found = found == NULL || cJSON_IsNull(o) ? o : found;
    }
    return found;
}

bool cc_recipe_word(const struct cc_option_list *list, const char *word, int *span, size_t *index)
{
    const bool is_long = strncmp(word, "--", 2) == 0;
    const char *name = word + (is_long ? 2 : 1);
    const size_t n = strcspn(name, "=");
    size_t i = is_long ? cc_option_find(list, name, n) : 0;
    *span = 1;
    while (!is_long && i < list->count &&
           (word[0] != '-' || name[0] == '\0' || list->option[i].letter != name[0]))
        i++;
    if (i >= list->count)
        return false;
    if (list->option[i].value != NULL && (is_long ? name[n] != '=' : name[1] == '\0'))
        *span = 2;
    *index = i;
    return true;
}

/* Adds the user's words without those of the output, which are of the whole result, the one that
 * chooses the recipe, and those that are taken apart. */
static int add_users_words(const struct cc_recipe_calls *calls, struct cc_recipe_call *call,
                           struct cc_error *e)
{
    const struct cc_args *args = calls->args;
    int span;
    for (int i = args->first; i < args->argc; i += span) {
        size_t index;
        if (cc_recipe_word(&args->options, args->argv[i], &span, &index)) {
            const char *name = args->options.option[index].name;
            if (index >= args->options.own || chooses(name) || cJSON_IsNull(in_case(call, name)) ||
                taken_apart(calls, name) != NULL)
                continue;
        }
        for (int k = i; k < i + span && k < args->argc; k++)
            CC_TRY(add_word(call, args->argv[k], NULL, e));
    }
    return CC_OK;
}

static int add_options(const struct cc_recipe_calls *calls, struct cc_recipe_call *call,
                       struct cc_error *e)
{
    for (const cJSON *o = cc_recipe_first(calls->command->options); o != NULL; o = o->next)
        if (!cJSON_IsArray(o) && taken_apart(calls, o->string) == NULL &&
            in_case(call, o->string) == NULL)
            CC_TRY(add_option(calls, call, o, o, e));
    return CC_OK;
}

/* --- combinations --- */

/* The lists that make calls, the slowest first: of cases, then of options' values. */
static int find_axes(struct cc_recipe_calls *calls, const cJSON *axis[CC_RECIPE_AXES], size_t *axes,
                     size_t *count, struct cc_error *e)
{
    const cJSON *lists[] = {cc_recipe_first(calls->command->each),
                            cc_recipe_first(calls->command->options)};
    *axes = 0;
    *count = 1;
    for (size_t i = 0; i < 2; i++)
        for (const cJSON *c = lists[i]; c != NULL; c = c->next) {
            const char *at = i == 1 ? given(calls->args, c->string) : NULL;
            /* The user's schemes are not a text: they are of one call, as without a recipe. */
            const bool apart =
                i == 1 && cc_recipe_get(c, "each") != NULL && (at == NULL || at[0] != '\0');
            if (apart)
                CC_TRY(take_apart(calls, c, e));
            else if (!cJSON_IsArray(c) || at != NULL)
                continue;
            const cJSON *list = apart ? taken_apart(calls, c->string) : c;
            *count *= (size_t)cJSON_GetArraySize(list);
            if (*axes == CC_RECIPE_AXES || *count > CC_RECIPE_CALLS)
                return cc_fail(e, "its lists make too many calls: at most %d, of %d lists",
                               CC_RECIPE_CALLS, CC_RECIPE_AXES);
            axis[(*axes)++] = list;
        }
    return CC_OK;
}

/* A text, or a number printed into `number`; NULL: another argument of an option. */
static const char *plain_value(const cJSON *value, char number[CC_NUMBER_CAP])
{
    if (cJSON_IsNumber(value))
        cc_number_print(value->valuedouble, number);
    return cJSON_IsNumber(value) ? number : cJSON_GetStringValue(value);
}

/* The option by which the user chose another case than this one, or NULL. */
static const cJSON *chosen_otherwise(const struct cc_args *args, const cJSON *one)
{
    for (const cJSON *o = cc_recipe_first(cc_recipe_get(one, "options")); o != NULL; o = o->next) {
        char number[CC_NUMBER_CAP];
        const char *value = plain_value(o, number);
        const char *have = value != NULL ? given(args, o->string) : NULL;
        if (have != NULL && strcmp(have, value) != 0)
            return o;
    }
    return NULL;
}

/* Says what an option of the user may be, by which no case is left. */
static int refuse_choice(const struct cc_recipe_calls *calls, struct cc_error *e)
{
    char list[256] = "";
    const char *name = NULL;
    for (const cJSON *axis = cc_recipe_first(calls->command->each); axis != NULL; axis = axis->next)
        for (const cJSON *one = axis->child; one != NULL; one = one->next) {
            const cJSON *o = chosen_otherwise(calls->args, one);
            if (o == NULL || (name != NULL && strcmp(name, o->string) != 0))
                continue;
            char number[CC_NUMBER_CAP];
            cc_list_add(list, sizeof list, ", ", "%s", plain_value(o, number));
            name = o->string;
        }
    if (name == NULL)
        return cc_usage(e, "%s: none of its cases is left", calls->label);
    if (strcmp(name, "scheme") == 0)
        return refuse(calls, name, "its cases set the schemes", e);
    return cc_usage(e, "--%s %s: %s has %s", name, given(calls->args, name), calls->label, list);
}

static void free_call(struct cc_recipe_call *call)
{
    for (size_t k = 0; k < call->words; k++)
        free(call->word[k]);
    free(call->word);
}

/* Leaves the last call out if it is one of those before it, as a list of an option makes of a case
 * that takes the option away. */
static void leave_out_again(struct cc_recipe_calls *calls)
{
    struct cc_recipe_call *last = &calls->call[calls->count - 1];
    for (const struct cc_recipe_call *c = calls->call; c < last; c++) {
        bool same = c->words == last->words && memcmp(c->of, last->of, sizeof c->of) == 0;
        for (size_t i = 0; i < last->words && same; i++)
            same = strcmp(c->word[i], last->word[i]) == 0;
        if (!same)
            continue;
        free_call(last);
        calls->count--;
        return;
    }
}

/* Adds call `n` of all combinations, unless the user chose others. */
static int add_call(struct cc_recipe_calls *calls, const cJSON *const *axis, size_t axes, size_t n,
                    struct cc_error *e)
{
    const cJSON *element[CC_RECIPE_AXES] = {NULL};
    struct cc_recipe_call *call = &calls->call[calls->count];
    *call = (struct cc_recipe_call){.word = NULL};
    for (size_t i = axes; i-- > 0;) {
        const size_t size = (size_t)cJSON_GetArraySize(axis[i]);
        element[i] = cJSON_GetArrayItem(axis[i], (int)(n % size));
        n /= size;
        if (axis[i]->string == NULL)
            call->of[i] = element[i];
        if (chosen_otherwise(calls->args, call->of[i]) != NULL)
            return CC_OK;
    }
    calls->count++;
    CC_TRY(add_users_words(calls, call, e));
    for (size_t i = 0; i < axes; i++) {
        if (axis[i]->string != NULL && in_case(call, axis[i]->string) == NULL)
            CC_TRY(add_option(calls, call, axis[i], element[i], e));
        if (axis[i]->string == NULL)
            for (const cJSON *o = cc_recipe_first(cc_recipe_get(element[i], "options")); o != NULL;
                 o = o->next)
                CC_TRY(add_option(calls, call, o, o, e));
    }
    CC_TRY(add_options(calls, call, e));
    leave_out_again(calls);
    return CC_OK;
}

int cc_recipe_call_parse(const struct cc_recipe_calls *calls, const struct cc_recipe_call *call,
                         struct cc_args *out, struct cc_error *e)
{
    const struct cc_args *args = calls->args;
    *out = (struct cc_args){.commands = args->commands, .recipe = calls->command};
    const int status = cc_args_parse(out, args->command, (int)call->words, call->word, 0, e);
    cc_record_init(&out->record, args->command->name, args->command->columns, args->argc,
                   (const char *const *)args->argv);
    for (const struct cc_option *o = cc_record_options; o->name != NULL; o++)
        cc_arg_set(out, o->name, cc_arg(args, o->name));
    out->output = args->output;
    out->quiet = args->quiet;
    return status;
}

/* Checks a call: its words, the values of its options, and its files; the journal is one. */
static int check_call(const struct cc_recipe_calls *calls, const struct cc_recipe_call *call,
                      const char *journal, struct cc_error *e)
{
    struct cc_args one;
    int status = CC_OK;
    CC_TRY_OUT(cc_recipe_call_parse(calls, call, &one, e));
    if (cc_arg_is(&one, "bw", "none"))
        cc_arg_set(&one, "bw", NULL); /* where a command takes it, it is not a link */
    CC_TRY_OUT(cc_options_check(&one, e));
    CC_TRY_OUT(cc_args_check_outputs(&one, e));
    if (journal != NULL)
        status = cc_args_check_beside(&one, "the journal of --output", journal, e);
out:
    cc_args_free(&one);
    return status;
}

int cc_recipe_journal_path(const char *output, char **out, struct cc_error *e)
{
    *out = NULL;
    return output == NULL || cc_file_is_stream(output) ? CC_OK
                                                       : cc_text(out, e, "%s.journal", output);
}

static int check_calls(const struct cc_recipe_calls *calls, struct cc_error *e)
{
    const struct cc_args *args = calls->args;
    const char *output = args->journal != NULL ? args->journal
                         : calls->count > 1    ? args->output.output
                                               : NULL;
    char *journal;
    int status = CC_OK;
    CC_TRY(cc_recipe_journal_path(output, &journal, e));
    for (size_t i = 0; i < calls->count && status == CC_OK; i++)
        status = check_call(calls, &calls->call[i], journal, e);
    free(journal);
    return status;
}

int cc_recipe_calls_make(const struct cc_args *args, const struct cc_recipe_command *c,
                         const char *label, struct cc_recipe_calls *out, struct cc_error *e)
{
    const cJSON *axis[CC_RECIPE_AXES];
    size_t axes, count;
    *out = (struct cc_recipe_calls){.args = args, .command = c, .label = label};
    CC_TRY(refuse_others(out, e));
    out->apart = cJSON_CreateObject();
    CC_TRY(find_axes(out, axis, &axes, &count, e));
    CC_TRY(CC_NEW(out->call, count, e));
    for (size_t i = 0; i < count; i++)
        CC_TRY(add_call(out, axis, axes, i, e));
    if (out->count == 0)
        return refuse_choice(out, e);
    return check_calls(out, e);
}

void cc_recipe_calls_free(struct cc_recipe_calls *calls)
{
    for (size_t i = 0; i < calls->count; i++)
        free_call(&calls->call[i]);
    cJSON_Delete(calls->apart);
    free(calls->call);
}
