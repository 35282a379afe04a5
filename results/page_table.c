/* The tables of a page. Numbers are printed as the command's tables print them; the page's script
 * sorts by the values of the embedded JSON, whose rows have the same order. */
#include <stdlib.h>

#include "core/memory.h"
#include "results/layout.h"
#include "results/page_impl.h"
#include "results/text.h"

/* As wide as a table may be, in characters, before its less important columns are hidden. */
enum { TABLE_WIDTH = 100 };

/* Where a column stands: one that is not in the layout has no title in the command's tables. */
static enum cc_place place_of(const struct cc_layout *l, size_t column)
{
    for (size_t i = 0; i < l->count; i++)
        if (l->shown[i].index == column)
            return l->shown[i].place;
    return CC_LEFT_OUT;
}

bool cc_page_is_filled(const struct cc_page_part *p, size_t column)
{
    for (size_t row = 0; row < p->record.row_count; row++)
        if (p->record.rows[row].value[column].kind != CC_NULL)
            return true;
    return false;
}

static bool has_text(const struct cc_page_part *p, size_t column)
{
    for (size_t row = 0; row < p->record.row_count; row++)
        if (p->record.rows[row].value[column].kind == CC_TEXT)
            return true;
    return false;
}

static void put_value(const struct cc_page_part *p, size_t row, size_t column, FILE *out)
{
    char buffer[CC_VALUE_CAP];
    cc_html_put(cc_value_text(&p->record.rows[row].value[column], &p->column[column], buffer), out);
}

/* Writes the meaning of a column: that of its key, then what holds for the command. */
static void put_help(const struct cc_column *c, FILE *out)
{
    cc_html_put(c->key->help, out);
    (void)fputs(c->note != NULL ? "; " : "", out);
    cc_html_put(c->note != NULL ? c->note : "", out);
}

/* "measured", or of several origins "measured, computed". */
static void put_origins(unsigned origins, FILE *out)
{
    const char *between = "";
    for (int i = 0; i < CC_ORIGINS; i++)
        if ((origins >> i & 1) != 0) {
            (void)fprintf(out, "%s%s", between, cc_origin_word((enum cc_origin)i));
            between = ", ";
        }
}

int cc_page_put_settings(const struct cc_page_part *p, FILE *out, struct cc_error *e)
{
    struct cc_layout l;
    CC_TRY(cc_layout_make(&p->record, false, TABLE_WIDTH, &l, e));
    if (l.above > 0)
        (void)fputs("<ul class=\"pairs\">\n", out);
    for (size_t i = 0; i < l.count; i++) {
        const struct cc_shown *s = &l.shown[i];
        if (s->place != CC_ABOVE)
            continue;
        (void)fputs("<li><span title=\"", out);
        put_help(s->column, out);
        (void)fputs("\">", out);
        cc_html_put(s->head, out);
        (void)fputs(":</span> ", out);
        put_value(p, 0, s->index, out);
        (void)fputs(s->column->key->unit[0] != '\0' ? " " : "", out);
        cc_html_put(s->column->key->unit, out);
        (void)fputs("</li>\n", out);
    }
    if (l.above > 0)
        (void)fputs("</ul>\n", out);
    cc_layout_free(&l);
    return CC_OK;
}

/* --- the table --- */

/* The columns in their order: first those that are shown at once. */
struct order {
    size_t *column;
    size_t count, shown; /* all, and the first ones, which are shown at once */
};

/* Adds the columns that stand in the table, or those that are left out. */
static void add_columns(const struct cc_page_part *p, const struct cc_layout *l, bool shown,
                        struct order *o)
{
    for (size_t c = 0; c < p->record.column_count; c++) {
        const enum cc_place place = place_of(l, c);
        if (place != CC_ABOVE && (place == CC_IN_TABLE) == shown && cc_page_is_filled(p, c))
            o->column[o->count++] = c;
    }
}

static void put_head(const struct cc_page_part *p, size_t column, bool extra, FILE *out)
{
    const struct cc_column *c = &p->column[column];
    const unsigned origins = cc_page_origins(p, column),
                   plain = 1U << CC_ORIGIN_UNKNOWN | 1U << CC_ORIGIN_GIVEN;
    (void)fputs("<th scope=\"col\" class=\"", out);
    (void)fputs(extra ? "extra" : "", out);
    (void)fputs(has_text(p, column) ? " text" : "", out);
    (void)fputs("\" data-key=\"", out);
    cc_html_put(c->key->name, out);
    (void)fputs("\" title=\"", out);
    cc_html_put(c->key->name, out);
    (void)fputs(c->key->help[0] != '\0' ? ": " : "", out);
    put_help(c, out);
    (void)fputs("\"><span class=\"head\">", out);
    cc_html_put(cc_column_head(c), out);
    (void)fputs("</span>", out);
    if (c->key->unit[0] != '\0') {
        (void)fputs(" <span class=\"unit\">", out);
        cc_html_put(c->key->unit, out);
        (void)fputs("</span>", out);
    }
    if ((origins & ~plain) != 0) {
        (void)fputs(" <span class=\"origin\">", out);
        put_origins(origins, out);
        (void)fputs("</span>", out);
    }
    (void)fputs("</th>\n", out);
}

static bool is_recommended(const struct cc_page_part *p, size_t row)
{
    const size_t c = cc_page_column(p, CC_KEY(recommended));
    return c < p->record.column_count && p->record.rows[row].value[c].number != 0;
}

/* Writes a row; its first cell, which often is its name, stays in sight while one scrolls. */
static void put_row(const struct cc_page_part *p, const struct order *o, size_t row, FILE *out)
{
    (void)fputs(is_recommended(p, row) ? "<tr class=\"recommended\">" : "<tr>", out);
    for (size_t i = 0; i < o->count; i++) {
        const bool extra = i >= o->shown,
                   text = p->record.rows[row].value[o->column[i]].kind == CC_TEXT;
        const char *kind = extra && text ? " class=\"extra text\""
                           : extra       ? " class=\"extra\""
                           : text        ? " class=\"text\""
                                         : "";
        (void)fprintf(out, i == 0 ? "<th scope=\"row\"%s>" : "<td%s>", kind);
        put_value(p, row, o->column[i], out);
        (void)fputs(i == 0 ? "</th>" : "</td>", out);
    }
    (void)fputs("</tr>\n", out);
}

static void put_rows(const struct cc_page_part *p, const struct order *o, size_t number, FILE *out)
{
    const size_t extra = o->count - o->shown;
    if (extra > 0)
        (void)fprintf(out,
                      "<input type=\"checkbox\" class=\"all\" id=\"all-%zu\"><label "
                      "for=\"all-%zu\">%zu more column%s</label>\n",
                      number, number, extra, extra == 1 ? "" : "s");
    (void)fprintf(out,
                  "<div class=\"scroll\" role=\"region\" aria-label=\"table of result %zu\" "
                  "tabindex=\"0\">\n<table class=\"rows\" id=\"rows-%zu\">\n<thead><tr>\n",
                  number, number);
    for (size_t i = 0; i < o->count; i++)
        put_head(p, o->column[i], i >= o->shown, out);
    (void)fputs("</tr></thead>\n<tbody>\n", out);
    for (size_t row = 0; row < p->record.row_count; row++)
        put_row(p, o, row, out);
    (void)fputs("</tbody>\n</table>\n</div>\n", out);
}

int cc_page_put_table(const struct cc_page_part *p, size_t number, FILE *out, struct cc_error *e)
{
    struct cc_layout l;
    struct order o = {.count = 0};
    CC_TRY(cc_layout_make(&p->record, false, TABLE_WIDTH, &l, e));
    o.column = cc_alloc(p->record.column_count * sizeof *o.column, e);
    if (o.column != NULL) {
        add_columns(p, &l, true, &o);
        o.shown = o.count;
        add_columns(p, &l, false, &o);
        put_rows(p, &o, number, out);
    }
    cc_layout_free(&l);
    const int status = o.column != NULL ? CC_OK : CC_FAIL;
    free(o.column);
    return status;
}

/* --- the list of columns --- */

void cc_page_put_columns(const struct cc_page_part *p, FILE *out)
{
    (void)fputs("<div class=\"scroll\" role=\"region\" aria-label=\"columns\" tabindex=\"0\">\n"
                "<table class=\"columns\">\n<thead><tr><th scope=\"col\">column</th>"
                "<th scope=\"col\">key</th><th scope=\"col\">unit</th>"
                "<th scope=\"col\">obtained</th><th scope=\"col\">meaning</th></tr></thead>\n"
                "<tbody>\n",
                out);
    for (size_t c = 0; c < p->record.column_count; c++) {
        const struct cc_column *column = &p->column[c];
        if (!cc_page_is_filled(p, c))
            continue;
        (void)fputs("<tr><th scope=\"row\">", out);
        cc_html_put(cc_column_head(column), out);
        (void)fputs("</th><td><code>", out);
        cc_html_put(column->key->name, out);
        (void)fputs("</code></td><td>", out);
        cc_html_put(column->key->unit, out);
        (void)fputs("</td><td>", out);
        put_origins(cc_page_origins(p, c), out);
        (void)fputs("</td><td class=\"meaning\">", out);
        put_help(column, out);
        (void)fputs("</td></tr>\n", out);
    }
    (void)fputs("</tbody>\n</table>\n</div>\n", out);
}
