/* Markdown and LaTeX, both with the answer first. Markdown: a table as GitHub has them, the
 * settings above it and the notes below it as lists. LaTeX: a tabular with the rules of booktabs,
 * to be put into a table environment with \\input; the command line, the settings and the notes are
 * comments, for the caption to be written from. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "results/layout.h"
#include "results/text.h"

/* Prints a line of a table: of each column the cell, which is that of a row or, without one, about
 * the column. */
typedef void put_cell(const struct cc_shown *p, const struct cc_row *row, FILE *out);
static void put_line(const struct cc_layout *l, const char *begin, const char *between,
                     const char *end, put_cell *cell, const struct cc_row *row, FILE *out)
{
    const char *before = begin;
    for (const struct cc_shown *p = NULL; (p = cc_layout_next(l, CC_IN_TABLE, p)) != NULL;) {
        (void)fputs(before, out);
        cell(p, row, out);
        before = between;
    }
    (void)fputs(end, out);
}

static void put_settings(const struct cc_record *r, const struct cc_layout *l, const char *begin,
                         const char *const *replace, FILE *out)
{
    for (const struct cc_shown *p = NULL; (p = cc_layout_next(l, CC_ABOVE, p)) != NULL;) {
        (void)fputs(begin, out);
        cc_text_escape(p->head, replace, out);
        (void)fputs(": ", out);
        cc_value_put(&r->rows[0].value[p->index], p->column, true, replace, out);
        (void)fputc('\n', out);
    }
}

/* Prints the notes above the table. */
static void put_answer(const struct cc_record *r, cc_print_remark *print, FILE *out)
{
    for (size_t i = 0; i < r->note_count; i++)
        if (cc_note_above(r, i))
            print(r, "", r->notes[i], out);
}

/* --- Markdown --- */

static cc_replacement markdown = {
    ['\\'] = "\\\\", ['`'] = "\\`",  ['*'] = "\\*", ['_'] = "\\_", ['['] = "\\[", [']'] = "\\]",
    ['<'] = "&lt;",  ['>'] = "&gt;", ['#'] = "\\#", ['|'] = "\\|", ['~'] = "\\~", ['&'] = "&amp;",
};

/* Prints a text of its own block, which must not begin a list in the list. */
static void put_block(const char *s, FILE *out)
{
    s += strspn(s, " ");
    const size_t digits = strspn(s, "0123456789");
    if (*s == '-' || *s == '+')
        (void)fputc('\\', out);
    if (digits > 0 && (s[digits] == '.' || s[digits] == ')')) {
        (void)fprintf(out, "%.*s\\", (int)digits, s);
        s += digits;
    }
    cc_text_escape(s, markdown, out);
}

static void markdown_head(const struct cc_shown *p, const struct cc_row *row, FILE *out)
{
    const char *unit = p->column->key->unit;
    (void)row;
    cc_text_escape(p->head, markdown, out);
    (void)fputs(unit[0] != '\0' ? " (" : "", out);
    cc_text_escape(unit, markdown, out);
    (void)fputs(unit[0] != '\0' ? ")" : "", out);
}

static void markdown_rule(const struct cc_shown *p, const struct cc_row *row, FILE *out)
{
    (void)row;
    (void)fputs(p->left ? ":---" : "---:", out);
}

static void markdown_value(const struct cc_shown *p, const struct cc_row *row, FILE *out)
{
    cc_value_put(&row->value[p->index], p->column, false, markdown, out);
}

static void markdown_remark(const struct cc_record *r, const char *label, const char *text,
                            FILE *out)
{
    (void)r;
    (void)fprintf(out, "- %s", label);
    put_block(text, out);
    (void)fputc('\n', out);
}

static void markdown_paragraph(const struct cc_record *r, const char *label, const char *text,
                               FILE *out)
{
    (void)r;
    (void)label;
    put_block(text, out);
    (void)fputs("\n\n", out);
}

int cc_markdown_write(const struct cc_record *r, FILE *out, struct cc_error *e)
{
    struct cc_layout l;
    CC_TRY(cc_layout_make(r, false, 0, &l, e));
    put_answer(r, markdown_paragraph, out);
    if (r->title[0] != '\0')
        markdown_paragraph(r, "", r->title, out);
    put_settings(r, &l, "- ", markdown, out);
    if (l.in[CC_ABOVE] > 0)
        (void)fputc('\n', out);
    if (l.in[CC_IN_TABLE] > 0) {
        put_line(&l, "| ", " | ", " |\n", markdown_head, NULL, out);
        put_line(&l, "| ", " | ", " |\n", markdown_rule, NULL, out);
        for (size_t i = 0; i < r->row_count; i++)
            put_line(&l, "| ", " | ", " |\n", markdown_value, &r->rows[i], out);
        if (cc_remarks_any(r))
            (void)fputc('\n', out);
    }
    free(l.shown);
    cc_remarks_put(r, SIZE_MAX, markdown_remark, out);
    return CC_OK;
}

/* --- LaTeX --- */

static void latex_head(const struct cc_shown *p, const struct cc_row *row, FILE *out)
{
    (void)row;
    if (strcmp(p->head, "+-") == 0)
        (void)fputs("$\\pm$", out);
    else
        cc_text_escape(p->head, cc_text_latex, out);
}

static void latex_unit(const struct cc_shown *p, const struct cc_row *row, FILE *out)
{
    (void)row;
    if (strcmp(p->column->key->unit, "us") == 0)
        (void)fputs("$\\mu$s", out);
    else
        cc_text_escape(p->column->key->unit, cc_text_latex, out);
}

static void latex_align(const struct cc_shown *p, const struct cc_row *row, FILE *out)
{
    (void)row;
    (void)fputc(p->left ? 'l' : 'r', out);
}

/* A minus sign is longer than a hyphen, and a dash stands for null. */
static void latex_value(const struct cc_shown *p, const struct cc_row *row, FILE *out)
{
    char buffer[CC_VALUE_CAP];
    const struct cc_value *v = &row->value[p->index];
    const char *text = cc_value_text(v, p->column, buffer);
    const bool negative = v->kind == CC_NUMBER && *text == '-';
    if (v->kind == CC_NULL)
        text = "--";
    if (negative)
        (void)fputs("$-$", out);
    cc_text_escape(text + negative, cc_text_latex, out);
}

static void latex_remark(const struct cc_record *r, const char *label, const char *text, FILE *out)
{
    (void)r;
    (void)fprintf(out, "%% %s", label);
    cc_text_wrap(text, 0, 0, 0, out);
}

/* Columns that a page of a paper has room for. */
enum { LATEX_COLUMNS = 5 };

int cc_latex_write(const struct cc_record *r, FILE *out, struct cc_error *e)
{
    struct cc_layout l;
    CC_TRY(cc_layout_make(r, false, 0, &l, e));
    cc_layout_keep(r, &l, LATEX_COLUMNS);
    put_answer(r, latex_remark, out);
    (void)fputs("% \\usepackage{booktabs}\n%", out);
    for (int i = 0; i < r->argc; i++) {
        (void)fputc(' ', out);
        (void)cc_text_print(r->argv[i], out);
    }
    (void)fputc('\n', out);
    if (r->title[0] != '\0')
        latex_remark(r, "", r->title, out);
    put_settings(r, &l, "% ", NULL, out);
    if (l.in[CC_IN_TABLE] > 0) {
        put_line(&l, "\\begin{tabular}{", "", "}\n\\toprule\n", latex_align, NULL, out);
        put_line(&l, "", " & ", " \\\\\n", latex_head, NULL, out);
        if (l.units)
            put_line(&l, "", " & ", " \\\\\n", latex_unit, NULL, out);
        (void)fputs("\\midrule\n", out);
        for (size_t i = 0; i < r->row_count; i++)
            put_line(&l, "", " & ", " \\\\\n", latex_value, &r->rows[i], out);
        (void)fputs("\\bottomrule\n\\end{tabular}\n", out);
    }
    free(l.shown);
    cc_remarks_put(r, SIZE_MAX, latex_remark, out);
    return CC_OK;
}
