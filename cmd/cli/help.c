/* --help. */
#include "cmd/cli/help.h"

#include <string.h>

#include "cmd/cli/terminal.h"
#include "core/memory.h"
#include "core/nearest.h"

/* The width of a line: the terminal's, within limits that leave texts readable. */
static int line_width(void)
{
    enum { LEAST = 60, USUAL = 80, MOST = 100 };
    const size_t width = cc_terminal_width();
    if (width == 0)
        return USUAL;
    return width < LEAST ? LEAST : width > MOST ? MOST : (int)width;
}

/* Prints text in indented lines of at most `width` columns, of which the first has `at` already. */
static void print_wrapped(FILE *out, const char *text, int width, int indent, int at)
{
    int column = at;
    const char *p = text;
    while (*p != '\0') {
        if (*p == '\n') {
            fprintf(out, "\n");
            column = 0;
            p++;
            continue;
        }
        size_t n = strcspn(p, " \n");
        if (column > indent && column + 1 + (int)n > width) {
            fprintf(out, "\n");
            column = 0;
        }
        if (column < indent) {
            fprintf(out, "%*s", indent - column, "");
            column = indent;
        } else if (column > indent) {
            fprintf(out, " ");
            column++;
        }
        fprintf(out, "%.*s", (int)n, p);
        column += (int)n;
        p += n;
        while (*p == ' ')
            p++;
    }
    fprintf(out, "\n");
}

enum { COMMAND_INDENT = 17, OPTION_INDENT = 24 };

static void print_item(FILE *out, const char *left, int indent, const char *text)
{
    int at = fprintf(out, "  %s", left);
    if (at >= indent) {
        fprintf(out, "\n");
        at = 0;
    }
    print_wrapped(out, text, line_width(), indent, at);
}

static void put_item(FILE *out, const char *title, const char *text)
{
    print_item(out, title, OPTION_INDENT, text);
}

/* --- the options of a command --- */

static bool has_groups(const struct cc_option_list *list)
{
    for (size_t i = list->schemes; i < list->own; i++)
        if (list->option[i].group != CC_NO_GROUP)
            return true;
    return false;
}

/* Whether --help has the option: of a command with few options of its own all of these, else those
 * that are used often, which have a brief text. */
static bool in_brief(const struct cc_option_list *list, size_t at)
{
    enum { FEW = 14 };
    const bool own = at >= list->schemes && at < list->own, few = list->own - list->schemes <= FEW;
    const char *brief = list->option[at].brief;
    return (brief != NULL && brief[0] != '\0') || (own && few);
}

/* The brief text, or the first clause of the help. */
static void put_brief(const struct cc_option *o, FILE *out)
{
    static const char *const ends[] = {"; ", ": ", " (", ". "};
    struct cc_option brief = *o;
    char clause[512];
    cc_option_help(o, clause, sizeof clause);
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        char *end = strstr(clause, ends[i]);
        if (end != NULL)
            *end = '\0';
    }
    brief.help = o->brief != NULL ? o->brief : clause;
    if (o->otherwise != NULL) /* words, for --help all */
        brief.otherwise = "";
    cc_put_option(&brief, put_item, out);
}

/* The options that are used often, by their groups, a line each. */
static void print_brief(const struct cc_option_list *list, FILE *out)
{
    fprintf(out, "\n");
    for (int group = 0; group < CC_OPTION_GROUPS; group++) {
        bool titled = false;
        for (size_t i = 0; i < list->count; i++) {
            if ((int)list->option[i].group != group || !in_brief(list, i))
                continue;
            if (!titled)
                fprintf(out, "%s:\n", cc_option_group_names[group]);
            titled = true;
            put_brief(&list->option[i], out);
        }
    }
}

/* All options, by their groups; those without groups are one. */
static void print_grouped(const struct cc_option_list *list, bool groups, FILE *out)
{
    for (int group = 0; group < (groups ? CC_OPTION_GROUPS : 1); group++) {
        bool titled = false;
        for (size_t i = 0; i < list->count; i++) {
            if (groups && (int)list->option[i].group != group)
                continue;
            if (!titled)
                fprintf(out, "\n%s:\n", cc_option_group_names[group]);
            titled = true;
            cc_put_option(&list->option[i], put_item, out);
        }
    }
}

/* Prints a line of an example. Where it is too long, its comment moves to the left, and the command
 * goes on in the next line. */
static void print_example(FILE *out, const char *line, size_t length)
{
    const size_t width = (size_t)line_width();
    const char *comment = memchr(line, '#', length);
    size_t command = comment != NULL ? (size_t)(comment - line) : length;
    while (command > 0 && line[command - 1] == ' ')
        command--;
    if (length <= width) {
        fprintf(out, "%.*s\n", (int)length, line);
        return;
    }
    while (command + 2 > width) {
        size_t cut = width - 2;
        while (cut > 4 && line[cut] != ' ')
            cut--;
        if (cut <= 4)
            break;
        fprintf(out, "%.*s \\\n   ", (int)cut, line);
        line += cut;
        command -= cut;
    }
    fprintf(out, "%.*s", (int)command, line);
    if (comment != NULL)
        fprintf(out, "  %.*s", (int)strcspn(comment, "\n"), comment);
    fprintf(out, "\n");
}

static void print_examples(const char *lines, size_t most, FILE *out)
{
    fprintf(out, "\nExamples:\n");
    for (size_t i = 0; *lines != '\0' && i < most; i++) {
        const size_t length = strcspn(lines, "\n");
        print_example(out, lines, length);
        lines += length + (lines[length] == '\n');
    }
}

static void print_title(const struct cc_command *c, FILE *out)
{
    fprintf(out, "commcomp %s:", c->name);
    print_wrapped(out, c->summary, line_width(), 0, (int)strlen(c->name) + 10);
    fprintf(out, "\nusage: commcomp %s [options]%s%s\n", c->name, c->operands[0] != '\0' ? " " : "",
            c->operands);
}

static void print_all(const struct cc_command *c, const struct cc_option_list *list, FILE *out)
{
    print_title(c, out);
    fprintf(out, "\n");
    print_wrapped(out, c->description, line_width(), 0, 0);
    print_grouped(list, has_groups(list), out);
    if (c->columns[0].key != NULL)
        fprintf(out, "\nColumns of the result:\n");
    cc_put_columns(c->columns, put_item, out);
    print_examples(c->examples, SIZE_MAX, out);
}

static void print_short(const struct cc_command *c, const struct cc_option_list *list, FILE *out)
{
    enum { EXAMPLES = 2 };
    char more[320];
    print_title(c, out);
    print_brief(list, out);
    print_examples(c->examples, EXAMPLES, out);
    (void)snprintf(more, sizeof more,
                   "`commcomp %s --help all` explains all %zu options%s; `--help OPTION` one of "
                   "them. More: %s",
                   c->name, list->count, c->columns[0].key != NULL ? " and the columns" : "",
                   c->page);
    fprintf(out, "\n");
    print_wrapped(out, more, line_width(), 0, 0);
}

/* A parameter of a scheme, which follows --scheme. */
static void print_parameter(const struct cc_scheme *s, const struct cc_param *p, FILE *out)
{
    char def[192], range[192], title[96], text[640];
    cc_param_print_default(p, def, sizeof def);
    cc_param_print_range(p, range, sizeof range);
    (void)snprintf(title, sizeof title, "--scheme %s --%s", s->id, p->name);
    (void)snprintf(text, sizeof text, "%s (%s; default %s)", p->help, range, def);
    put_item(out, title, text);
}

static bool print_parameters(const char *name, FILE *out)
{
    bool any = false;
    for (size_t i = 0; cc_schemes[i] != NULL; i++) {
        const struct cc_param *p = cc_param_find(cc_schemes[i]->params, name);
        if (p != NULL)
            print_parameter(cc_schemes[i], p, out);
        any = any || p != NULL;
    }
    return any;
}

static int print_option(const struct cc_command *c, const struct cc_option_list *list,
                        const char *name, FILE *out, struct cc_error *e)
{
    const size_t at = cc_option_find(list, name, strlen(name));
    const char *names[CC_MAX_OPTIONS + 1] = {NULL}, *near;
    bool found = at != SIZE_MAX;
    if (found) {
        const struct cc_option *o = &list->option[at];
        const char *const *words = o->choices != NULL ? o->choices : o->words;
        char text[512] = "";
        cc_put_option(o, put_item, out);
        if (words != NULL && strstr(o->help, "{words}") == NULL) {
            cc_word_list(words, text, sizeof text);
            put_item(out, "  words", text);
        }
        put_item(out, "  read on", c->page);
    }
    if (c->takes_schemes != CC_NO_SCHEME)
        found |= print_parameters(name, out);
    if (found)
        return CC_OK;
    for (size_t i = 0; i < list->count; i++)
        names[i] = list->option[i].name;
    near = cc_nearest(name, names);
    if (near != NULL)
        return cc_usage(e, "--help %s: unknown option; did you mean --help %s?", name, near);
    return cc_usage(e, "--help %s: unknown option; `commcomp %s --help all` lists them", name,
                    c->name);
}

int cc_help_command(const struct cc_command *c, const char *of, FILE *out, struct cc_error *e)
{
    struct cc_option_list list;
    cc_option_list(c, true, &list);
    if (strcmp(of, "all") == 0)
        print_all(c, &list, out);
    else if (of[0] == '\0')
        print_short(c, &list, out);
    else
        return print_option(c, &list, of + strspn(of, "-"), out, e);
    return CC_OK;
}

/* --- the program --- */

/* All of them, or those of a group. */
static void print_commands(FILE *out, const struct cc_command *const *commands, const char *group)
{
    for (size_t i = 0; commands[i] != NULL; i++)
        if (group == NULL || cc_command_in_group(commands[i], group) != NULL)
            print_item(out, commands[i]->name, COMMAND_INDENT, commands[i]->summary);
}

void cc_help_group(const struct cc_command *const *commands, const char *group, FILE *out)
{
    fprintf(out, "usage: commcomp %s COMMAND [options]\n\nCommands:\n", group);
    print_commands(out, commands, group);
    fprintf(out, "\n`commcomp %s COMMAND --help` explains one.\n", group);
}

void cc_help_program(const struct cc_command *const *commands, FILE *out)
{
    fprintf(out, "commcomp:");
    print_wrapped(out, cc_program_summary, line_width(), 0, 9);
    fprintf(out, "\nusage: commcomp COMMAND [options]\n       commcomp --recipe NAME|FILE "
                 "[options]\n\nCommands:\n");
    print_commands(out, commands, NULL);
    fprintf(out, "\n");
    print_wrapped(
        out,
        "`commcomp COMMAND --help` explains one; `commcomp --version` prints the version, "
        "`commcomp --completion bash|zsh` a script that completes words in a shell.\n"
        "Without options, `commcomp bench` works on a synthetic trace of ResNet-110.",
        line_width(), 0, 0);
}
