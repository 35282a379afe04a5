/* The man page. Options that several commands have with the same words stand once, in a section of
 * their own; the commands name them. */
#include <stdlib.h>
#include <string.h>

#include "cmd/cli/help.h"
#include "core/memory.h"
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

static bool same_text(const char *a, const char *b)
{
    return (a == NULL) == (b == NULL) && (a == NULL || strcmp(a, b) == 0);
}

/* The commands, and the options of each. */
struct book {
    const struct cc_command *const *command;
    struct cc_option_list *list;
    size_t count;
};

/* Whether the command has an option of its own in the words of `o`. */
static bool has_same(const struct cc_option_list *list, const struct cc_option *o)
{
    for (size_t i = list->schemes; i < list->own; i++) {
        const struct cc_option *p = &list->option[i];
        if (strcmp(p->name, o->name) == 0 && same_text(p->value, o->value) &&
            same_text(p->def, o->def) && same_text(p->otherwise, o->otherwise) &&
            strcmp(p->help, o->help) == 0)
            return true;
    }
    return false;
}

/* The number of the first `count` commands that have the option. */
static int count_commands(const struct book *b, size_t count, const struct cc_option *o)
{
    int have = 0;
    for (size_t i = 0; i < count; i++)
        have += has_same(&b->list[i], o);
    return have;
}

static bool is_shared(const struct book *b, const struct cc_option *o)
{
    return count_commands(b, b->count, o) > 1;
}

static void man_own_options(FILE *out, const struct book *b, const struct cc_option_list *list)
{
    size_t shared = 0;
    for (size_t i = 0; i < list->own; i++)
        if (i >= list->schemes && is_shared(b, &list->option[i]))
            shared++;
        else
            cc_put_option(&list->option[i], man_item, out);
    if (shared == 0)
        return;
    fprintf(out, ".PP\nIt shares with other commands (see SHARED OPTIONS):\n");
    for (size_t i = list->schemes; i < list->own; i++)
        if (is_shared(b, &list->option[i]))
            fprintf(out, "\\-\\-%s%s\n", list->option[i].name, --shared > 0 ? "," : ".");
}

static void man_command(FILE *out, const struct book *b, size_t at)
{
    const struct cc_command *c = b->command[at];
    fprintf(out, ".SS commcomp %s [options] %s\n", c->name, c->operands);
    print_roff(out, c->summary);
    fprintf(out, ".PP\n");
    print_roff(out, c->description);
    man_own_options(out, b, &b->list[at]);
    if (c->columns[0].key != NULL)
        fprintf(out, ".PP\nColumns of the result:\n");
    cc_put_columns(c->columns, man_item, out);
    fprintf(out, ".PP\nExamples:\n.PP\n.nf\n");
    print_roff(out, c->examples);
    fprintf(out, ".fi\n");
}

static void man_shared_options(FILE *out, const struct book *b)
{
    fprintf(out, ".SH SHARED OPTIONS\n");
    for (int group = 0; group < CC_OPTION_GROUPS; group++) {
        bool titled = false;
        for (size_t i = 0; i < b->count; i++)
            for (size_t k = b->list[i].schemes; k < b->list[i].own; k++) {
                const struct cc_option *o = &b->list[i].option[k];
                if ((int)o->group != group || !is_shared(b, o) || count_commands(b, i, o) > 0)
                    continue;
                if (!titled)
                    fprintf(out, ".SS %s\n", cc_option_group_names[group]);
                titled = true;
                cc_put_option(o, man_item, out);
            }
    }
    fprintf(out, ".SS Options of every command\n");
    for (const struct cc_option *o = cc_record_options; o->name != NULL; o++)
        cc_put_option(o, man_item, out);
    for (const struct cc_option *o = cc_common_options; o->name != NULL; o++)
        cc_put_option(o, man_item, out);
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

int cc_help_man(const struct cc_command *const *commands, FILE *out, struct cc_error *e)
{
    struct book b = {.command = commands};
    while (commands[b.count] != NULL)
        b.count++;
    CC_TRY(CC_NEW(b.list, b.count, e));
    for (size_t i = 0; i < b.count; i++)
        cc_option_list(commands[i], true, &b.list[i]);
    fprintf(out, ".TH COMMCOMP 1 \"\" \"commcomp %s\" \"User Commands\"\n.SH NAME\ncommcomp \\- ",
            cc_version());
    print_roff(out, cc_program_summary);
    fprintf(out, ".SH SYNOPSIS\n.B commcomp\n.I command\n[options]\n.SH COMMANDS\n");
    for (size_t i = 0; i < b.count; i++)
        man_command(out, &b, i);
    man_shared_options(out, &b);
    free(b.list);
    man_schemes(out);
    fprintf(out, ".SH EXIT STATUS\n0 success; 1 failure or interrupt; 2 a mistake on the command "
                 "line.\n.SH ENVIRONMENT\n");
    man_item(out, "COMMCOMP_ISA",
             "scalar, avx2, avx512 or neon: the instruction set to use instead of the best");
    man_item(out, "COLUMNS", "the width of tables and help, instead of the terminal's");
    man_item(out, "NO_COLOR", "if set, nothing is printed in bold");
    return CC_OK;
}
