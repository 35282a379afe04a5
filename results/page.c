/* Writing a page: the style and the script are embedded, each result is a section, and a list of
 * contents precedes several of them. Numbers in tables are printed as the command's tables print
 * them; the page's script sorts by the values of the embedded JSON, whose rows have the same order.
 */
#include "results/page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/embed.h"
#include "core/memory.h"
#include "core/memory_text.h"
#include "core/version.h"
#include "results/layout.h"
#include "results/plot.h"
#include "results/text.h"

CC_EMBED(cc_page_style, "results/page.css");
CC_EMBED(cc_page_script, "results/page.js");

static const struct cc_embedded style = CC_EMBEDDED(cc_page_style),
                                script = CC_EMBEDDED(cc_page_script);

static void put_embedded(const struct cc_embedded *f, FILE *out)
{
    (void)fwrite(f->begin, 1, cc_embedded_size(f), out);
}

/* --- a record of a result that was read back, with the columns of the command that wrote it --- */

/* A column that the command does not have, with its key: of an unknown command they are all shown,
 * and texts tell rows apart. */
static struct cc_column other_column(const struct cc_page_part *p, size_t column,
                                     struct cc_result_key *key)
{
    const bool known = p->known->columns(p->known->of, p->from.command) != NULL;
    *key = (struct cc_result_key){.name = p->sheet.key[column], .unit = "", .scale = 1, .help = ""};
    key->head = key->name;
    return (struct cc_column){.key = key,
                              .hidden = known,
                              .role = known                                      ? CC_DETAIL
                                      : cc_sheet_has(&p->sheet, column, CC_TEXT) ? CC_SETTING
                                                                                 : CC_MAIN};
}

static int make_columns(struct cc_page_part *p, struct cc_error *e)
{
    const struct cc_column *columns = p->known->columns(p->known->of, p->from.command);
    size_t n = 0;
    CC_TRY(CC_NEW(p->column, p->sheet.columns + 1, e));
    CC_TRY(CC_NEW(p->other, p->sheet.columns + 1, e));
    for (const struct cc_column *c = columns; c != NULL && c->key != NULL; c++)
        if (cc_sheet_column(&p->sheet, c->key->name) != CC_NO_COLUMN)
            p->column[n++] = *c;
    for (size_t i = 0; i < p->sheet.columns; i++)
        if (columns == NULL || cc_column_find(columns, p->sheet.key[i]) == NULL)
            p->column[n++] = other_column(p, i, &p->other[i]);
    return CC_OK;
}

static int make_rows(struct cc_page_part *p, struct cc_error *e)
{
    for (size_t row = 0; row < p->sheet.rows; row++) {
        CC_TRY(cc_record_add(&p->record, NULL, e));
        for (size_t i = 0; i < p->sheet.columns; i++)
            CC_TRY(cc_record_copy(&p->record, row, cc_column_find(p->column, p->sheet.key[i])->key,
                                  cc_sheet_value(&p->sheet, row, i), e));
    }
    return CC_OK;
}

static int make(struct cc_page_part *p, struct cc_error *e)
{
    const struct cc_result *r = p->result;
    CC_TRY_IN(cc_provenance_parse(r->text, r->length, &p->from, e), e, "%s", r->name);
    if (p->from.rows > 0)
        CC_TRY(cc_sheet_parse_json(r->name, r->text, r->length, &p->sheet, e));
    CC_TRY(make_columns(p, e));
    cc_record_init(&p->record, p->from.command, p->column, 0, NULL);
    return make_rows(p, e);
}

int cc_page_part_make(const struct cc_result *result, const struct cc_page_commands *known,
                      struct cc_page_part *out, struct cc_error *e)
{
    struct cc_page_part p = {.result = result, .known = known};
    const int status = make(&p, e);
    if (status == CC_OK)
        *out = p;
    else
        cc_page_part_free(&p);
    return status;
}

void cc_page_part_free(struct cc_page_part *p)
{
    cc_record_free(&p->record);
    free(p->column);
    free(p->other);
    cc_sheet_free(&p->sheet);
    cc_provenance_free(&p->from);
    *p = (struct cc_page_part){.result = NULL};
}

/* The origins of a column's values, a bit of 1 << origin each; 0 for a column without values. */
static unsigned origins_of(const struct cc_page_part *p, size_t column)
{
    unsigned origins = 0;
    for (size_t row = 0; row < p->record.row_count; row++)
        if (p->record.rows[row].value[column].kind != CC_NULL)
            origins |= 1U << cc_value_origin(&p->record, row, column);
    return origins;
}

/* --- a CSV's rows as a document --- */

static int put_value(const struct cc_value *v, FILE *out, struct cc_error *e)
{
    if (v->kind == CC_TEXT)
        return cc_json_put_text(out, v->text, e);
    if (v->kind == CC_NUMBER && fabs(v->number) >= 0x1p53 &&
        v->text[strspn(v->text, "0123456789")] == '\0')
        (void)fputs(v->text + strspn(v->text, "0"), out); /* a double would lose digits */
    else if (v->kind == CC_NUMBER)
        cc_json_put_number(out, v->number);
    else
        (void)fputs(v->kind == CC_NULL ? "null" : v->number != 0 ? "true" : "false", out);
    return CC_OK;
}

static int put_sheet(const struct cc_sheet *s, const char *command, FILE *out, struct cc_error *e)
{
    (void)fputs("{\n\"schema\": \"" CC_RECORD_SCHEMA "\",\n\"command\": ", out);
    CC_TRY(cc_json_put_text(out, command, e));
    (void)fputs(",\n\"argv\": [],\n\"host\": {},\n\"rows\": [", out);
    for (size_t row = 0; row < s->rows; row++)
        for (size_t i = 0; i < s->columns; i++) {
            (void)fputs(i > 0 ? ", " : row > 0 ? ",\n{" : "\n{", out);
            CC_TRY(cc_json_put_text(out, s->key[i], e));
            (void)fputs(": ", out);
            CC_TRY(put_value(cc_sheet_value(s, row, i), out, e));
            (void)fputs(i + 1 == s->columns ? "}" : "", out);
        }
    (void)fputs("\n]\n}\n", out);
    return CC_OK;
}

int cc_results_add_sheet(struct cc_results *r, const struct cc_sheet *s, const char *command,
                         struct cc_error *e)
{
    struct cc_memory_text t;
    CC_TRY(cc_memory_text_begin(&t, "the JSON of a CSV", e));
    int status = cc_memory_text_end(&t, put_sheet(s, command, t.f, e), e);
    if (status == CC_OK)
        status = cc_results_add(r, s->path, t.text, t.bytes, e);
    free(t.text);
    return status;
}

/* --- tables --- */

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

/* Writes the meaning of a column: that of its key, then what holds for the command. */
static void put_help(const struct cc_column *c, FILE *out)
{
    cc_html_print(out, "%s%s%s", c->key->help, c->note != NULL ? "; " : "",
                  c->note != NULL ? c->note : "");
}

/* "measured", or of several origins "measured, computed". */
static void put_words(unsigned origins, FILE *out)
{
    const char *between = "";
    for (int i = 0; i < CC_ORIGINS; i++)
        if ((origins >> i & 1) != 0) {
            (void)fprintf(out, "%s%s", between, cc_origin_word((enum cc_origin)i));
            between = ", ";
        }
}

static int put_settings(const struct cc_page_part *p, FILE *out, struct cc_error *e)
{
    struct cc_layout l;
    CC_TRY(cc_layout_make(&p->record, false, TABLE_WIDTH, &l, e));
    if (l.in[CC_ABOVE] > 0)
        (void)fputs("<ul class=\"pairs\">\n", out);
    for (const struct cc_shown *s = NULL; (s = cc_layout_next(&l, CC_ABOVE, s)) != NULL;) {
        (void)fputs("<li><span title=\"", out);
        put_help(s->column, out);
        cc_html_print(out, "\">%s:</span> ", s->head);
        cc_value_put(&p->record.rows[0].value[s->index], s->column, true, cc_text_html, out);
        (void)fputs("</li>\n", out);
    }
    if (l.in[CC_ABOVE] > 0)
        (void)fputs("</ul>\n", out);
    free(l.shown);
    return CC_OK;
}

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
        if (place != CC_ABOVE && (place == CC_IN_TABLE) == shown && origins_of(p, c) != 0)
            o->column[o->count++] = c;
    }
}

static void put_head(const struct cc_page_part *p, size_t column, bool extra, FILE *out)
{
    const struct cc_column *c = &p->column[column];
    const bool text = cc_sheet_has(&p->sheet, cc_sheet_column(&p->sheet, c->key->name), CC_TEXT);
    const unsigned origins = origins_of(p, column),
                   plain = 1U << CC_ORIGIN_UNKNOWN | 1U << CC_ORIGIN_GIVEN;
    cc_html_print(out, "<th scope=\"col\" class=\"%s%s\" data-key=\"%s\" title=\"%s%s",
                  extra ? "extra" : "", text ? " text" : "", c->key->name, c->key->name,
                  c->key->help[0] != '\0' ? ": " : "");
    put_help(c, out);
    cc_html_print(out, "\"><span class=\"head\">%s</span>", cc_column_head(c));
    if (c->key->unit[0] != '\0')
        cc_html_print(out, " <span class=\"unit\">%s</span>", c->key->unit);
    if ((origins & ~plain) != 0) {
        (void)fputs(" <span class=\"origin\">", out);
        put_words(origins, out);
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
        cc_value_put(&p->record.rows[row].value[o->column[i]], &p->column[o->column[i]], false,
                     cc_text_html, out);
        (void)fputs(i == 0 ? "</th>" : "</td>", out);
    }
    (void)fputs("</tr>\n", out);
}

static void put_rows(const struct cc_page_part *p, const struct order *o, size_t number, FILE *out)
{
    const size_t extra = o->count - o->shown;
    if (extra > 0)
        cc_html_print(out,
                      "<input type=\"checkbox\" class=\"all\" id=\"all-%zu\"><label "
                      "for=\"all-%zu\">%zu more column%s</label>\n",
                      number, number, extra, extra == 1 ? "" : "s");
    cc_html_print(out,
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

static int put_table(const struct cc_page_part *p, size_t number, FILE *out, struct cc_error *e)
{
    struct cc_layout l;
    struct order o = {.count = 0};
    CC_TRY(cc_layout_make(&p->record, false, TABLE_WIDTH, &l, e));
    const int status = CC_NEW(o.column, p->record.column_count, e);
    if (status == CC_OK) {
        add_columns(p, &l, true, &o);
        o.shown = o.count;
        add_columns(p, &l, false, &o);
        put_rows(p, &o, number, out);
    }
    free(l.shown);
    free(o.column);
    return status;
}

static void put_columns(const struct cc_page_part *p, FILE *out)
{
    (void)fputs("<div class=\"scroll\" role=\"region\" aria-label=\"columns\" tabindex=\"0\">\n"
                "<table class=\"columns\">\n<thead><tr><th scope=\"col\">column</th>"
                "<th scope=\"col\">key</th><th scope=\"col\">unit</th>"
                "<th scope=\"col\">obtained</th><th scope=\"col\">meaning</th></tr></thead>\n"
                "<tbody>\n",
                out);
    for (size_t c = 0; c < p->record.column_count; c++) {
        const struct cc_column *column = &p->column[c];
        if (origins_of(p, c) == 0)
            continue;
        cc_html_print(out, "<tr><th scope=\"row\">%s</th><td><code>%s</code></td><td>%s</td><td>",
                      cc_column_head(column), column->key->name, column->key->unit);
        put_words(origins_of(p, c), out);
        (void)fputs("</td><td class=\"meaning\">", out);
        put_help(column, out);
        (void)fputs("</td></tr>\n", out);
    }
    (void)fputs("</tbody>\n</table>\n</div>\n", out);
}

/* --- the sections of a result --- */

static void put_state(const struct cc_page_part *p, FILE *out)
{
    if (p->from.error != NULL)
        cc_html_print(out, "<p class=\"state\"><strong>The command failed:</strong> %s</p>\n",
                      p->from.error);
    if (p->from.partial)
        cc_html_print(out, "<p class=\"state\"><strong>Partial:</strong> the command was %s</p>\n",
                      p->from.rows > 0 ? "interrupted; these are its results until then"
                                       : "interrupted before its first row");
}

static void put_host(const struct cc_page_part *p, FILE *out)
{
    if (p->from.host_count == 0)
        return;
    (void)fputs("<ul class=\"pairs\">\n", out);
    for (size_t i = 0; i < p->from.host_count; i++)
        cc_html_print(out, "<li><span>%s:</span> %s</li>\n", p->from.host[i].key,
                      p->from.host[i].value);
    (void)fputs("</ul>\n", out);
}

static int put_question(const struct cc_page_part *p, FILE *out, struct cc_error *e)
{
    const char *summary = p->known->summary(p->known->of, p->from.command);
    (void)fputs("<h3>Question</h3>\n", out);
    if (p->from.argv[0] != '\0')
        cc_html_print(out, "<pre class=\"command\"><code>%s</code></pre>\n", p->from.argv);
    else
        (void)fputs("<p>These rows come from a CSV, which says neither the command line nor the "
                    "host nor notes.</p>\n",
                    out);
    if (summary != NULL)
        cc_html_print(out, "<p class=\"summary\">%s</p>\n", summary);
    CC_TRY(put_settings(p, out, e));
    put_host(p, out);
    return CC_OK;
}

static int put_verdict(const struct cc_page_part *p, FILE *out, struct cc_error *e)
{
    struct cc_memory_text t;
    CC_TRY(cc_memory_text_begin(&t, "a verdict", e));
    cc_page_verdict(p, t.f);
    CC_TRY(cc_memory_text_end(&t, CC_OK, e));
    if (t.bytes > 0)
        (void)fputs("<h3>Verdict</h3>\n<ul class=\"verdict\">\n", out);
    for (const char *s = t.text; s < t.text + t.bytes; s += strlen(s) + 1)
        cc_html_print(out, "<li>%s</li>\n", s);
    (void)fputs(t.bytes > 0 ? "</ul>\n" : "", out);
    free(t.text);
    return CC_OK;
}

static int put_picture(const struct cc_page_part *p, size_t number, FILE *out, struct cc_error *e)
{
    struct cc_memory_text t;
    struct cc_error why = {""};
    char prefix[32];
    (void)snprintf(prefix, sizeof prefix, "p%zu", number);
    CC_TRY(cc_memory_text_begin(&t, "a picture", e));
    const int drawn = cc_plot_svg(&p->sheet, prefix, t.f, &why);
    CC_TRY(cc_memory_text_end(&t, CC_OK, e));
    if (drawn == CC_OK)
        (void)fprintf(out,
                      "<figure>\n<div class=\"scroll\" role=\"region\" aria-label=\"picture of "
                      "result %zu\" tabindex=\"0\">\n%s\n</div>\n<figcaption>Pointing at a value "
                      "shows it.</figcaption>\n</figure>\n",
                      number, t.text);
    else
        cc_html_print(out, "<p class=\"no-picture\">No picture: %s</p>\n", why.text);
    free(t.text);
    return CC_OK;
}

static void put_notes(const struct cc_page_part *p, FILE *out)
{
    bool any = false;
    for (size_t i = 0; i < p->from.notes; i++) {
        if (cc_note_is_verdict(p->from.note[i]))
            continue;
        (void)fputs(any ? "" : "<h3>Notes</h3>\n<ul class=\"notes\">\n", out);
        cc_html_print(out, "<li>%s</li>\n", p->from.note[i]);
        any = true;
    }
    (void)fputs(any ? "</ul>\n" : "", out);
}

/* Explains the words for origins that the result's columns have, and lists the columns. */
static void put_origins(const struct cc_page_part *p, FILE *out)
{
    unsigned used = 0;
    for (size_t c = 0; c < p->record.column_count; c++)
        used |= origins_of(p, c);
    (void)fputs("<h3>How the figures were obtained</h3>\n<ul class=\"origins\">\n", out);
    for (int i = 0; i < CC_ORIGINS; i++)
        if ((used >> i & 1) != 0)
            (void)fprintf(out, "<li><strong>%s</strong>: %s</li>\n",
                          cc_origin_word((enum cc_origin)i), cc_origin_help((enum cc_origin)i));
    (void)fputs("</ul>\n<details>\n<summary>What each column means</summary>\n", out);
    put_columns(p, out);
    (void)fputs("</details>\n", out);
}

static int put_part(const struct cc_page_part *p, size_t number, FILE *out, struct cc_error *e)
{
    cc_html_print(
        out,
        "<section class=\"result\" id=\"result-%zu\">\n<h2>%s <span class=\"file\">%s</span>"
        "</h2>\n",
        number, p->from.command, p->result->name);
    put_state(p, out);
    CC_TRY(put_question(p, out, e));
    CC_TRY(put_verdict(p, out, e));
    if (p->record.row_count > 0) {
        CC_TRY(put_picture(p, number, out, e));
        (void)fputs("<h3>Figures</h3>\n", out);
        CC_TRY(put_table(p, number, out, e));
    } else {
        (void)fputs("<p>The result has no rows.</p>\n", out);
    }
    put_notes(p, out);
    if (p->record.row_count > 0)
        put_origins(p, out);
    cc_page_put_result(p->result, out);
    (void)fputs("</section>\n", out);
    return CC_OK;
}

/* --- the page --- */

static void put_contents(const struct cc_page_part *part, size_t count, FILE *out)
{
    (void)fputs("<nav aria-label=\"results\">\n<ol>\n", out);
    for (size_t i = 0; i < count; i++) {
        cc_html_print(out, "<li><a href=\"#result-%zu\">%s: %s</a></li>\n", i + 1,
                      part[i].from.command, part[i].result->name);
    }
    (void)fputs("</ol>\n</nav>\n", out);
}

int cc_page_write(const char *title, const struct cc_page_part *part, size_t count, FILE *out,
                  struct cc_error *e)
{
    cc_html_print(out,
                  "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                  "<title>%s</title>\n"
                  "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                  "<meta name=\"color-scheme\" content=\"light dark\">\n"
                  "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                  "style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; "
                  "form-action 'none'\">\n"
                  "<meta name=\"generator\" content=\"commcomp %s\">\n",
                  title, cc_version());
    cc_page_put_count(count, out);
    (void)fputs("<style>\n", out);
    put_embedded(&style, out);
    cc_html_print(out, "</style>\n</head>\n<body>\n<header>\n<h1>%s</h1>\n", title);
    if (count > 1)
        put_contents(part, count, out);
    (void)fputs("</header>\n<main>\n", out);
    for (size_t i = 0; i < count; i++)
        CC_TRY(put_part(&part[i], i + 1, out, e));
    cc_html_print(
        out,
        "</main>\n<footer>\n<p>Written by commcomp %s. The page holds its results whole: "
        "<code>commcomp report PAGE --format json</code> gives them again.</p>\n</footer>\n"
        "<script>\n",
        cc_version());
    put_embedded(&script, out);
    (void)fputs("</script>\n</body>\n</html>\n", out);
    return CC_OK;
}
