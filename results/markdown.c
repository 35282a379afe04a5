/* Markdown: a table as GitHub has them, the settings above it and the notes below it as lists. */
#include <string.h>

#include "results/layout.h"
#include "results/text.h"

static cc_replacement replace = {
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
    cc_text_escape(s, replace, out);
}

static void put_head(const struct cc_shown *p, FILE *out)
{
    cc_text_escape(p->head, replace, out);
    if (p->column->key->unit[0] == '\0')
        return;
    (void)fputs(" (", out);
    cc_text_escape(p->column->key->unit, replace, out);
    (void)fputc(')', out);
}

static void put_value(const struct cc_row *row, const struct cc_shown *p, FILE *out)
{
    char buffer[CC_VALUE_CAP];
    cc_text_escape(cc_value_text(&row->value[p->index], p->column, buffer), replace, out);
}

static void write_above(const struct cc_record *r, const struct cc_layout *l, FILE *out)
{
    for (size_t i = 0; i < l->count; i++) {
        const struct cc_shown *p = &l->shown[i];
        if (p->place != CC_ABOVE)
            continue;
        (void)fputs("- ", out);
        cc_text_escape(p->head, replace, out);
        (void)fputs(": ", out);
        put_value(&r->rows[0], p, out);
        (void)fprintf(out, "%s%s\n", p->column->key->unit[0] != '\0' ? " " : "",
                      p->column->key->unit);
    }
    if (l->above > 0)
        (void)fputc('\n', out);
}

/* Prints a row, or if row is NULL the heads and the line that aligns the columns. */
static void write_line(const struct cc_layout *l, const struct cc_row *row, FILE *out)
{
    for (size_t i = 0; i < l->count; i++) {
        const struct cc_shown *p = &l->shown[i];
        if (p->place != CC_IN_TABLE)
            continue;
        (void)fputs("| ", out);
        if (row != NULL)
            put_value(row, p, out);
        else
            put_head(p, out);
        (void)fputc(' ', out);
    }
    (void)fputs("|\n", out);
    if (row != NULL)
        return;
    for (size_t i = 0; i < l->count; i++)
        if (l->shown[i].place == CC_IN_TABLE)
            (void)fputs(l->shown[i].left ? "| :--- " : "| ---: ", out);
    (void)fputs("|\n", out);
}

static void write_remark(const struct cc_record *r, const char *label, const char *text, FILE *out)
{
    (void)r;
    (void)fprintf(out, "- %s", label);
    put_block(text, out);
    (void)fputc('\n', out);
}

int cc_markdown_write(const struct cc_record *r, FILE *out, struct cc_error *e)
{
    struct cc_layout l;
    CC_TRY(cc_layout_make(r, false, 0, &l, e));
    if (r->title[0] != '\0') {
        put_block(r->title, out);
        (void)fputs("\n\n", out);
    }
    write_above(r, &l, out);
    if (l.in_table > 0) {
        write_line(&l, NULL, out);
        for (size_t i = 0; i < r->row_count; i++)
            write_line(&l, &r->rows[i], out);
    }
    if (l.in_table > 0 && cc_remarks_any(r))
        (void)fputc('\n', out);
    cc_layout_free(&l);
    cc_remarks_put(r, write_remark, out);
    return CC_OK;
}
