/* Parses the command line by the tables of the commands. */
#include "cmd/cli/command.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/nearest.h"

static const struct cc_option scheme_option = {.name = "scheme", .value = "SCHEME"};

/* --- values of options --- */

const char *cc_arg(const struct cc_args *args, const char *name)
{
    const size_t i = cc_option_find(&args->options, name, strlen(name));
    return i != SIZE_MAX ? args->value[i] : NULL;
}

bool cc_arg_is(const struct cc_args *args, const char *name, const char *value)
{
    const char *has = cc_arg(args, name);
    return has != NULL && strcmp(has, value) == 0;
}

void cc_arg_set(struct cc_args *args, const char *name, const char *value)
{
    const size_t i = cc_option_find(&args->options, name, strlen(name));
    assert(i != SIZE_MAX);
    args->value[i] = value;
}

/* --- parsing --- */

/* Where parsing has come to. */
struct cursor {
    int argc, next;
    char **argv;
    struct cc_spec_list group; /* the schemes of the last --scheme; --NAME VALUE still sets them */
};

static int check_choice(const struct cc_option *o, const char *value, struct cc_error *e)
{
    char list[256];
    if (cc_word_find(o->choices, value) >= 0)
        return CC_OK;
    const char *near = cc_nearest(value, o->choices);
    if (near != NULL)
        return cc_usage(e, "--%s %s: did you mean '%s'?", o->name, value, near);
    cc_word_list(o->choices, list, sizeof list);
    return cc_usage(e, "--%s %s: it is one of %s", o->name, value, list);
}

/* The argument of option `o`: the text after '=', or the next element of argv. *out is NULL, or the
 * argument of an earlier occurrence, which is an error. */
static int parse_value(const struct cc_option *o, const char *inline_value, struct cursor *at,
                       const char **out, struct cc_error *e)
{
    const char *before = *out;
    if (o->value == NULL) {
        if (inline_value != NULL && !o->may_name_option)
            return cc_usage(e, "--%s takes no argument", o->name);
        const bool follows = o->may_name_option && inline_value == NULL && at->next < at->argc;
        *out = follows ? at->argv[at->next++] : inline_value != NULL ? inline_value : "";
        return CC_OK;
    }
    if (inline_value == NULL && at->next >= at->argc)
        return cc_usage(e, "--%s needs an argument: %s", o->name, o->value);
    *out = inline_value != NULL ? inline_value : at->argv[at->next++];
    if (before != NULL && !o->repeats)
        return cc_usage(e, "--%s is given twice: %.100s, then %.100s", o->name, before, *out);
    return o->choices != NULL ? check_choice(o, *out, e) : CC_OK;
}

/* The usage error of an option that the command does not have: with the nearest name, or the scheme
 * whose parameter it is. */
static int unknown_option(const struct cc_args *args, const struct cursor *at, const char *name,
                          size_t n, struct cc_error *e)
{
    enum { MOST = CC_MAX_OPTIONS + 64 };
    const char *names[MOST + 1] = {NULL};
    char word[64];
    size_t k = 0;
    (void)snprintf(word, sizeof word, "%.*s", (int)(n < 60 ? n : 60), name);
    for (size_t i = 0; i < args->options.count; i++)
        names[k++] = args->options.option[i].name;
    if (args->command->takes_schemes) {
        names[k++] = "scheme";
        for (size_t i = 0; i < at->group.count; i++)
            for (const struct cc_param *p = at->group.item[i]->scheme->params;
                 p->name != NULL && k < MOST; p++)
                names[k++] = p->name;
        for (size_t i = 0; cc_schemes[i] != NULL; i++)
            if (cc_param_find(cc_schemes[i]->params, word) != NULL)
                return cc_usage(e, "--%s is a parameter of %s: write it after --scheme %s", word,
                                cc_schemes[i]->id, cc_schemes[i]->id);
    }
    const char *near = cc_nearest(word, names);
    if (near != NULL)
        return cc_usage(e, "unknown option --%s; did you mean --%s?", word, near);
    return cc_usage(e, "unknown option --%s; `commcomp %s --help` lists them", word,
                    args->command->name);
}

/* Sets NAME of --NAME VALUE if it is a parameter of the schemes of the last --scheme; returns -1 if
 * it is none, or also an option that all commands have: --format is the output's after fp8, too. */
static int set_scheme_parameter(const struct cc_args *args, const char *name, size_t n,
                                const char *inline_value, struct cursor *at, struct cc_error *e)
{
    const size_t option = cc_option_find(&args->options, name, n);
    char word[64];
    if (at->group.count == 0 || n >= sizeof word ||
        (option != SIZE_MAX && option >= args->options.own))
        return -1;
    (void)snprintf(word, sizeof word, "%.*s", (int)n, name);
    if (!cc_scheme_takes(at->group.item[0]->scheme, word))
        return -1;
    if (inline_value == NULL && at->next >= at->argc)
        return cc_usage(e, "--%s needs an argument", word);
    const char *value = inline_value != NULL ? inline_value : at->argv[at->next++];
    return cc_spec_list_set(&at->group, word, value, e);
}

/* The same for an option of the command. */
static int parse_option(struct cc_args *args, size_t i, const char *inline_value, struct cursor *at,
                        struct cc_error *e)
{
    const struct cc_option *o = &args->options.option[i];
    if (!o->adds_up || args->value[i] == NULL)
        return parse_value(o, inline_value, at, &args->value[i], e);
    if (args->more_count == CC_MAX_MORE)
        return cc_usage(e, "--%s is given more than %d times", o->name, CC_MAX_MORE + 1);
    return parse_value(o, inline_value, at, &args->more[args->more_count++], e);
}

static int parse_long_option(struct cc_args *args, const char *word, struct cursor *at,
                             struct cc_error *e)
{
    const char *name = word + 2, *equals = strchr(name, '='), *value = NULL;
    size_t n = equals != NULL ? (size_t)(equals - name) : strlen(name);
    const char *inline_value = equals != NULL ? equals + 1 : NULL;
    if (args->command->takes_schemes && n == 6 && strncmp(name, "scheme", 6) == 0) {
        CC_TRY(parse_value(&scheme_option, inline_value, at, &value, e));
        CC_TRY(cc_spec_list_move(&args->schemes, &at->group, e));
        const int parsed = cc_spec_list_parse(value, &at->group, e);
        if (parsed != CC_OK && value[0] == '\0')
            cc_error_in(e, "--scheme");
        return parsed;
    }
    int status = set_scheme_parameter(args, name, n, inline_value, at, e);
    if (status >= 0)
        return status;
    const size_t i = cc_option_find(&args->options, name, n);
    if (i == SIZE_MAX)
        return unknown_option(args, at, name, n, e);
    return parse_option(args, i, inline_value, at, e);
}

static int parse_short_option(struct cc_args *args, const char *word, struct cursor *at,
                              struct cc_error *e)
{
    for (size_t i = 0; i < args->options.count; i++) {
        const struct cc_option *o = &args->options.option[i];
        if (o->letter != 0 && o->letter == word[1])
            return parse_option(args, i, word[2] != '\0' ? word + 2 : NULL, at, e);
    }
    return cc_usage(e, "unknown option %s; `commcomp %s --help` lists them", word,
                    args->command->name);
}

static int check_operands(const struct cc_args *args, struct cc_error *e)
{
    const struct cc_command *c = args->command;
    if (args->operands >= c->min_operands && args->operands <= c->max_operands)
        return CC_OK;
    return cc_usage(e, "%s: usage: commcomp %s [options]%s%s",
                    args->operands < c->min_operands ? "too few operands" : "too many operands",
                    c->name, c->operands[0] != '\0' ? " " : "", c->operands);
}

/* The argument of option `o` if it stands at argv[i], or NULL. */
static const char *argument_at(const struct cc_option *o, int argc, char **argv, int i)
{
    const size_t n = strlen(o->name);
    if (strncmp(argv[i], "--", 2) != 0 || strncmp(argv[i] + 2, o->name, n) != 0)
        return NULL;
    if (argv[i][2 + n] == '=')
        return argv[i] + 3 + n;
    return argv[i][2 + n] == '\0' && i + 1 < argc ? argv[i + 1] : NULL;
}

/* Calls what an option has to do before the words are parsed one by one. */
static int take_before(const struct cc_args *args, const struct cc_option *o, int first,
                       struct cc_error *e)
{
    for (int i = first; i < args->argc && strcmp(args->argv[i], "--") != 0; i++) {
        const char *value = argument_at(o, args->argc, args->argv, i);
        if (value != NULL)
            CC_TRY_IN(o->before(value, e), e, "--%s", o->name);
    }
    return CC_OK;
}

const struct cc_command *cc_command_find(const struct cc_command *const *commands, const char *name)
{
    for (size_t i = 0; commands[i] != NULL; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

const char *cc_command_in_group(const struct cc_command *c, const char *group)
{
    const size_t n = strlen(group);
    return strncmp(c->name, group, n) == 0 && c->name[n] == ' ' ? c->name + n + 1 : NULL;
}

int cc_args_parse(struct cc_args *args, const struct cc_command *command, int argc, char **argv,
                  int first, struct cc_error *e)
{
    struct cursor at = {.argc = argc, .next = first, .argv = argv};
    int status = CC_OK;
    bool only_operands = false; /* after "--" */
    args->command = command;
    args->argc = argc;
    args->argv = argv;
    args->first = first;
    cc_option_list(command, false, &args->options);
    for (size_t i = 0; i < args->options.own; i++)
        if (args->options.option[i].before != NULL)
            CC_TRY_OUT(take_before(args, &args->options.option[i], first, e));
    while (at.next < argc) {
        const char *word = argv[at.next++];
        if (!only_operands && strcmp(word, "--") == 0)
            only_operands = true;
        else if (!only_operands && strncmp(word, "--", 2) == 0)
            CC_TRY_OUT(parse_long_option(args, word, &at, e));
        else if (!only_operands && word[0] == '-' && word[1] != '\0')
            CC_TRY_OUT(parse_short_option(args, word, &at, e));
        else if (args->operands < CC_MAX_OPERANDS)
            args->operand[args->operands++] = word;
        else {
            status = cc_usage(e, "too many operands: '%s'", word);
            goto out;
        }
    }
    CC_TRY_OUT(cc_spec_list_move(&args->schemes, &at.group, e));
out:
    cc_spec_list_free(&at.group);
    (void)cc_options_read(args, cc_record_options, &args->output, e); /* words, which are checked */
    args->quiet = cc_arg(args, "quiet") != NULL;
    args->help = cc_arg(args, "help");
    if (args->help != NULL)
        return CC_OK;
    return status == CC_OK ? check_operands(args, e) : status;
}

void cc_args_free(struct cc_args *args)
{
    cc_spec_list_free(&args->schemes);
    cc_record_free(&args->record);
}
