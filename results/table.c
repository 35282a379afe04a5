/* The table, in plain text for people. Columns that have the same value in every row stand above
 * it, one a line; the others are as wide as their widest cell, texts to the left and numbers to the
 * right. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/memory.h"
#include "results/text.h"

/* A column that is shown: above the table (lifted) or in it. */
struct shown_column {
    const struct cc_column *column;
    size_t index;
    size_t width; /* of the widest cell */
    bool left;    /* alignment */
    bool lifted;
};

struct layout {
    struct shown_column *shown;
    size_t count, lifted;
    bool units; /* a column in the table has a unit: a second line of heads */
};

static size_t max(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Measures one column; false if it is null in every row. */
static bool measure(const struct cc_record *r, struct shown_column *p)
{
    bool filled = false;
    p->lifted = true;
    p->width = max(cc_text_print(p->column->head, NULL), cc_text_print(p->column->unit, NULL));
    for (size_t i = 0; i < r->row_count; i++) {
        const struct cc_value *v = &r->rows[i].value[p->index];
        p->width = max(p->width, cc_value_print(v, p->column, NULL));
        p->left = p->left || v->kind == CC_TEXT;
        p->lifted = p->lifted && cc_value_same(v, &r->rows[0].value[p->index]);
        filled = filled || v->kind != CC_NULL;
    }
    return filled;
}

static int make_layout(const struct cc_record *r, struct layout *l, struct cc_error *e)
{
    *l = (struct layout){.shown = cc_alloc(r->column_count * sizeof *l->shown, e)};
    if (l->shown == NULL)
        return CC_FAIL;
    for (size_t c = 0; c < r->column_count; c++) {
        struct shown_column p = {.column = &r->columns[c], .index = c};
        if (p.column->head == NULL || !measure(r, &p))
            continue;
        /* A single row is printed as a list; otherwise the first column stays in the table. */
        p.lifted = p.lifted && (r->row_count == 1 || l->count > 0);
        l->lifted += p.lifted;
        l->units = l->units || (!p.lifted && p.column->unit[0] != '\0');
        l->shown[l->count++] = p;
    }
    return CC_OK;
}

static void pad(size_t count, FILE *out)
{
    while (count-- > 0)
        (void)fputc(' ', out);
}

/* Prints a line like "workers    10" for each lifted column. */
static void write_lifted(const struct cc_record *r, const struct layout *l, FILE *out)
{
    size_t width = 0;
    for (size_t i = 0; i < l->count; i++)
        if (l->shown[i].lifted)
            width = max(width, cc_text_print(l->shown[i].column->head, NULL));
    for (size_t i = 0; i < l->count; i++) {
        const struct shown_column *p = &l->shown[i];
        if (!p->lifted)
            continue;
        pad(width + 2 - cc_text_print(p->column->head, out), out);
        (void)cc_value_print(&r->rows[0].value[p->index], p->column, out);
        (void)fprintf(out, "%s%s\n", p->column->unit[0] != '\0' ? " " : "", p->column->unit);
    }
    if (l->lifted > 0 && l->lifted < l->count)
        (void)fputc('\n', out);
}

/* Prints a row, or if row is NULL the heads or the units, without spaces at the end of the line. */
static void write_line(const struct layout *l, const struct cc_row *row, bool units, FILE *out)
{
    size_t gap = 0; /* spaces to print before the next text */
    for (size_t i = 0; i < l->count; i++) {
        const struct shown_column *p = &l->shown[i];
        if (p->lifted)
            continue;
        const struct cc_value *v = row != NULL ? &row->value[p->index] : NULL;
        const char *head = units ? p->column->unit : p->column->head;
        size_t width = v != NULL ? cc_value_print(v, p->column, NULL) : cc_text_print(head, NULL);
        size_t spare = p->width - width;
        if (width > 0) {
            pad(gap + (p->left ? 0 : spare), out);
            (void)(v != NULL ? cc_value_print(v, p->column, out) : cc_text_print(head, out));
            gap = p->left ? spare : 0;
        } else {
            gap += p->width;
        }
        gap += 2;
    }
    (void)fputc('\n', out);
}

/* Whether heads are bold: on a terminal, unless NO_COLOR is set (no-color.org). */
static bool has_bold(FILE *out)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    int fd = fileno(out);
    return fd >= 0 && isatty(fd) && (no_color == NULL || no_color[0] == '\0') && term != NULL &&
           strcmp(term, "dumb") != 0;
}

static void write_rows(const struct cc_record *r, const struct layout *l, FILE *out)
{
    bool bold = has_bold(out);
    (void)fputs(bold ? "\033[1m" : "", out);
    write_line(l, NULL, false, out);
    (void)fputs(bold ? "\033[0m" : "", out);
    if (l->units)
        write_line(l, NULL, true, out);
    for (size_t i = 0; i < r->row_count; i++)
        write_line(l, &r->rows[i], false, out);
}

static void write_remark(const char *label, const char *text, FILE *out)
{
    (void)fputs(label, out);
    (void)cc_text_print(text, out);
    (void)fputc('\n', out);
}

int cc_table_write(const struct cc_record *r, FILE *out, struct cc_error *e)
{
    struct layout l;
    if (make_layout(r, &l, e) != CC_OK)
        return CC_FAIL;
    if (r->title[0] != '\0')
        write_remark("", r->title, out);
    write_lifted(r, &l, out);
    if (l.lifted < l.count)
        write_rows(r, &l, out);
    free(l.shown);
    bool remarks = r->note_count > 0 || r->partial || r->error[0] != '\0';
    if (l.count > 0 && remarks)
        (void)fputc('\n', out);
    for (size_t i = 0; i < r->note_count; i++)
        write_remark("", r->notes[i], out);
    if (r->partial)
        write_remark("", "partial: interrupted; these are the results until then", out);
    if (r->error[0] != '\0')
        write_remark("error: ", r->error, out);
    return CC_OK;
}
