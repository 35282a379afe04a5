/* LaTeX: a tabular with the rules of booktabs, to be put into a table environment with \input. The
 * command line, the settings and the notes are comments, for the caption to be written from. */
#include <string.h>

#include "results/layout.h"
#include "results/text.h"

static void put_head(const char *head, FILE *out)
{
    if (strcmp(head, "+-") == 0)
        (void)fputs("$\\pm$", out);
    else
        cc_text_escape(head, cc_text_latex, out);
}

static void put_unit(const char *unit, FILE *out)
{
    if (strcmp(unit, "us") == 0)
        (void)fputs("$\\mu$s", out);
    else
        cc_text_escape(unit, cc_text_latex, out);
}

/* A minus sign is longer than a hyphen, and a dash stands for null. */
static void put_value(const struct cc_value *v, const struct cc_column *c, FILE *out)
{
    char buffer[CC_VALUE_CAP];
    const char *text = cc_value_text(v, c, buffer);
    const bool negative = v->kind == CC_NUMBER && *text == '-';
    if (v->kind == CC_NULL)
        text = "--";
    if (negative)
        (void)fputs("$-$", out);
    cc_text_escape(text + negative, cc_text_latex, out);
}

enum line { HEADS, UNITS, VALUES };

static void write_line(const struct cc_layout *l, enum line line, const struct cc_row *row,
                       FILE *out)
{
    const char *between = "";
    for (size_t i = 0; i < l->count; i++) {
        const struct cc_shown *p = &l->shown[i];
        if (p->place != CC_IN_TABLE)
            continue;
        (void)fputs(between, out);
        between = " & ";
        if (line == VALUES)
            put_value(&row->value[p->index], p->column, out);
        else if (line == UNITS)
            put_unit(p->column->key->unit, out);
        else
            put_head(p->head, out);
    }
    (void)fputs(" \\\\\n", out);
}

static void write_tabular(const struct cc_record *r, const struct cc_layout *l, FILE *out)
{
    (void)fputs("\\begin{tabular}{", out);
    for (size_t i = 0; i < l->count; i++)
        if (l->shown[i].place == CC_IN_TABLE)
            (void)fputc(l->shown[i].left ? 'l' : 'r', out);
    (void)fputs("}\n\\toprule\n", out);
    write_line(l, HEADS, NULL, out);
    if (l->units)
        write_line(l, UNITS, NULL, out);
    (void)fputs("\\midrule\n", out);
    for (size_t i = 0; i < r->row_count; i++)
        write_line(l, VALUES, &r->rows[i], out);
    (void)fputs("\\bottomrule\n\\end{tabular}\n", out);
}

static void write_remark(const struct cc_record *r, const char *label, const char *text, FILE *out)
{
    (void)r;
    (void)fprintf(out, "%% %s", label);
    cc_text_wrap(text, 0, 0, 0, out);
}

static void write_settings(const struct cc_record *r, const struct cc_layout *l, FILE *out)
{
    (void)fputs("% \\usepackage{booktabs}\n%", out);
    for (int i = 0; i < r->argc; i++) {
        (void)fputc(' ', out);
        (void)cc_text_print(r->argv[i], out);
    }
    (void)fputc('\n', out);
    if (r->title[0] != '\0')
        write_remark(r, "", r->title, out);
    for (size_t i = 0; i < l->count; i++) {
        const struct cc_shown *p = &l->shown[i];
        if (p->place != CC_ABOVE)
            continue;
        (void)fprintf(out, "%% %s: ", p->head);
        (void)cc_value_print(&r->rows[0].value[p->index], p->column, out);
        (void)fprintf(out, "%s%s\n", p->column->key->unit[0] != '\0' ? " " : "",
                      p->column->key->unit);
    }
}

int cc_latex_write(const struct cc_record *r, FILE *out, struct cc_error *e)
{
    struct cc_layout l;
    CC_TRY(cc_layout_make(r, false, 0, &l, e));
    write_settings(r, &l, out);
    if (l.in_table > 0)
        write_tabular(r, &l, out);
    cc_layout_free(&l);
    cc_remarks_put(r, write_remark, out);
    return CC_OK;
}
