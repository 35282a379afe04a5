/* Completion in bash and zsh. Both scripts have a case for each command with its options; arguments
 * are completed from the option's choices or words, as schemes, or as files. */
#include <string.h>

#include "cmd/cli/help.h"
#include "models/recipe.h"

static bool is_option(const struct cc_option *o, const char *name)
{
    return strcmp(o->name, name) == 0;
}

/* Whether words are known that the option takes. */
static bool has_words(const struct cc_option *o)
{
    return o->choices != NULL || o->words != NULL || is_option(o, "scheme") ||
           is_option(o, "columns");
}

/* Prints these words: choices, or some of those allowed; schemes; or the keys of the columns. */
static void put_words(const struct cc_command *c, const struct cc_option *o, FILE *out)
{
    const char *const *words = o->choices != NULL ? o->choices : o->words;
    const char *between = "";
    for (size_t i = 0; words != NULL && words[i] != NULL; i++, between = " ")
        fprintf(out, "%s%s", between, words[i]);
    if (is_option(o, "scheme"))
        fprintf(out, "all paper");
    for (size_t i = 0; is_option(o, "scheme") && cc_schemes[i] != NULL; i++)
        fprintf(out, " %s", cc_schemes[i]->id);
    for (size_t i = 0; is_option(o, "columns") && c->columns[i].key != NULL; i++, between = " ")
        fprintf(out, "%s%s", between, c->columns[i].key->name);
}

/* The options that are completed: --scheme without --NAME, and the others. */
static void list_completed(const struct cc_command *c, struct cc_option_list *out)
{
    cc_option_list(c, true, out);
    for (size_t i = 1; out->schemes > 0 && i + 1 < out->count; i++)
        out->option[i] = out->option[i + 1];
    out->count -= out->schemes > 0;
}

/* Whether a command of two words is the first of its group in the list. */
static bool is_first_of_group(const struct cc_command *const *commands, size_t index, char *group,
                              size_t cap)
{
    const char *name = commands[index]->name;
    (void)snprintf(group, cap, "%.*s", (int)strcspn(name, " "), name);
    bool first = cc_command_in_group(commands[index], group) != NULL;
    for (size_t i = 0; i < index && first; i++)
        first = cc_command_in_group(commands[i], group) == NULL;
    return first;
}

/* The first words of all commands. */
static void put_commands(const struct cc_command *const *commands, FILE *out)
{
    char group[32];
    fprintf(out, "help");
    for (size_t i = 0; commands[i] != NULL; i++) {
        if (strchr(commands[i]->name, ' ') == NULL)
            fprintf(out, " %s", commands[i]->name);
        else if (is_first_of_group(commands, i, group, sizeof group))
            fprintf(out, " %s", group);
    }
}

/* The second words of a group's commands. */
static void put_group(const struct cc_command *const *commands, const char *group, FILE *out)
{
    const char *between = "";
    for (size_t i = 0; commands[i] != NULL; i++) {
        const char *second = cc_command_in_group(commands[i], group);
        if (second == NULL)
            continue;
        fprintf(out, "%s%s", between, second);
        between = " ";
    }
}

/* The names of the recipes that the program carries. */
static void put_recipes(FILE *out)
{
    for (size_t i = 0; cc_recipe_names[i] != NULL; i++)
        fprintf(out, "%s%s", i > 0 ? " " : "", cc_recipe_names[i]);
}

/* --- bash --- */

static void bash_option(const struct cc_command *c, const struct cc_option *o, FILE *out)
{
    if (o->value == NULL)
        return;
    if (o->letter != 0)
        fprintf(out, "        -%c|--%s)", o->letter, o->name);
    else
        fprintf(out, "        --%s)", o->name);
    if (has_words(o)) {
        fprintf(out, " words='");
        put_words(c, o, out);
        fprintf(out, "'");
    }
    fprintf(out, "%s ;;\n", o->file != CC_NO_FILE ? " files=1" : "");
}

static void bash_command(const struct cc_command *c, FILE *out)
{
    struct cc_option_list list;
    list_completed(c, &list);
    fprintf(out, "    '%s')\n        case $prev in\n", c->name);
    for (size_t i = 0; i < list.count; i++)
        bash_option(c, &list.option[i], out);
    fprintf(out, "        *)\n            if [[ $cur == -* ]]; then\n                words='");
    for (size_t i = 0; i < list.count; i++)
        fprintf(out, "%s--%s", i > 0 ? " " : "", list.option[i].name);
    fprintf(out, "'\n            else\n                files=1\n            fi\n            ;;\n"
                 "        esac\n        ;;\n");
}

void cc_completion_bash(const struct cc_command *const *commands, FILE *out)
{
    char group[32];
    fprintf(out, "# Completes the words of commcomp in bash: `commcomp --completion bash`.\n"
                 "_commcomp() {\n"
                 "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
                 "    local command=${COMP_WORDS[1]} words= files=\n"
                 "    COMPREPLY=()\n"
                 "    if ((COMP_CWORD == 1)); then\n        words='");
    put_commands(commands, out);
    fprintf(out, " --recipe --help --version'\n        command=\n    fi\n    case $command in\n");
    for (size_t i = 0; commands[i] != NULL; i++) {
        if (!is_first_of_group(commands, i, group, sizeof group))
            continue;
        fprintf(out, "    %s)\n        if ((COMP_CWORD == 2)); then\n            words='", group);
        put_group(commands, group, out);
        fprintf(out, "'\n            command=\n        else\n"
                     "            command+=\" ${COMP_WORDS[2]}\"\n        fi\n        ;;\n");
    }
    fprintf(out, "    help) words='");
    put_commands(commands, out);
    fprintf(out, "' command= ;;\n    esac\n    case $command in\n    '') ;;\n"
                 "    --recipe) files=1 words='");
    put_recipes(out);
    fprintf(out, "' ;;\n");
    for (size_t i = 0; commands[i] != NULL; i++)
        bash_command(commands[i], out);
    fprintf(out, "    esac\n"
                 "    [[ -z $words ]] || COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
                 "    [[ -z $files ]] || mapfile -t -O ${#COMPREPLY[@]} COMPREPLY "
                 "< <(compgen -f -- \"$cur\")\n"
                 "}\n"
                 "complete -o filenames -F _commcomp commcomp\n");
}

/* --- zsh --- */

/* Prints a text for a specification of _arguments in single quotes. */
static void put_zsh(const char *s, size_t most, FILE *out)
{
    for (size_t i = 0; s[i] != '\0' && i < most; i++) {
        if (s[i] == '\'')
            fprintf(out, "'\\''");
        else if (strchr("[]:\\", s[i]) != NULL)
            fprintf(out, "\\%c", s[i]);
        else
            fputc(s[i], out);
    }
}

/* The length of the help's first clause: a line of a menu. */
static size_t clause(const char *help)
{
    const size_t n = strcspn(help, ";:(");
    return n > 0 && help[n] != '\0' && help[n - 1] == ' ' ? n - 1 : n;
}

static void zsh_option(const struct cc_command *c, const struct cc_option *o, FILE *out)
{
    char help[1024];
    cc_option_help(o, help, sizeof help);
    fprintf(out, " \\\n            '--%s[", o->name);
    put_zsh(help, clause(help), out);
    fprintf(out, "]");
    if (o->value != NULL) {
        fprintf(out, ":");
        put_zsh(o->value, strlen(o->value), out);
        fprintf(out, ":");
        if (has_words(o)) {
            fprintf(out, "(");
            put_words(c, o, out);
            fprintf(out, ")");
        } else if (o->file != CC_NO_FILE) {
            fprintf(out, "_files");
        }
    }
    fprintf(out, "'");
}

static void zsh_command(const struct cc_command *c, FILE *out)
{
    struct cc_option_list list;
    list_completed(c, &list);
    fprintf(out, "    '%s')\n        _arguments", c->name);
    for (size_t i = 0; i < list.count; i++)
        zsh_option(c, &list.option[i], out);
    fprintf(out, " \\\n            '*:file:_files'\n        ;;\n");
}

static void zsh_describe(const struct cc_command *c, const char *name, FILE *out)
{
    fprintf(out, " \\\n            '");
    put_zsh(name, strlen(name), out);
    fprintf(out, ":");
    put_zsh(c->summary, strlen(c->summary), out);
    fprintf(out, "'");
}

void cc_completion_zsh(const struct cc_command *const *commands, FILE *out)
{
    char group[32];
    fprintf(out, "#compdef commcomp\n"
                 "# Completes the words of commcomp in zsh: `commcomp --completion zsh`.\n"
                 "_commcomp() {\n"
                 "    local -a names\n"
                 "    local command=$words[2]\n"
                 "    if ((CURRENT == 2)); then\n        names=(");
    for (size_t i = 0; commands[i] != NULL; i++) {
        if (strchr(commands[i]->name, ' ') == NULL)
            zsh_describe(commands[i], commands[i]->name, out);
        else if (is_first_of_group(commands, i, group, sizeof group))
            fprintf(out, " \\\n            '%s:its commands have a second word'", group);
    }
    fprintf(out, " \\\n            '--recipe:run a recipe, a set-up as a file')\n"
                 "        _describe command names\n        return\n    fi\n"
                 "    case $command in\n");
    for (size_t i = 0; commands[i] != NULL; i++) {
        if (!is_first_of_group(commands, i, group, sizeof group))
            continue;
        fprintf(out, "    %s)\n        if ((CURRENT == 3)); then\n            names=(", group);
        for (size_t k = i; commands[k] != NULL; k++)
            if (cc_command_in_group(commands[k], group) != NULL)
                zsh_describe(commands[k], cc_command_in_group(commands[k], group), out);
        fprintf(out, ")\n            _describe command names\n            return\n        fi\n"
                     "        command+=\" $words[3]\"\n        shift words\n"
                     "        ((CURRENT--))\n        ;;\n");
    }
    fprintf(out, "    esac\n    shift words\n    ((CURRENT--))\n    case $command in\n"
                 "    --recipe)\n        _arguments '1:recipe:(");
    put_recipes(out);
    fprintf(out, ")' '*:file:_files'\n        ;;\n");
    for (size_t i = 0; commands[i] != NULL; i++)
        zsh_command(commands[i], out);
    fprintf(out, "    esac\n}\n_commcomp \"$@\"\n");
}
