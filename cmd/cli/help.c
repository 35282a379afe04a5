/* --help. */
#include "cmd/cli/help.h"

#include <string.h>

#include "cmd/cli/terminal.h"
#include "core/memory.h"

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

/* The names of a group's options that are not used often. */
static void print_names(const struct cc_option_list *list, enum cc_option_group group, FILE *out)
{
    char names[1024] = "";
    for (size_t i = 0; i < list->count; i++)
        if (list->option[i].group == group && !list->option[i].often)
            cc_list_add(names, sizeof names, ", ", "--%s", list->option[i].name);
    if (names[0] != '\0')
        print_item(out, cc_option_group_names[group], COMMAND_INDENT, names);
}

static void print_often(const struct cc_command *c, const struct cc_option_list *list, FILE *out)
{
    char intro[160];
    (void)snprintf(intro, sizeof intro,
                   "The options that are used most (`commcomp %s --help all` explains all of them, "
                   "and the columns of the result):",
                   c->name);
    fprintf(out, "\n");
    print_wrapped(out, intro, line_width(), 0, 0);
    for (size_t i = 0; i < list->count; i++)
        if (list->option[i].often)
            cc_put_option(&list->option[i], put_item, out);
    fprintf(out, "\nThe others:\n");
    for (int group = 0; group < CC_OPTION_GROUPS; group++)
        print_names(list, (enum cc_option_group)group, out);
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

static void print_examples(const char *lines, FILE *out)
{
    fprintf(out, "\nExamples:\n");
    while (*lines != '\0') {
        const size_t length = strcspn(lines, "\n");
        print_example(out, lines, length);
        lines += length + (lines[length] == '\n');
    }
}

void cc_help_command(const struct cc_command *c, bool all, FILE *out)
{
    struct cc_option_list list;
    fprintf(out, "commcomp %s:", c->name);
    print_wrapped(out, c->summary, line_width(), 0, (int)strlen(c->name) + 10);
    fprintf(out, "\nusage: commcomp %s [options]%s%s\n\n", c->name,
            c->operands[0] != '\0' ? " " : "", c->operands);
    print_wrapped(out, c->description, line_width(), 0, 0);
    cc_option_list(c, true, &list);
    if (has_groups(&list) && !all) {
        print_often(c, &list, out);
    } else {
        print_grouped(&list, has_groups(&list), out);
        if (c->columns[0].key != NULL)
            fprintf(out, "\nColumns of the result:\n");
        cc_put_columns(c->columns, put_item, out);
    }
    print_examples(c->examples, out);
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
