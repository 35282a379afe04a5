/* The table, in plain text for people. Settings that have the same value in every row stand above
 * it, one a line, or all in one below an answer; the other columns are as wide as their widest
 * cell, texts to the left and numbers to the right. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/memory.h"
#include "core/memory_text.h"
#include "results/layout.h"
#include "results/text.h"

static void pad(size_t count, FILE *out)
{
    while (count-- > 0)
        (void)fputc(' ', out);
}

/* Prints a line like "workers    10" for each column above the table. */
static void write_above(const struct cc_record *r, const struct cc_layout *l, FILE *out)
{
    const struct cc_shown *p = NULL;
    size_t width = 0;
    while ((p = cc_layout_next(l, CC_ABOVE, p)) != NULL)
        if (cc_text_print(p->head, NULL) > width)
            width = cc_text_print(p->head, NULL);
    width += CC_TABLE_GAP;
    while ((p = cc_layout_next(l, CC_ABOVE, p)) != NULL) {
        const struct cc_value *v = &r->rows[0].value[p->index];
        pad(width - cc_text_print(p->head, out), out);
        if (v->kind == CC_TEXT) {
            cc_text_wrap(v->text, r->width, width, width, out);
            continue;
        }
        cc_value_put(v, p->column, true, NULL, out);
        (void)fputc('\n', out);
    }
    if (l->in[CC_ABOVE] > 0 && l->in[CC_IN_TABLE] > 0)
        (void)fputc('\n', out);
}

/* Prints the same in one line, such as "workers 10, bandwidth 100 Mbit/s". */
static int write_above_in_line(const struct cc_record *r, const struct cc_layout *l, FILE *out,
                               struct cc_error *e)
{
    struct cc_memory_text t;
    const char *gap = "";
    CC_TRY(cc_memory_text_begin(&t, "a line of a table", e));
    for (const struct cc_shown *p = NULL; (p = cc_layout_next(l, CC_ABOVE, p)) != NULL;) {
        (void)fprintf(t.f, "%s%s ", gap, p->head);
        cc_value_put(&r->rows[0].value[p->index], p->column, true, NULL, t.f);
        gap = ", ";
    }
    CC_TRY(cc_memory_text_end(&t, CC_OK, e));
    if (l->in[CC_ABOVE] > 0)
        cc_text_wrap(t.text, r->width, 0, CC_TABLE_GAP, out);
    if (l->in[CC_ABOVE] > 0 && l->in[CC_IN_TABLE] > 0)
        (void)fputc('\n', out);
    free(t.text);
    return CC_OK;
}

/* Prints a row, or if row is NULL the heads or the units, without spaces at the end of the line. */
static void write_line(const struct cc_record *r, const struct cc_layout *l,
                       const struct cc_row *row, bool units, FILE *out)
{
    size_t gap = 0; /* spaces to print before the next text */
    for (const struct cc_shown *p = NULL; (p = cc_layout_next(l, CC_IN_TABLE, p)) != NULL;) {
        const struct cc_value *v = row != NULL ? &row->value[p->index] : NULL;
        const char *head = units ? p->column->key->unit : p->head;
        size_t width = v != NULL ? cc_value_print(v, p->column, NULL) : cc_text_print(head, NULL);
        size_t spare = p->width - width;
        if (p == l->wrapped && v != NULL && v->kind == CC_TEXT) {
            pad(gap, out);
            cc_text_wrap(v->text, r->width, l->wrap_at, l->wrap_at, out);
            return;
        }
        if (width > 0) {
            pad(gap + (p->left ? 0 : spare), out);
            (void)(v != NULL ? cc_value_print(v, p->column, out) : cc_text_print(head, out));
            gap = p->left ? spare : 0;
        } else {
            gap += p->width;
        }
        gap += CC_TABLE_GAP;
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

static void write_rows(const struct cc_record *r, const struct cc_layout *l, FILE *out)
{
    bool bold = has_bold(out);
    (void)fputs(bold ? "\033[1m" : "", out);
    write_line(r, l, NULL, false, out);
    (void)fputs(bold ? "\033[0m" : "", out);
    if (l->units)
        write_line(r, l, NULL, true, out);
    for (size_t i = 0; i < r->row_count; i++)
        write_line(r, l, &r->rows[i], false, out);
}

static int write_left_out(const struct cc_record *r, const struct cc_layout *l, FILE *out,
                          struct cc_error *e)
{
    struct cc_memory_text t;
    size_t named = 0;
    CC_TRY(cc_memory_text_begin(&t, "a line of a table", e));
    (void)fprintf(t.f, "left out for the width of %zu: ", r->width);
    for (const struct cc_shown *p = NULL; (p = cc_layout_next(l, CC_LEFT_OUT, p)) != NULL;)
        (void)fprintf(t.f, "%s%s", named++ > 0 ? ", " : "", p->column->key->name);
    (void)fprintf(t.f, " (--wide shows all)");
    CC_TRY(cc_memory_text_end(&t, CC_OK, e));
    cc_text_wrap(t.text, r->width, 0, CC_TABLE_GAP, out);
    free(t.text);
    return CC_OK;
}

static void write_remark(const struct cc_record *r, const char *label, const char *text, FILE *out)
{
    (void)fputs(label, out);
    cc_text_wrap(text, r->width, strlen(label), CC_TABLE_GAP, out);
}

/* Whether the record has notes at a place. */
static bool has_note_at(const struct cc_record *r, enum cc_note_place place)
{
    for (size_t i = 0; i < r->note_count; i++)
        if (r->note_place[i] == place)
            return true;
    return false;
}

static void write_first(const struct cc_record *r, FILE *out)
{
    for (size_t i = 0; i < r->note_count; i++) {
        const bool code = r->note_place[i] == CC_NOTE_CODE;
        if (code)
            (void)cc_text_print(r->notes[i], out);
        if (code)
            (void)fputc('\n', out);
        else if (cc_note_above(r, i))
            write_remark(r, "", r->notes[i], out);
    }
    if (r->row_count > 0)
        (void)fputc('\n', out);
}

/* Says what a table in few lines leaves out. */
static void write_hidden(const struct cc_record *r, size_t columns, size_t notes, FILE *out)
{
    const struct {
        size_t count;
        const char *of;
    } hidden[] = {{r->hidden_rows, "row"}, {columns, "column"}, {notes, "note"}};
    const char *gap = "not shown: ";
    for (size_t i = 0; i < sizeof hidden / sizeof hidden[0]; i++) {
        if (hidden[i].count == 0)
            continue;
        (void)fprintf(out, "%s%zu %s%s", gap, hidden[i].count, hidden[i].of,
                      hidden[i].count == 1 ? "" : "s");
        gap = ", ";
    }
    if (gap[0] == ',')
        (void)fputs("; --wide shows all\n", out);
}

/* In few lines: the answer, the settings in one line, the most important columns and notes. */
static int write_compact(const struct cc_record *r, FILE *out, struct cc_error *e)
{
    enum { COLUMNS = 8, NOTES = 3 };
    struct cc_layout l;
    size_t below = 0, notes = 0, warnings = 0;
    for (size_t i = 0; i < r->note_count; i++) {
        below += !cc_note_above(r, i);
        notes += !cc_note_above(r, i) && cc_note_shown(r, i);
        warnings += r->note_place[i] == CC_NOTE_WARNING;
    }
    if (notes > NOTES)
        notes = warnings > NOTES ? warnings : NOTES;
    CC_TRY(cc_layout_make(r, false, r->width, &l, e));
    cc_layout_keep(r, &l, COLUMNS);
    write_first(r, out);
    if (r->title[0] != '\0')
        write_remark(r, "", r->title, out);
    const int status = write_above_in_line(r, &l, out, e);
    if (l.in[CC_IN_TABLE] > 0)
        write_rows(r, &l, out);
    const size_t columns = l.in[CC_LEFT_OUT], beyond = below - notes;
    if (l.count > 0 && (columns + r->hidden_rows + beyond > 0 || cc_remarks_any(r)))
        (void)fputc('\n', out);
    free(l.shown);
    cc_remarks_put(r, NOTES, write_remark, out);
    write_hidden(r, columns, beyond, out);
    return status;
}

int cc_table_write(const struct cc_record *r, FILE *out, struct cc_error *e)
{
    struct cc_layout l;
    const bool first = has_note_at(r, CC_NOTE_FIRST), brief = first && !r->reasons;
    const bool answered = first || has_note_at(r, CC_NOTE_ANSWER);
    if (answered && !first && r->width > 0 && !r->wide && (r->chosen == NULL || r->usual))
        return write_compact(r, out, e);
    CC_TRY(cc_layout_make(r, !first, r->wide ? 0 : r->width, &l, e));
    if (answered)
        write_first(r, out);
    if (r->title[0] != '\0' && !brief)
        write_remark(r, "", r->title, out);
    if (!brief)
        write_above(r, &l, out);
    if (l.in[CC_IN_TABLE] > 0)
        write_rows(r, &l, out);
    const bool left_out = l.in[CC_LEFT_OUT] > 0 && !brief;
    if (l.count > 0 && (left_out || cc_remarks_any(r)))
        (void)fputc('\n', out);
    int status = left_out ? write_left_out(r, &l, out, e) : CC_OK;
    free(l.shown);
    cc_remarks_put(r, SIZE_MAX, write_remark, out);
    return status;
}
