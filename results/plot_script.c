/* Writes a figure as a script for gnuplot: the data, and where the plan of the page has put
 * everything. gnuplot draws lines, bars and axes; each text is a label at a place of its own. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/file.h"
#include "core/memory.h"
#include "results/plot_page.h"
#include "results/text.h"

struct script {
    const struct cc_figure *f;
    const struct cc_plan *p;
    const struct cc_canvas *canvas;
    bool tex; /* texts are LaTeX */
    FILE *out;
};

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
                (void)fprintf(s->out, "\\%03o", (unsigned)(unsigned char)*as);
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
        (void)fprintf(s->out, "set linetype %zu lc rgb '%s' pt %d ps %.2f lw %.2f dt %s\n", i + 1,
                      colour[i % 8], point[(i + i / 8) % 8], 0.75 * scale, 1.5 * scale,
                      dash[i % 7]);
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
    [CC_STROKE_LEADER] = "lc rgb '#999999' lw 0.6 dt 1",
    [CC_STROKE_REFERENCE] = "lc rgb '#777777' lw 1 dt (6,4)",
    [CC_STROKE_TOTAL] = "lc rgb '#000000' lw 2.5 dt 1",
    [CC_STROKE_FRONT] = "lc rgb '#bbbbbb' lw 2 dt 1",
};

/* --- the page --- */

static int put_terminal(const struct script *s, const struct cc_canvas *canvas, struct cc_error *e)
{
    const char *t = canvas->terminal, *font = s->p->font;
    const double width = s->p->width, height = s->p->height, size = s->p->font_size;
    char text[128];
    (void)fputs("set encoding utf8\n", s->out);
    if (strcmp(t, "svg") == 0) {
        (void)fprintf(s->out,
                      "set terminal svg noenhanced size %.2f,%.2f background '#ffffff' font ",
                      width * 96 / 72, height * 96 / 72);
        (void)snprintf(text, sizeof text, "%.90s,%.2f", font != NULL ? font : "sans-serif",
                       size * 96 / 72);
    } else if (strcmp(t, "png") == 0) {
        const double dots = canvas->page.dpi / 72;
        (void)fprintf(s->out,
                      "set terminal pngcairo noenhanced size %.0f,%.0f background '#ffffff' "
                      "linewidth %.3f pointscale %.3f dashlength %.3f font ",
                      width * dots, height * dots, 0.75 * dots, 0.75 * dots, 1.4);
        (void)snprintf(text, sizeof text, "%.90s,%.2f", font != NULL ? font : "Sans",
                       size * canvas->page.dpi / 96);
    } else if (strcmp(t, "pdf") == 0 || strcmp(t, "eps") == 0) {
        (void)fprintf(s->out,
                      "set terminal %s noenhanced color size %.4fin,%.4fin linewidth 1.6 "
                      "pointscale 0.85 fontscale 1 font ",
                      strcmp(t, "pdf") == 0 ? "pdfcairo" : "epscairo", width / 72, height / 72);
        (void)snprintf(text, sizeof text, "%.90s,%.2f", font != NULL ? font : "Sans", size * 0.75);
    } else if (strcmp(t, "tex") == 0) {
        (void)fprintf(s->out,
                      "set terminal cairolatex pdf input color size %.4fin,%.4fin linewidth 1.6 "
                      "pointscale 0.85 header "
                      "'\\fontsize{%.2f}{%.2f}\\selectfont'",
                      width / 72, height / 72, size, CC_LINE_HEIGHT * size);
        text[0] = '\0';
    } else {
        return cc_usage(e, "no terminal '%s': there are svg, png, pdf, eps and tex", t);
    }
    struct script plain = *s;
    plain.tex = false;
    if (text[0] != '\0')
        put_quoted(&plain, text);
    (void)fputc('\n', s->out);
    if (canvas->output != NULL) {
        (void)fputs("set output ", s->out);
        put_quoted(&plain, canvas->output);
        (void)fputc('\n', s->out);
    }
    put_styles(s);
    (void)fputs("set border 3 lw 0.8\nset tics nomirror out scale 0.5\nunset key\n"
                "set grid back lt 1 dt 1 lc rgb '#dddddd' lw 0.5\n",
                s->out);
    return CC_OK;
}

static void put_texts(const struct script *s, size_t panel)
{
    static const char *const at[] = {"left", "center", "right"};
    size_t n = 0;
    for (size_t i = 0; i < s->p->texts; i++) {
        const struct cc_page_text *t = &s->p->text[i];
        if (t->panel != panel)
            continue;
        (void)fprintf(s->out, "set label %zu ", ++n);
        put_quoted(s, t->text);
        (void)fprintf(s->out, " at screen %.5f,%.5f %s%s\n", t->x / s->p->width,
                      t->y / s->p->height, at[t->at], t->upright ? " rotate by 90" : "");
    }
    for (size_t i = 0; i < s->p->samples && panel == 0; i++) {
        const struct cc_page_mark *m = &s->p->sample[i];
        (void)fprintf(s->out, "set label %zu '' at screen %.5f,%.5f point ", ++n,
                      m->x / s->p->width, m->y / s->p->height);
        if (m->part)
            (void)fprintf(s->out, "%s ps %.2f lw 1.5\n", part_mark[m->series],
                          0.9 * s->p->font_size / 9);
        else
            (void)fprintf(s->out, "lt %zu\n", s->p->style[m->series] + 1);
    }
}

static void put_strokes(const struct script *s, size_t panel)
{
    const double width = s->p->width, height = s->p->height;
    size_t n = 0;
    for (size_t i = 0; i < s->p->lines; i++) {
        const struct cc_page_line *l = &s->p->line[i];
        if (l->panel != panel)
            continue;
        (void)fprintf(s->out, "set arrow %zu from screen %.5f,%.5f to screen %.5f,%.5f nohead ",
                      ++n, l->x0 / width, l->y0 / height, l->x1 / width, l->y1 / height);
        if (l->stroke == CC_STROKE_LINE)
            (void)fprintf(s->out, "lt %zu\n", s->p->style[l->series] + 1);
        else
            (void)fprintf(s->out, "%s %s\n", l->stroke == CC_STROKE_LEADER ? "back" : "front",
                          stroke[l->stroke]);
    }
    for (size_t i = 0; i < s->p->fills && panel == 0; i++) {
        const struct cc_page_fill *r = &s->p->fill[i];
        (void)fprintf(s->out,
                      "set object %zu rect from screen %.5f,%.5f to screen %.5f,%.5f fc %s\n",
                      i + 1, r->x0 / width, r->y0 / height, r->x1 / width, r->y1 / height,
                      r->part == CC_FILL_BAND ? BAND : fill[r->part]);
    }
}

/* The area of a panel on the page, and its axes. */
static void put_axis(const struct script *s, const struct cc_axis *a, const struct cc_tics *tics,
                     char name)
{
    char lo[CC_NUMBER_CAP], hi[CC_NUMBER_CAP];
    (void)fprintf(s->out, a->log ? "set logscale %c\n" : "unset logscale %c\n", name);
    (void)fprintf(s->out, "set %crange [%s:%s]\nset %ctics (", name, number(a->lo, lo),
                  number(a->hi, hi), name);
    for (size_t i = 0; i < tics->count; i++)
        (void)fprintf(s->out, "%s'' %s", i > 0 ? ", " : "", number(tics->at[i], lo));
    (void)fputs(")\n", s->out);
}

static void put_frame(const struct script *s, size_t panel)
{
    const struct cc_plan *p = s->p;
    const struct cc_area *a = &p->area[panel];
    (void)fprintf(s->out,
                  "set lmargin at screen %.5f\nset rmargin at screen %.5f\n"
                  "set bmargin at screen %.5f\nset tmargin at screen %.5f\n",
                  a->left / p->width, (a->left + p->area_width) / p->width, a->bottom / p->height,
                  (a->bottom + p->area_height) / p->height);
    put_axis(s, &a->x, &a->x_tics, 'x');
    if (cc_figure_has_bars(s->f)) {
        (void)fprintf(s->out, "unset logscale y\nset yrange [%.1f:0.6]\n%s",
                      -(double)s->f->series_count + 0.4,
                      s->f->shape == CC_MARKS ? "set ytics scale 0 (" : "unset ytics\n");
        /* Lines from the names to the marks. */
        for (size_t k = 0; k < s->f->series_count && s->f->shape == CC_MARKS; k++)
            (void)fprintf(s->out, "%s'' -%zu%s", k > 0 ? ", " : "", k,
                          k + 1 == s->f->series_count ? ")\n" : "");
    } else
        put_axis(s, &s->f->y, &p->y_tics, 'y');
}

/* --- lines and points --- */

static void put_points(const struct script *s, size_t panel, size_t series)
{
    const struct cc_points *of = &s->f->panel[panel].of[series];
    char text[4][CC_NUMBER_CAP];
    (void)fprintf(s->out, "$p%zus%zu << EOD\n", panel, series);
    for (size_t i = 0; i < of->count; i++) {
        const struct cc_point *at = &of->point[i];
        (void)fprintf(s->out, "%s %s", number(at->x, text[0]), number(at->y, text[1]));
        if (at->lo < at->hi)
            (void)fprintf(s->out, " %s %s", number(at->lo, text[2]), number(at->hi, text[3]));
        (void)fputc('\n', s->out);
    }
    (void)fputs("EOD\n", s->out);
}

/* Begins another part of the plot command. */
static void another(const struct script *s, size_t *parts)
{
    (void)fputs(*parts == 0 ? "plot " : ", \\\n     ", s->out);
    ++*parts;
}

static void put_reference(const struct script *s, size_t *parts)
{
    if (s->f->kind != CC_PLOT_WORKERS && s->f->reference <= 0)
        return;
    another(s, parts);
    (void)fprintf(s->out, s->f->kind == CC_PLOT_WORKERS ? "x" : "%g", s->f->reference);
    (void)fprintf(s->out, " with lines %s notitle", stroke[CC_STROKE_REFERENCE]);
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
            (void)fprintf(s->out,
                          "$p%zus%zu using 1:3:4 with filledcurves lt %zu fs transparent solid "
                          "0.15 noborder notitle",
                          panel, k, s->p->style[k] + 1);
        } else if (s->f->whiskers) {
            another(s, parts);
            (void)fprintf(
                s->out, "$p%zus%zu using 1:2:3:4 with yerrorbars lt %zu pt 0 lw %.2f dt 1 notitle",
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
        (void)fprintf(s->out, "$p%zus%zu using 1:2 with linespoints lt %zu pi %zu notitle", panel,
                      k, s->p->style[k] + 1, mark_interval(&p->of[k]));
    }
    if (parts == 0)
        (void)fputs("plot NaN notitle", s->out);
    (void)fputc('\n', s->out);
}

/* The Pareto front, to the end of the axis. */
static int put_front(const struct script *s, size_t panel, struct cc_error *e)
{
    char text[2][CC_NUMBER_CAP];
    struct cc_point *front;
    CC_TRY(CC_NEW(front, cc_panel_points(s->f, panel), e));
    const size_t count = cc_pareto_front(s->f, panel, front);
    (void)fprintf(s->out, "$p%zufront << EOD\n", panel);
    for (size_t i = 0; i < count; i++)
        (void)fprintf(s->out, "%s %s\n", number(front[i].x, text[0]), number(front[i].y, text[1]));
    if (count > 0)
        (void)fprintf(s->out, "%s %s\n", number(s->p->area[panel].x.hi, text[0]),
                      number(front[count - 1].y, text[1]));
    (void)fputs("EOD\n", s->out);
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
        (void)fprintf(s->out, "$p%zufront using 1:2 with steps %s notitle", panel,
                      stroke[CC_STROKE_FRONT]);
    }
    for (size_t k = 0; k < s->f->series_count; k++) {
        if (s->f->panel[panel].of[k].count == 0)
            continue;
        another(s, &parts);
        (void)fprintf(s->out, "$p%zus%zu using 1:2 with points lt %zu notitle", panel, k,
                      s->p->style[k] + 1);
    }
    (void)fputs(parts == 0 ? "plot NaN notitle\n" : "\n", s->out);
    return CC_OK;
}

/* --- bars and marks --- */

/* Writes the bars of one part as centre and box. The series are below each other at -1, -2, ... */
static void put_boxes(const struct script *s, size_t panel, size_t part)
{
    const struct cc_figure *f = s->f;
    const double slot = 0.84 / (f->shape == CC_GROUPED ? (double)f->parts : 1);
    char text[4][CC_NUMBER_CAP];
    (void)fprintf(s->out, "$p%zub%zu << EOD\n", panel, part);
    for (size_t k = 0; k < f->series_count; k++) {
        const struct cc_points *of = &f->panel[panel].of[k];
        double from = 0, top = -(double)k + 0.42;
        for (size_t i = 0; i < of->count; i++) {
            double to = of->point[i].y + from;
            if ((size_t)of->point[i].x == part) {
                top -= f->shape == CC_GROUPED ? slot * (double)part : 0;
                (void)fprintf(s->out, "%s %.4f %s %s %.4f %.4f\n", number(from, text[0]),
                              top - slot / 2, number(from, text[1]), number(to, text[2]),
                              top - slot, top);
            }
            from = f->shape == CC_STACKED ? to : 0;
        }
    }
    (void)fputs("EOD\n", s->out);
}

/* Marks the step's time by a line across the bar if it is not the sum of the parts. */
static void put_totals(const struct script *s, size_t panel)
{
    char x[CC_NUMBER_CAP];
    for (size_t k = 0; k < s->f->series_count; k++) {
        const struct cc_points *of = &s->f->panel[panel].of[k];
        if (of->count == 0 || isnan(of->total) || s->f->shape != CC_STACKED)
            continue;
        number(of->total, x);
        (void)fprintf(s->out, "set arrow from first %s,%.2f to first %s,%.2f nohead front %s\n", x,
                      -(double)k - 0.48, x, -(double)k + 0.48, stroke[CC_STROKE_TOTAL]);
    }
}

static void put_bars(const struct script *s, size_t panel)
{
    size_t parts = 0;
    for (size_t i = 0; i < s->f->parts; i++)
        put_boxes(s, panel, i);
    put_totals(s, panel);
    if (s->f->reference > 0)
        (void)fprintf(s->out,
                      "set arrow from first %g,graph 0 to first %g,graph 1 nohead front %s\n",
                      s->f->reference, s->f->reference, stroke[CC_STROKE_REFERENCE]);
    for (size_t i = 0; i < s->f->parts; i++) {
        another(s, &parts);
        (void)fprintf(s->out, "$p%zub%zu using 1:2:3:4:5:6 with boxxyerror dt 1 lw %.2f lc %s",
                      panel, i, 0.8 * s->p->font_size / 9, fill[i]);
    }
    (void)fputc('\n', s->out);
}

static void put_marks(const struct script *s, size_t panel)
{
    const struct cc_figure *f = s->f;
    char text[2][CC_NUMBER_CAP];
    size_t parts = 0;
    for (size_t i = 0; i < f->parts; i++) {
        (void)fprintf(s->out, "$p%zub%zu << EOD\n", panel, i);
        for (size_t k = 0; k < f->series_count; k++)
            for (size_t n = 0; n < f->panel[panel].of[k].count; n++) {
                const struct cc_point *at = &f->panel[panel].of[k].point[n];
                if ((size_t)at->x == i)
                    (void)fprintf(s->out, "%s %.2f\n", number(at->y, text[0]), -(double)k);
            }
        (void)fputs("EOD\n", s->out);
    }
    for (size_t k = 0; k < f->series_count; k++) {
        const struct cc_points *of = &f->panel[panel].of[k];
        if (of->count > 0 && !isnan(of->band_lo))
            (void)fprintf(s->out,
                          "set object %zu rect from first %s,%.2f to first %s,%.2f back fc " BAND
                          "\n",
                          s->p->fills + k + 1, number(of->band_lo, text[0]), -(double)k - 0.4,
                          number(of->band_hi, text[1]), -(double)k + 0.4);
    }
    if (f->reference > 0)
        (void)fprintf(s->out,
                      "set arrow from first %g,graph 0 to first %g,graph 1 nohead back %s\n",
                      f->reference, f->reference, stroke[CC_STROKE_REFERENCE]);
    for (size_t i = 0; i < f->parts; i++) {
        another(s, &parts);
        (void)fprintf(s->out, "$p%zub%zu using 1:2 with points %s ps %.2f lw 1.5 notitle", panel, i,
                      part_mark[i], 0.9 * s->p->font_size / 9);
    }
    (void)fputc('\n', s->out);
}

/* --- the script --- */

static int put_panel(const struct script *s, size_t panel, struct cc_error *e)
{
    (void)fputs("unset label\nunset arrow\nunset object\n", s->out);
    put_frame(s, panel);
    put_texts(s, panel);
    put_strokes(s, panel);
    if (s->canvas->before != NULL)
        s->canvas->before(s->f, panel, s->out);
    if (s->f->shape == CC_LINES)
        put_lines(s, panel);
    else if (s->f->shape == CC_LABELLED)
        return put_labelled(s, panel, e);
    else if (s->f->shape == CC_MARKS)
        put_marks(s, panel);
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
