/* --help and the man page, from the tables of the commands. */
#include <stdio.h>
#include <string.h>

#include "cmd/cli/command.h"
#include "results/machine_info.h"

static const char program_summary[] =
    "which gradient-compression scheme to use on your network, and whether to trust the number";

enum { WIDTH = 92 };

/* Prints text in indented lines of at most WIDTH columns; the first line already has `at` columns.
 */
static void print_wrapped(FILE *out, const char *text, int indent, int at)
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
        if (column > indent && column + 1 + (int)n > WIDTH) {
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

static void print_item(FILE *out, const char *left, const char *text)
{
    const int indent = 24;
    int at = fprintf(out, "  %s", left);
    if (at >= indent) {
        fprintf(out, "\n");
        at = 0;
    }
    print_wrapped(out, text, indent, at);
}

static void option_name(const struct cc_option *o, char *name, size_t cap)
{
    int used = o->letter != 0 ? snprintf(name, cap, "-%c, --%s", o->letter, o->name)
                              : snprintf(name, cap, "--%s", o->name);
    if (o->value != NULL)
        (void)snprintf(name + used, cap - (size_t)used, " %s", o->value);
}

static void option_text(const struct cc_option *o, char *text, size_t cap)
{
    if (o->def != NULL)
        (void)snprintf(text, cap, "%s (default %s)", o->help, o->def);
    else
        (void)snprintf(text, cap, "%s", o->help);
}

static bool has_option(const struct cc_option *table, const char *name)
{
    for (const struct cc_option *o = table; o != NULL && o->name != NULL; o++)
        if (strcmp(o->name, name) == 0)
            return true;
    return false;
}

/* Prints the options of the table except those that `own` (or NULL) replaces. */
static void print_options(FILE *out, const struct cc_option *table, const struct cc_option *own)
{
    for (const struct cc_option *o = table; o->name != NULL; o++) {
        if (has_option(own, o->name))
            continue;
        char name[96], text[768];
        option_name(o, name, sizeof name);
        option_text(o, text, sizeof text);
        print_item(out, name, text);
    }
}

static const char scheme_help[] =
    "a scheme with its parameters (3lc:s=1.75), a list of them (3lc:s=1.5,zre=0,int8), a sweep "
    "(3lc:s=1.0/1.5/1.9), `all` (the catalogue) or `paper` (the ten rows of 3LC's Table 1); may be "
    "repeated";
static const char one_scheme_help[] = "a scheme with its parameters, as 3lc:s=1.75";
static const char parameter_help[] =
    "sets parameter NAME of the schemes of the last --scheme: --scheme 3lc --s 1.75. `commcomp "
    "schemes` lists them";

/* Whether the table shows the value in another unit than CSV and JSON do. */
static bool scaled(const struct cc_column *c)
{
    return c->head != NULL && c->scale != 0 && c->scale != 1;
}

static void column_key(const struct cc_column *c, char *text, size_t cap)
{
    bool unit = c->unit != NULL && c->unit[0] != '\0' && !scaled(c);
    (void)snprintf(text, cap, unit ? "%s [%s]" : "%s", c->key, c->unit);
}

static void column_text(const struct cc_column *c, char *text, size_t cap)
{
    if (scaled(c) && c->unit[0] != '\0')
        (void)snprintf(text, cap, "%s (in the table: %s in %s)", c->help, c->head, c->unit);
    else if (c->head != NULL && strcmp(c->head, c->key) != 0)
        (void)snprintf(text, cap, "%s (in the table: %s)", c->help, c->head);
    else
        (void)snprintf(text, cap, "%s", c->help);
}

static void print_columns(FILE *out, const struct cc_column *table)
{
    for (const struct cc_column *c = table; c->key != NULL; c++) {
        char key[96], text[640];
        column_key(c, key, sizeof key);
        column_text(c, text, sizeof text);
        print_item(out, key, text);
    }
}

void cc_help_command(const struct cc_command *c, FILE *out)
{
    fprintf(out, "commcomp %s: %s\n\nusage: commcomp %s [options]%s%s\n\n", c->name, c->summary,
            c->name, c->operands[0] != '\0' ? " " : "", c->operands);
    print_wrapped(out, c->description, 0, 0);
    fprintf(out, "\nOptions:\n");
    if (c->takes_schemes) {
        print_item(out, "--scheme SCHEME",
                   c->takes_schemes == CC_ONE_SCHEME ? one_scheme_help : scheme_help);
        print_item(out, "--NAME VALUE", parameter_help);
    }
    print_options(out, c->options, NULL);
    if (!c->own_output)
        print_options(out, cc_record_options, c->options);
    print_options(out, cc_common_options, c->options);
    if (c->columns[0].key != NULL) {
        fprintf(out, "\nColumns of the result:\n");
        print_columns(out, c->columns);
    }
    fprintf(out, "\nExamples:\n%s", c->examples);
}

static void print_commands(FILE *out, const char *prefix)
{
    for (size_t i = 0; cc_commands[i] != NULL; i++)
        if (strncmp(cc_commands[i]->name, prefix, strlen(prefix)) == 0)
            print_item(out, cc_commands[i]->name, cc_commands[i]->summary);
}

void cc_help_group(const char *group, FILE *out)
{
    char prefix[64];
    (void)snprintf(prefix, sizeof prefix, "%s ", group);
    fprintf(out, "usage: commcomp %s COMMAND [options]\n\nCommands:\n", group);
    print_commands(out, prefix);
    fprintf(out, "\n`commcomp %s COMMAND --help` explains one.\n", group);
}

void cc_help_program(FILE *out)
{
    fprintf(out, "commcomp: %s\n\nusage: commcomp COMMAND [options]\n\nCommands:\n",
            program_summary);
    print_commands(out, "");
    fprintf(out,
            "\n`commcomp COMMAND --help` explains one; `commcomp --version` prints the version.\n"
            "Without options, `commcomp bench` works on a synthetic trace of ResNet-110.\n");
}

/* --- the man page, in man(7)'s macros --- */

/* Prints text with the characters escaped that have a meaning in roff. */
static void print_roff(FILE *out, const char *text)
{
    for (const char *p = text; *p != '\0'; p++) {
        bool line_start = p == text || p[-1] == '\n';
        if (line_start && (*p == '.' || *p == '\''))
            fprintf(out, "\\&");
        if (*p == '\\')
            fprintf(out, "\\e");
        else if (*p == '-')
            fprintf(out, "\\-");
        else if (*p == '\n' && p[1] == '\n')
            fprintf(out, "\n.PP");
        else
            fputc(*p, out);
    }
    fprintf(out, "\n");
}

static void man_item(FILE *out, const char *left, const char *text)
{
    fprintf(out, ".TP\n.B ");
    print_roff(out, left);
    print_roff(out, text);
}

static void man_options(FILE *out, const struct cc_option *table)
{
    for (const struct cc_option *o = table; o->name != NULL; o++) {
        char name[96], text[768];
        option_name(o, name, sizeof name);
        option_text(o, text, sizeof text);
        man_item(out, name, text);
    }
}

static void man_command(FILE *out, const struct cc_command *c)
{
    fprintf(out, ".SS commcomp %s [options] %s\n", c->name, c->operands);
    print_roff(out, c->summary);
    fprintf(out, ".PP\n");
    print_roff(out, c->description);
    if (c->takes_schemes) {
        man_item(out, "--scheme SCHEME",
                 c->takes_schemes == CC_ONE_SCHEME ? one_scheme_help : scheme_help);
        man_item(out, "--NAME VALUE", parameter_help);
    }
    man_options(out, c->options);
    if (c->columns[0].key != NULL)
        fprintf(out, ".PP\nColumns of the result:\n");
    for (const struct cc_column *k = c->columns; k->key != NULL; k++) {
        char key[96], text[640];
        column_key(k, key, sizeof key);
        column_text(k, text, sizeof text);
        man_item(out, key, text);
    }
    fprintf(out, ".PP\nExamples:\n.PP\n.nf\n");
    print_roff(out, c->examples);
    fprintf(out, ".fi\n");
}

static void man_schemes(FILE *out)
{
    fprintf(out, ".SH SCHEMES\n");
    for (size_t i = 0; cc_schemes[i] != NULL; i++) {
        const struct cc_scheme *s = cc_schemes[i];
        fprintf(out, ".SS %s\n", s->id);
        print_roff(out, s->title);
        fprintf(out, ".br\n");
        print_roff(out, s->reference);
        for (const struct cc_param *p = s->params; p->name != NULL; p++) {
            char def[192], range[192], text[640];
            cc_param_print_default(p, def, sizeof def);
            cc_param_print_range(p, range, sizeof range);
            (void)snprintf(text, sizeof text, "%s (%s; default %s)", p->help, range, def);
            man_item(out, p->name, text);
        }
    }
}

void cc_help_man(FILE *out)
{
    fprintf(out, ".TH COMMCOMP 1 \"\" \"commcomp %s\" \"User Commands\"\n.SH NAME\ncommcomp \\- ",
            cc_version());
    print_roff(out, program_summary);
    fprintf(out, ".SH SYNOPSIS\n.B commcomp\n.I command\n[options]\n.SH COMMANDS\n");
    for (size_t i = 0; cc_commands[i] != NULL; i++)
        man_command(out, cc_commands[i]);
    fprintf(out, ".SS Options of every command\n");
    man_options(out, cc_record_options);
    man_options(out, cc_common_options);
    man_schemes(out);
    fprintf(out, ".SH EXIT STATUS\n0 success; 1 failure or interrupt; 2 a mistake on the command "
                 "line.\n.SH ENVIRONMENT\n");
    man_item(out, "COMMCOMP_ISA",
             "scalar, avx2 or avx512: the instruction set to use instead of the best");
    man_item(out, "NO_COLOR", "if set, nothing is printed in bold");
}
