/* The man page. Options that several commands have with the same words stand once, in a section of
 * their own; the commands name them. */
#include <stdlib.h>
#include <string.h>

#include "cmd/cli/help.h"
#include "core/version.h"

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

static void man_option(FILE *out, const struct cc_option *o)
{
    char title[96], text[1024];
    cc_option_title(o, title, sizeof title);
    cc_option_text(o, text, sizeof text);
    man_item(out, title, text);
}

static bool same_text(const char *a, const char *b)
{
    return (a == NULL) == (b == NULL) && (a == NULL || strcmp(a, b) == 0);
}

/* Whether the command has an option of its own in the words of `o`. */
static bool has_same(const struct cc_command *c, const struct cc_option *o)
{
    for (size_t i = 0; i < cc_option_own(c); i++) {
        const struct cc_option p = cc_option_at(c, i);
        if (strcmp(p.name, o->name) == 0 && same_text(p.value, o->value) &&
            same_text(p.def, o->def) && same_text(p.otherwise, o->otherwise) &&
            strcmp(p.help, o->help) == 0)
            return true;
    }
    return false;
}

/* The number of the first `count` commands that have the option. */
static int count_commands(const struct cc_command *const *commands, size_t count,
                          const struct cc_option *o)
{
    int have = 0;
    for (size_t i = 0; i < count; i++)
        have += has_same(commands[i], o);
    return have;
}

static bool is_shared(const struct cc_command *const *commands, const struct cc_option *o)
{
    size_t count = 0;
    while (commands[count] != NULL)
        count++;
    return count_commands(commands, count, o) > 1;
}

static void man_own_options(FILE *out, const struct cc_command *const *commands,
                            const struct cc_command *c)
{
    size_t shared = 0;
    for (size_t i = 0; i < cc_option_own(c); i++) {
        const struct cc_option o = cc_option_at(c, i);
        shared += is_shared(commands, &o);
        if (!is_shared(commands, &o))
            man_option(out, &o);
    }
    if (shared == 0)
        return;
    fprintf(out, ".PP\nIt shares with other commands (see SHARED OPTIONS):\n");
    for (size_t i = 0; i < cc_option_own(c); i++) {
        const struct cc_option o = cc_option_at(c, i);
        if (is_shared(commands, &o))
            fprintf(out, "\\-\\-%s%s\n", o.name, --shared > 0 ? "," : ".");
    }
}

static void man_command(FILE *out, const struct cc_command *const *commands,
                        const struct cc_command *c)
{
    fprintf(out, ".SS commcomp %s [options] %s\n", c->name, c->operands);
    print_roff(out, c->summary);
    fprintf(out, ".PP\n");
    print_roff(out, c->description);
    for (const struct cc_option *o = cc_scheme_options(c); o->name != NULL; o++)
        man_option(out, o);
    man_own_options(out, commands, c);
    if (c->columns[0].key != NULL)
        fprintf(out, ".PP\nColumns of the result:\n");
    for (const struct cc_column *k = c->columns; k->key != NULL; k++) {
        char title[96], text[1024];
        cc_column_title(k, title, sizeof title);
        cc_column_text(k, text, sizeof text);
        man_item(out, title, text);
    }
    fprintf(out, ".PP\nExamples:\n.PP\n.nf\n");
    print_roff(out, c->examples);
    fprintf(out, ".fi\n");
}

static void man_shared_options(FILE *out, const struct cc_command *const *commands)
{
    fprintf(out, ".SH SHARED OPTIONS\n");
    for (int group = 0; group < CC_OPTION_GROUPS; group++) {
        bool titled = false;
        for (size_t i = 0; commands[i] != NULL; i++)
            for (size_t k = 0; k < cc_option_own(commands[i]); k++) {
                const struct cc_option o = cc_option_at(commands[i], k);
                if ((int)o.group != group || !is_shared(commands, &o) ||
                    count_commands(commands, i, &o) > 0)
                    continue;
                if (!titled)
                    fprintf(out, ".SS %s\n", cc_option_group_names[group]);
                titled = true;
                man_option(out, &o);
            }
    }
    fprintf(out, ".SS Options of every command\n");
    for (const struct cc_option *o = cc_record_options; o->name != NULL; o++)
        man_option(out, o);
    for (const struct cc_option *o = cc_common_options; o->name != NULL; o++)
        man_option(out, o);
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

void cc_help_man(const struct cc_command *const *commands, FILE *out)
{
    fprintf(out, ".TH COMMCOMP 1 \"\" \"commcomp %s\" \"User Commands\"\n.SH NAME\ncommcomp \\- ",
            cc_version());
    print_roff(out, cc_program_summary);
    fprintf(out, ".SH SYNOPSIS\n.B commcomp\n.I command\n[options]\n.SH COMMANDS\n");
    for (size_t i = 0; commands[i] != NULL; i++)
        man_command(out, commands, commands[i]);
    man_shared_options(out, commands);
    man_schemes(out);
    fprintf(out, ".SH EXIT STATUS\n0 success; 1 failure or interrupt; 2 a mistake on the command "
                 "line.\n.SH ENVIRONMENT\n");
    man_item(out, "COMMCOMP_ISA",
             "scalar, avx2, avx512 or neon: the instruction set to use instead of the best");
    man_item(out, "COLUMNS", "the width of tables and help, instead of the terminal's");
    man_item(out, "NO_COLOR", "if set, nothing is printed in bold");
}
