/* The man pages: a short one of the program, and one of each command. */
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

/* The options, by their groups. */
static void man_options(FILE *out, const struct cc_option_list *list)
{
    fprintf(out, ".SH OPTIONS\n");
    for (int group = 0; group < CC_OPTION_GROUPS; group++) {
        bool titled = false;
        for (size_t i = 0; i < list->count; i++) {
            if ((int)list->option[i].group != group)
                continue;
            if (!titled)
                fprintf(out, ".SS %s\n", cc_option_group_names[group]);
            titled = true;
            cc_put_option(&list->option[i], man_item, out);
        }
    }
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

/* "commcomp-trace-info": the page's name, of a name "trace info". */
static void page_name(const struct cc_command *c, bool capitals, char *out, size_t cap)
{
    (void)snprintf(out, cap, "%s-%s", capitals ? "COMMCOMP" : "commcomp", c->name);
    for (char *p = out; *p != '\0'; p++)
        if (*p == ' ')
            *p = '-';
        else if (capitals && *p >= 'a' && *p <= 'z')
            *p = (char)(*p - 'a' + 'A');
}

static void man_head(FILE *out, const char *title)
{
    fprintf(out, ".TH %s 1 \"\" \"commcomp %s\" \"User Commands\"\n.SH NAME\n", title,
            cc_version());
}

void cc_help_man_command(const struct cc_command *c, FILE *out)
{
    struct cc_option_list list;
    char title[64], name[64];
    page_name(c, true, title, sizeof title);
    page_name(c, false, name, sizeof name);
    cc_option_list(c, true, &list);
    man_head(out, title);
    fprintf(out, "%s \\- ", name);
    print_roff(out, c->summary);
    fprintf(out, ".SH SYNOPSIS\n.B commcomp %s\n[options] %s\n.SH DESCRIPTION\n", c->name,
            c->operands);
    print_roff(out, c->description);
    man_options(out, &list);
    if (c->columns[0].key != NULL)
        fprintf(out, ".SH COLUMNS OF THE RESULT\n");
    cc_put_columns(c->columns, man_item, out);
    if (strcmp(c->name, "schemes") == 0)
        man_schemes(out);
    fprintf(out, ".SH EXAMPLES\n.nf\n");
    print_roff(out, c->examples);
    fprintf(out, ".fi\n.SH SEE ALSO\n.BR commcomp (1),\n%s\n", c->page);
}

void cc_help_man(const struct cc_command *const *commands, FILE *out)
{
    char name[64];
    man_head(out, "COMMCOMP");
    fprintf(out, "commcomp \\- ");
    print_roff(out, cc_program_summary);
    fprintf(out, ".SH SYNOPSIS\n.B commcomp\n.I command\n[options]\n.SH COMMANDS\nEach has a page, "
                 "and prints a short one with \\-\\-help.\n");
    for (size_t i = 0; commands[i] != NULL; i++) {
        page_name(commands[i], false, name, sizeof name);
        fprintf(out, ".TP\n.BR %s (1)\n", name);
        print_roff(out, commands[i]->summary);
    }
    fprintf(out, ".SH OPTIONS OF EVERY COMMAND\n");
    for (const struct cc_option *o = cc_record_options; o->name != NULL; o++)
        cc_put_option(o, man_item, out);
    for (const struct cc_option *o = cc_common_options; o->name != NULL; o++)
        cc_put_option(o, man_item, out);
    fprintf(out, ".SH EXIT STATUS\n0 done; 1 it could not be done, or a check did not hold; 2 a "
                 "mistake on the command line; 3 validate could not measure; 130 after "
                 "Ctrl-C.\n.SH ENVIRONMENT\n");
    man_item(out, "COMMCOMP_ISA",
             "scalar, avx2, avx512 or neon: the instruction set to use instead of the best");
    man_item(out, "COLUMNS", "the width of tables and help, instead of the terminal's");
    man_item(out, "NO_COLOR", "if set, nothing is printed in bold");
}
