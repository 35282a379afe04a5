/* The default picture of a sheet as an <svg> element of an HTML page, whose values can be read by
 * pointing at them. gnuplot draws it with an invisible mark on each value, whose hypertext is the
 * value's number; then each mark gets the value's text as its <title>, ids get a prefix, and what
 * only a file needs is taken out. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory_text.h"
#include "core/utf8.h"
#include "core/units.h"
#include "results/text.h"
#include "results/plot_impl.h"

/* Only some values have marks where there are more than MOST_MARKS. */
enum { MOST_MARKS = 1200, FIRST_LABEL = 10001 };

/* --- marks --- */

static void put_mark(size_t number, size_t label, double x, double y, double size, FILE *out)
{
    (void)fprintf(out,
                  "set label %zu '%zu' at first %.9g,%.9g hypertext point pt 7 ps %.1f lc rgb "
                  "'#ff000000'\n",
                  FIRST_LABEL + label, number, x, y, size);
}

/* Marks a part of a bar: a short one in its middle, a long one along its length. */
static void mark_bar(const struct cc_figure *f, const struct cc_points *of, size_t series,
                     size_t point, size_t number, FILE *out)
{
    enum { MOST = 4 };
    const double y = of->point[point].y, middle = -(double)series;
    if (f->shape == CC_MARKS) {
        put_mark(number, number, y, middle, 1.6, out);
        return;
    }
    const struct cc_bar bar = cc_figure_bar(f, of, point);
    const int marks = y > 0.15 * f->x.hi ? MOST : 1;
    for (int i = 0; i < marks; i++)
        put_mark(number, number * MOST + (size_t)i, bar.from + y * (i + 0.5) / marks,
                 middle + bar.top - bar.width / 2, f->shape == CC_GROUPED ? 1.2 : 2, out);
}

/* Puts an invisible mark on each value of a panel, by labels of gnuplot. A value's number is how
 * many there are before it, panel by panel and series by series. */
static void put_marks(const struct cc_figure *f, size_t panel, FILE *out)
{
    size_t count = 0, number = 0;
    for (size_t i = 0; i < f->panels; i++) {
        number += i < panel ? cc_panel_points(f, i) : 0;
        count += cc_panel_points(f, i);
    }
    const size_t every = count / MOST_MARKS + 1;
    for (size_t k = 0; k < f->series_count; k++) {
        const struct cc_points *of = &f->panel[panel].of[k];
        for (size_t i = 0; i < of->count; i++, number++) {
            const struct cc_point *p = &of->point[i];
            if (number % every != 0 || isnan(p->x) || isnan(p->y))
                continue;
            if (cc_figure_has_bars(f))
                mark_bar(f, of, k, i, number, out);
            else
                put_mark(number, number, p->x, p->y, 1.6, out);
        }
    }
}

/* --- texts --- */

/* ", bandwidth: 10 Mbit/s" */
static void put_number(const char *label, const struct cc_axis *a, double v, FILE *out)
{
    char text[64];
    cc_print_si(v, a->unit, text, sizeof text);
    cc_html_print(out, ", %s: %s", label, text);
}

/* "fp32, 4 workers, bandwidth: 10 Mbit/s, speedup: 1.2" */
static void put_title(const struct cc_figure *f, size_t number, FILE *out)
{
    size_t i = 0, k = 0;
    while (i < f->panels && number >= f->panel[i].of[k].count) {
        number -= f->panel[i].of[k].count;
        k = (k + 1) % f->series_count;
        i += k == 0;
    }
    if (i == f->panels)
        return;
    const struct cc_point *p = &f->panel[i].of[k].point[number];
    cc_html_print(out, "%s", f->series[k]);
    if (f->panels > 1)
        cc_html_print(out, ", %s", f->panel[i].title);
    if (cc_figure_has_bars(f)) {
        put_number(f->part[(size_t)p->x], &f->x, p->y, out);
        return;
    }
    put_number(f->x.label, &f->x, p->x, out);
    put_number(f->y.label, &f->y, p->y, out);
    if (p->lo < p->hi) {
        char low[64], high[64];
        cc_print_si(p->lo, f->y.unit, low, sizeof low);
        cc_print_si(p->hi, f->y.unit, high, sizeof high);
        cc_html_print(out, " (%s to %s)", low, high);
    }
}

/* --- gnuplot's SVG --- */

static bool begins(const char *s, const char *with)
{
    return strncmp(s, with, strlen(with)) == 0;
}

/* Copies a tag up to its end, with the prefix before ids and references to them, and without the
 * ids of gnuplot's groups and the names that only a file needs. Returns what follows. */
static const char *copy_tag(const char *s, const char *prefix, FILE *out)
{
    static const char *const before[] = {" id='", " id=\"", "href='#", "href=\"#", "url(#"};
    while (*s != '\0' && *s != '>') {
        size_t taken = 0;
        if (begins(s, " id=\"gnuplot_") || begins(s, " xmlns")) {
            s += strcspn(s, "\"");
            s += *s == '"';
            s += strcspn(s, "\"");
            s += *s == '"';
            continue;
        }
        for (size_t i = 0; i < sizeof before / sizeof before[0] && taken == 0; i++)
            if (begins(s, before[i]))
                taken = strlen(before[i]);
        (void)fwrite(s, 1, taken > 0 ? taken : 1, out);
        if (taken > 0)
            (void)fprintf(out, "%s-", prefix);
        s += taken > 0 ? taken : 1;
    }
    if (*s == '>') {
        (void)fputc('>', out);
        s++;
    }
    return s;
}

/* Skips an element that has no other in it. */
static const char *skip_element(const char *s, const char *end)
{
    const char *at = strstr(s, end);
    return at != NULL ? at + strlen(end) : s + strlen(s);
}

/* Copies a character of a text, but for what a terminal must not get either. */
static const char *copy_character(const char *s, FILE *out)
{
    const size_t length = cc_printable(s);
    if (length > 0 || strchr("\n\t", *s) != NULL)
        (void)fwrite(s, 1, length > 0 ? length : 1, out);
    else
        (void)fputc('?', out);
    return s + (length > 0 ? length : 1);
}

static const char group_begin[] = "<g onmousemove=\"gnuplot_svg.showHypertext(evt,'";

static void convert(const struct cc_figure *f, const char *svg, const char *prefix, FILE *out)
{
    const char *s = strstr(svg, "<svg");
    bool first = true;
    while (s != NULL && *s != '\0') {
        if (begins(s, group_begin)) {
            const size_t number = strtoul(s + strlen(group_begin), NULL, 10);
            (void)fputs("<g class=\"value\"><title>", out);
            put_title(f, number, out);
            (void)fputs("</title>", out);
            s = skip_element(s, "</title>");
        } else if (begins(s, "<title>") || begins(s, "<desc>")) {
            s = skip_element(s, s[1] == 't' ? "</title>" : "</desc>");
        } else if (*s == '<') {
            s = copy_tag(s, prefix, out);
            if (first)
                cc_html_print(out, "<title>%s</title>", f->title);
            first = false;
        } else {
            s = copy_character(s, out);
        }
    }
}

int cc_plot_svg(const struct cc_sheet *s, const char *prefix, FILE *out, struct cc_error *e)
{
    static const struct cc_canvas canvas = {
        .terminal = "svg", .page = {.width = CC_PAGE_WIDTH}, .before = put_marks};
    enum cc_plot_kind kind = CC_PLOT_SPEEDUP;
    struct cc_figure f;
    struct cc_memory_text svg;
    CC_TRY(cc_plot_guess(s, &kind, e));
    CC_TRY(cc_figure_make(s, kind, &(struct cc_plot_filter){0}, &f, e));
    int status = cc_memory_text_begin(&svg, "a picture", e);
    if (status == CC_OK)
        status = cc_memory_text_end(&svg, cc_plot_draw(&f, &canvas, svg.f, e), e);
    if (status == CC_OK)
        convert(&f, svg.text, prefix, out);
    free(svg.text);
    cc_figure_free(&f);
    return status;
}
