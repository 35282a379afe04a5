/* Writes a figure as a script for gnuplot: the data, and where the plan of the page has put
 * everything. gnuplot draws lines, bars and axes; each text is a label at a place of its own. */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/file.h"
#include "core/memory.h"
#include "results/plot_impl.h"
#include "results/text.h"

struct script {
    const struct cc_figure *f;
    const struct cc_plan *p;
    const struct cc_canvas *canvas;
    bool tex; /* texts are LaTeX */
    FILE *out;
};

CC_PRINTF(2, 3)
static void say(const struct script *s, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    (void)vfprintf(s->out, fmt, args);
    va_end(args);
}

/* --- texts and styles --- */

/* Writes a text quoted for gnuplot: in single quotes, in which no character is special; texts that
 * contain single quotes are in double quotes, with special characters in octal, as gnuplot misreads
 * some doubled single quotes. */
static void put_quoted(const struct script *s, const char *text)
{
    const bool plain = strchr(text, '\'') == NULL;
    (void)fputc(plain ? '\'' : '"', s->out);
    for (; *text != '\0'; text++) {
        const unsigned char c = (unsigned char)*text;
        const char one[2] = {*text, '\0'};
        const char *as = s->tex && c < 128 && cc_text_latex[c] != NULL ? cc_text_latex[c] : one;
        for (; *as != '\0'; as++)
            if (!plain && strchr("\"\\'`@$", *as) != NULL)
                say(s, "\\%03o", (unsigned)(unsigned char)*as);
            else
                (void)fputc(*as, s->out);
    }
    (void)fputc(plain ? '\'' : '"', s->out);
}

static const char *number(double v, char text[CC_NUMBER_CAP])
{
    if (isnan(v))
        return "NaN";
    cc_number_print(v, text);
    return text;
}

static void put_row(const struct script *s, const double *v, size_t count)
{
    char text[CC_NUMBER_CAP];
    for (size_t i = 0; i < count; i++)
        say(s, "%s%s", number(v[i], text), i + 1 < count ? " " : "\n");
}

/* Lines differ by dashes, points and colours: 7 dashes and 8 points repeat only after 56 lines. The
 * colours are told apart with any colour vision (P. Tol's "muted"), and differ in lightness. */
static void put_styles(const struct script *s)
{
    static const char *const colour[] = {"#000000", "#4477aa", "#cc3311", "#117733",
                                         "#999933", "#882255", "#666666", "#aa4499"};
    static const int point[] = {7, 5, 9, 13, 6, 4, 8, 12};
    static const char *const dash[] = {"1",      "(12,5)", "(3,4)",         "(12,4,3,4)",
                                       "(22,6)", "(3,9)",  "(12,3,3,3,3,3)"};
    const double scale = s->p->font_size / 9;
    for (size_t i = 0; i < CC_MOST_SERIES; i++)
        say(s, "set linetype %zu lc rgb '%s' pt %d ps %.2f lw %.2f dt %s\n", i + 1, colour[i % 8],
            point[(i + i / 8) % 8], 0.75 * scale, 1.5 * scale, dash[i % 7]);
}

static const char *const fill[] = {"rgb '#77aadd' fs solid 0.6 border lc rgb '#000000'",
                                   "rgb '#000000' fs solid 0.85 border lc rgb '#000000'",
                                   "rgb '#994422' fs pattern 4 border lc rgb '#000000'",
                                   "rgb '#ffffff' fs solid 1 border lc rgb '#994422'"};
#define BAND "rgb '#cccccc' fs solid 1 noborder"

/* The marks of parts: filled and open ones. */
static const char *const part_mark[] = {"pt 7 lc rgb '#4477aa'", "pt 4 lc rgb '#cc3311'",
                                        "pt 8 lc rgb '#117733'", "pt 12 lc rgb '#882255'"};

static const char *const stroke[] = {
    [CC_SHAPE_LEADER] = "lc rgb '#999999' lw 0.6 dt 1",
    [CC_SHAPE_REFERENCE] = "lc rgb '#777777' lw 1 dt (6,4)",
    [CC_SHAPE_TOTAL] = "lc rgb '#000000' lw 2.5 dt 1",
    [CC_SHAPE_FRONT] = "lc rgb '#bbbbbb' lw 2 dt 1",
};

/* --- the page --- */

static int put_terminal(const struct script *s, const struct cc_canvas *canvas, struct cc_error *e)
{
    const char *t = canvas->terminal, *family = s->p->font != NULL ? s->p->font : "Sans";
    const double width = s->p->width, height = s->p->height, size = s->p->font_size;
    const double dots = canvas->page.dpi / 72;
    double points = size * 0.75; /* the font's size as the terminal takes it */
    const struct script plain = {.out = s->out};
    say(s, "set encoding utf8\n");
    if (strcmp(t, "svg") == 0) {
        say(s, "set terminal svg noenhanced size %.2f,%.2f background '#ffffff'", width * 96 / 72,
            height * 96 / 72);
        family = s->p->font != NULL ? family : "sans-serif";
        points = size * 96 / 72;
    } else if (strcmp(t, "png") == 0) {
        say(s,
            "set terminal pngcairo noenhanced size %.0f,%.0f background '#ffffff' "
            "linewidth %.3f pointscale %.3f dashlength %.3f",
            width * dots, height * dots, 0.75 * dots, 0.75 * dots, 1.4);
        points = size * canvas->page.dpi / 96;
    } else if (strcmp(t, "pdf") == 0 || strcmp(t, "eps") == 0) {
        say(s,
            "set terminal %s noenhanced color size %.4fin,%.4fin linewidth 1.6 "
            "pointscale 0.85 fontscale 1",
            strcmp(t, "pdf") == 0 ? "pdfcairo" : "epscairo", width / 72, height / 72);
    } else if (s->tex) {
        say(s,
            "set terminal cairolatex pdf input color size %.4fin,%.4fin linewidth 1.6 "
            "pointscale 0.85 header "
            "'\\fontsize{%.2f}{%.2f}\\selectfont'\n",
            width / 72, height / 72, size, CC_LINE_HEIGHT * size);
    } else {
        return cc_usage(e, "no terminal '%s': there are svg, png, pdf, eps and tex", t);
    }
    if (!s->tex) {
        char font[128];
        (void)snprintf(font, sizeof font, "%.90s,%.2f", family, points);
        say(s, " font ");
        put_quoted(&plain, font);
        say(s, "\n");
    }
    if (canvas->output != NULL) {
        say(s, "set output ");
        put_quoted(&plain, canvas->output);
        say(s, "\n");
    }
    put_styles(s);
    say(s, "set border 3 lw 0.8\nset tics nomirror out scale 0.5\nunset key\n"
           "set grid back lt 1 dt 1 lc rgb '#dddddd' lw 0.5\n");
    return CC_OK;
}

/* Labels have the numbers from 1 on, those of marks after those of texts. */
static size_t put_texts(const struct script *s, size_t panel)
{
    static const char *const at[] = {"left", "center", "right", "center rotate by 90"};
    size_t n = 0;
    for (size_t i = 0; i < s->p->texts; i++) {
        const struct cc_page_text *t = &s->p->text[i];
        if (t->panel != panel)
            continue;
        say(s, "set label %zu ", ++n);
        put_quoted(s, t->text);
        say(s, " at screen %.5f,%.5f %s\n", t->x / s->p->width, t->y / s->p->height, at[t->at]);
    }
    return n;
}

/* Shapes are labels, arrows or objects of gnuplot, each with numbers of their own. */
enum sort { MARKS, LINES, FILLS, SORTS };

static enum sort sort_of(enum cc_shape_kind kind)
{
    return kind < CC_SHAPE_POINT ? LINES : kind < CC_SHAPE_PART ? MARKS : FILLS;
}

static void put_shape(const struct script *s, const struct cc_page_shape *h, size_t n)
{
    const double width = s->p->width, height = s->p->height;
    const double x0 = h->x0 / width, y0 = h->y0 / height, x1 = h->x1 / width, y1 = h->y1 / height;
    if (sort_of(h->kind) == MARKS)
        say(s, "set label %zu '' at screen %.5f,%.5f point ", n, x0, y0);
    else
        say(s, "set %s %zu %s screen %.5f,%.5f to screen %.5f,%.5f ",
            sort_of(h->kind) == LINES ? "arrow" : "object", n,
            sort_of(h->kind) == LINES ? "from" : "rect from", x0, y0, x1, y1);
    if (h->kind == CC_SHAPE_LINE || h->kind == CC_SHAPE_POINT)
        say(s, "%slt %zu\n", h->kind == CC_SHAPE_LINE ? "nohead " : "", s->p->style[h->number] + 1);
    else if (h->kind == CC_SHAPE_MARK)
        say(s, "%s ps %.2f lw 1.5\n", part_mark[h->number], 0.9 * s->p->font_size / 9);
    else if (sort_of(h->kind) == LINES)
        say(s, "nohead %s %s\n", h->kind == CC_SHAPE_LEADER ? "back" : "front", stroke[h->kind]);
    else
        say(s, "fc %s\n", h->kind == CC_SHAPE_BAND ? BAND : fill[h->number]);
}

static void put_shapes(const struct script *s, size_t panel, size_t labels)
{
    for (enum sort sort = MARKS; sort < SORTS; sort++) {
        size_t n = sort == MARKS ? labels : 0;
        for (size_t i = 0; i < s->p->shapes; i++)
            if (s->p->shape[i].panel == panel && sort_of(s->p->shape[i].kind) == sort)
                put_shape(s, &s->p->shape[i], ++n);
    }
}

/* The area of a panel on the page, and its axes. */
static void put_axis(const struct script *s, const struct cc_axis *a, const struct cc_tics *tics,
                     char name)
{
    char lo[CC_NUMBER_CAP], hi[CC_NUMBER_CAP];
    say(s, a->log ? "set logscale %c\n" : "unset logscale %c\n", name);
    say(s, "set %crange [%s:%s]\nset %ctics (", name, number(a->lo, lo), number(a->hi, hi), name);
    for (size_t i = 0; i < tics->count; i++)
        say(s, "%s'' %s", i > 0 ? ", " : "", number(tics->at[i], lo));
    say(s, ")\n");
}

static void put_frame(const struct script *s, size_t panel)
{
    const struct cc_plan *p = s->p;
    const struct cc_area *a = &p->area[panel];
    say(s,
        "set lmargin at screen %.5f\nset rmargin at screen %.5f\n"
        "set bmargin at screen %.5f\nset tmargin at screen %.5f\n",
        a->left / p->width, (a->left + p->area_width) / p->width, a->bottom / p->height,
        (a->bottom + p->area_height) / p->height);
    put_axis(s, &a->x, &a->x_tics, 'x');
    if (cc_figure_has_bars(s->f)) {
        say(s, "unset logscale y\nset yrange [%.1f:0.6]\n%s", -(double)s->f->series_count + 0.4,
            s->f->shape == CC_MARKS ? "set ytics scale 0 (" : "unset ytics\n");
        /* Lines from the names to the marks. */
        for (size_t k = 0; k < s->f->series_count && s->f->shape == CC_MARKS; k++)
            say(s, "%s'' -%zu%s", k > 0 ? ", " : "", k, k + 1 == s->f->series_count ? ")\n" : "");
    } else
        put_axis(s, &s->f->y, &p->y_tics, 'y');
}

/* --- lines and points --- */

static void put_points(const struct script *s, size_t panel, size_t series)
{
    const struct cc_points *of = &s->f->panel[panel].of[series];
    say(s, "$p%zus%zu << EOD\n", panel, series);
    for (size_t i = 0; i < of->count; i++) {
        const struct cc_point *at = &of->point[i];
        put_row(s, (const double[]){at->x, at->y, at->lo, at->hi}, at->lo < at->hi ? 4 : 2);
    }
    say(s, "EOD\n");
}

static void another(const struct script *s, size_t *parts)
{
    say(s, (*parts)++ == 0 ? "plot " : ", \\\n     ");
}

static void put_reference(const struct script *s, size_t *parts)
{
    if (s->f->kind != CC_PLOT_WORKERS && s->f->reference <= 0)
        return;
    another(s, parts);
    say(s, s->f->kind == CC_PLOT_WORKERS ? "x" : "%g", s->f->reference);
    say(s, " with lines %s notitle", stroke[CC_SHAPE_REFERENCE]);
}

/* Whether a line has a band or whiskers: a point of it has quartiles, or is a mean. */
static bool has_range(const struct cc_points *of)
{
    for (size_t i = 0; i < of->count; i++)
        if (of->point[i].lo < of->point[i].hi)
            return true;
    return false;
}

static void put_ranges(const struct script *s, size_t panel, size_t *parts)
{
    for (size_t k = 0; k < s->f->series_count; k++) {
        if (s->p->leader[k] != k || !has_range(&s->f->panel[panel].of[k]))
            continue;
        if (s->f->bands) {
            another(s, parts);
            say(s,
                "$p%zus%zu using 1:3:4 with filledcurves lt %zu fs transparent solid "
                "0.15 noborder notitle",
                panel, k, s->p->style[k] + 1);
        } else if (s->f->whiskers) {
            another(s, parts);
            say(s, "$p%zus%zu using 1:2:3:4 with yerrorbars lt %zu pt 0 lw %.2f dt 1 notitle",
                panel, k, s->p->style[k] + 1, 0.8 * s->p->font_size / 9);
        }
    }
}

/* Lines with few points have a mark on each. */
static size_t mark_interval(const struct cc_points *of)
{
    return of->count > 14 ? of->count / 10 : 1;
}

static void put_lines(const struct script *s, size_t panel)
{
    const struct cc_panel *p = &s->f->panel[panel];
    size_t parts = 0;
    for (size_t k = 0; k < s->f->series_count; k++)
        if (p->of[k].count > 0)
            put_points(s, panel, k);
    put_reference(s, &parts);
    put_ranges(s, panel, &parts);
    for (size_t k = 0; k < s->f->series_count; k++) {
        if (p->of[k].count == 0 || s->p->leader[k] != k)
            continue;
        another(s, &parts);
        say(s, "$p%zus%zu using 1:2 with linespoints lt %zu pi %zu notitle", panel, k,
            s->p->style[k] + 1, mark_interval(&p->of[k]));
    }
    say(s, parts == 0 ? "plot NaN notitle\n" : "\n");
}

/* The Pareto front, to the end of the axis. */
static int put_front(const struct script *s, size_t panel, struct cc_error *e)
{
    struct cc_point *front;
    CC_TRY(CC_NEW(front, cc_panel_points(s->f, panel), e));
    const size_t count = cc_pareto_front(s->f, panel, front);
    say(s, "$p%zufront << EOD\n", panel);
    for (size_t i = 0; i < count; i++)
        put_row(s, (const double[]){front[i].x, front[i].y}, 2);
    if (count > 0)
        put_row(s, (const double[]){s->p->area[panel].x.hi, front[count - 1].y}, 2);
    say(s, "EOD\n");
    free(front);
    return CC_OK;
}

static int put_labelled(const struct script *s, size_t panel, struct cc_error *e)
{
    size_t parts = 0;
    for (size_t k = 0; k < s->f->series_count; k++)
        put_points(s, panel, k);
    CC_TRY(put_front(s, panel, e));
    if (cc_panel_points(s->f, panel) > 0) {
        another(s, &parts);
        say(s, "$p%zufront using 1:2 with steps %s notitle", panel, stroke[CC_SHAPE_FRONT]);
    }
    for (size_t k = 0; k < s->f->series_count; k++) {
        if (s->f->panel[panel].of[k].count == 0)
            continue;
        another(s, &parts);
        say(s, "$p%zus%zu using 1:2 with points lt %zu notitle", panel, k, s->p->style[k] + 1);
    }
    say(s, parts == 0 ? "plot NaN notitle\n" : "\n");
    return CC_OK;
}

/* --- bars and marks --- */

/* Writes the marks of one part, or its bars as centre and box. The series are below each other at
 * 0, -1, ... */
static void put_part(const struct script *s, size_t panel, size_t part)
{
    char text[2][CC_NUMBER_CAP];
    say(s, "$p%zub%zu << EOD\n", panel, part);
    for (size_t k = 0; k < s->f->series_count; k++) {
        const struct cc_points *of = &s->f->panel[panel].of[k];
        for (size_t i = 0; i < of->count; i++) {
            const struct cc_bar b = cc_figure_bar(s->f, of, i);
            const double top = -(double)k + b.top;
            const char *from = number(b.from, text[0]), *to = number(b.to, text[1]);
            if ((size_t)of->point[i].x != part)
                continue;
            if (s->f->shape == CC_MARKS)
                say(s, "%s %.2f\n", number(of->point[i].y, text[0]), -(double)k);
            else
                say(s, "%s %.4f %s %s %.4f %.4f\n", from, top - b.width / 2, from, to,
                    top - b.width, top);
        }
    }
    say(s, "EOD\n");
}

/* Marks the step's time by a line across the bar if it is not the sum of the parts, and the
 * tolerance about marks. */
static void put_total(const struct script *s, const struct cc_points *of, size_t k)
{
    char x[CC_NUMBER_CAP], hi[CC_NUMBER_CAP];
    if (s->f->shape == CC_STACKED && !isnan(of->total))
        say(s, "set arrow from first %s,%.2f to first %s,%.2f nohead front %s\n",
            number(of->total, x), -(double)k - 0.48, x, -(double)k + 0.48, stroke[CC_SHAPE_TOTAL]);
    if (s->f->shape == CC_MARKS && !isnan(of->band_lo)) /* after the legend's */
        say(s, "set object %zu rect from first %s,%.2f to first %s,%.2f back fc " BAND "\n",
            (s->f->band[0] != '\0') + k + 1, number(of->band_lo, x), -(double)k - 0.4,
            number(of->band_hi, hi), -(double)k + 0.4);
}

static void put_bars(const struct script *s, size_t panel)
{
    const struct cc_figure *f = s->f;
    const bool marks = f->shape == CC_MARKS;
    size_t parts = 0;
    for (size_t i = 0; i < f->parts; i++)
        put_part(s, panel, i);
    for (size_t k = 0; k < f->series_count; k++)
        if (f->panel[panel].of[k].count > 0)
            put_total(s, &f->panel[panel].of[k], k);
    if (f->reference > 0)
        say(s, "set arrow from first %g,graph 0 to first %g,graph 1 nohead %s %s\n", f->reference,
            f->reference, marks ? "back" : "front", stroke[CC_SHAPE_REFERENCE]);
    for (size_t i = 0; i < f->parts; i++) {
        another(s, &parts);
        if (marks)
            say(s, "$p%zub%zu using 1:2 with points %s ps %.2f lw 1.5 notitle", panel, i,
                part_mark[i], 0.9 * s->p->font_size / 9);
        else
            say(s, "$p%zub%zu using 1:2:3:4:5:6 with boxxyerror dt 1 lw %.2f lc %s", panel, i,
                0.8 * s->p->font_size / 9, fill[i]);
    }
    say(s, "\n");
}

/* --- the script --- */

static int put_panel(const struct script *s, size_t panel, struct cc_error *e)
{
    say(s, "unset label\nunset arrow\nunset object\n");
    put_frame(s, panel);
    put_shapes(s, panel, put_texts(s, panel));
    if (s->canvas->before != NULL)
        s->canvas->before(s->f, panel, s->out);
    if (s->f->shape == CC_LABELLED)
        return put_labelled(s, panel, e);
    if (s->f->shape == CC_LINES)
        put_lines(s, panel);
    else
        put_bars(s, panel);
    return CC_OK;
}

int cc_plot_script(const struct cc_figure *f, const struct cc_canvas *canvas, FILE *out,
                   struct cc_error *e)
{
    struct cc_plan p;
    CC_TRY(cc_plan_make(f, &canvas->page, &p, e));
    const struct script s = {
        .f = f, .p = &p, .canvas = canvas, .tex = strcmp(canvas->terminal, "tex") == 0, .out = out};
    int status = put_terminal(&s, canvas, e);
    if (status == CC_OK && f->panels > 1)
        (void)fputs("set multiplot\n", out);
    for (size_t i = 0; i < f->panels && status == CC_OK; i++)
        status = put_panel(&s, i, e);
    if (status == CC_OK && f->panels > 1)
        (void)fputs("unset multiplot\n", out);
    cc_plan_free(&p);
    return status;
}

int cc_plot_draw(const struct cc_figure *f, const struct cc_canvas *canvas, FILE *out,
                 struct cc_error *e)
{
    FILE *script = cc_file_temporary("gnuplot's script", e);
    if (script == NULL)
        return CC_FAIL;
    int status = cc_plot_script(f, canvas, script, e);
    if (status == CC_OK)
        status = cc_gnuplot_run(script, out, e);
    (void)fclose(script);
    return status;
}
