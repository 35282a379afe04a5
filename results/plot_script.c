/* Writes a figure as a script for gnuplot. All positions are computed here, in pixels (on a
 * terminal, in characters), so that panels, legends and labels do not overlap, however long the
 * names are. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/units.h"
#include "results/plot_impl.h"
#include "results/text.h"

/* The layout of the page; y counts upwards. */
struct layout {
    bool text;  /* on a terminal: characters, one panel after the other */
    bool marks; /* on the values, for cc_plot_svg */
    double width, height;
    size_t columns, rows;           /* of panels */
    double left, bottom;            /* of the last row's first panel's area */
    double area_width, area_height; /* of a panel, within its axes */
    double step_x, step_y;          /* from one panel to the next */
    double key_x;                   /* lines' legend */
    double char_width, char_height, bar_pitch;
};

/* --- texts and styles --- */

/* Writes a text quoted for gnuplot: in single quotes, in which no character is special; texts that
 * contain single quotes are in double quotes, with special characters in octal, as gnuplot misreads
 * some doubled single quotes. Control characters become spaces. Names of tics are formats, so % is
 * doubled. */
static void put_text(const char *text, bool tic, FILE *out)
{
    bool plain = strchr(text, '\'') == NULL;
    (void)fputc(plain ? '\'' : '"', out);
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        bool second = c == 0xc2 && text[1] != '\0' && (unsigned char)text[1] < 0xa0;
        if (c < 0x20 || c == 0x7f || second)
            (void)fputc(' ', out);
        else if (!plain && strchr("\"\\'`@$", c) != NULL)
            (void)fprintf(out, "\\%03o", (unsigned)c);
        else
            (void)fputc(c, out);
        if (tic && c == '%')
            (void)fputc(c, out);
        text += second;
    }
    (void)fputc(plain ? '\'' : '"', out);
}

static void put_quoted(const char *text, FILE *out)
{
    put_text(text, false, out);
}

static const char *number(double v, char text[CC_NUMBER_CAP])
{
    if (isnan(v))
        return "NaN";
    cc_number_print(v, text);
    return text;
}

/* Lines differ by dashes, points and colours: 7 dashes and 8 points repeat only after 56 lines. */
static void put_styles(FILE *out)
{
    static const char *const colour[] = {"#000000", "#4477aa", "#cc3311", "#117733",
                                         "#999933", "#882255", "#666666", "#aa4499"};
    static const int point[] = {7, 5, 9, 13, 6, 4, 8, 12};
    static const char *const dash[] = {"1",      "(12,5)", "(3,4)",         "(12,4,3,4)",
                                       "(22,6)", "(3,9)",  "(12,3,3,3,3,3)"};
    for (int i = 0; i < CC_MOST_SERIES; i++)
        (void)fprintf(out, "set linetype %d lc rgb '%s' pt %d ps 0.9 lw 1.6 dt %s\n", i + 1,
                      colour[i % 8], point[(i + i / 8) % 8], dash[i % 7]);
}

/* --- layout --- */

/* The line beside those of the schemes. */
#define IDEAL "ideal"

static size_t longest_name(const struct cc_figure *f)
{
    size_t most = f->kind == CC_PLOT_WORKERS ? sizeof IDEAL - 1 : 0;
    for (size_t k = 0; k < f->series_count; k++) {
        size_t width = cc_text_print(f->series[k], NULL);
        most = width > most ? width : most;
    }
    return most;
}

static bool bars(const struct cc_figure *f)
{
    return f->shape == CC_STACKED || f->shape == CC_GROUPED;
}

/* The legend's lines, one for the ideal among them. */
static size_t key_lines(const struct cc_figure *f)
{
    return f->series_count + (f->kind == CC_PLOT_WORKERS);
}

/* The distance of its lines: less where there are many. */
static double key_spacing(const struct cc_figure *f)
{
    return key_lines(f) > 14 ? 0.9 : 1.15;
}

static void layout_text(const struct cc_figure *f, const struct cc_canvas *canvas, struct layout *l)
{
    double key = f->shape == CC_LINES ? (double)longest_name(f) + 9 : 2;
    *l = (struct layout){.text = true,
                         .width = canvas->columns,
                         .height = canvas->lines,
                         .columns = 1,
                         .rows = f->panels,
                         .left = 12,
                         .bottom = 3,
                         .area_width = canvas->columns - 12 - key,
                         .area_height = canvas->lines - 6,
                         .char_width = 1,
                         .char_height = 1};
}

static void layout_image(const struct cc_figure *f, struct layout *l)
{
    static const struct {
        size_t columns;
        double width;
    } grid[] = {{0, 0}, {1, 620}, {2, 420}, {3, 340}, {2, 420}, {3, 340}, {3, 340}};
    const double title = 44, panel_title = f->panels > 1 ? 22 : 0, tics = 58;
    double names = 7.2 * (double)longest_name(f), height = f->panels > 1 ? 300 : 400;
    *l = (struct layout){.columns = grid[f->panels].columns,
                         .area_width = grid[f->panels].width,
                         .char_width = 7.2,
                         .char_height = 15};
    l->rows = (f->panels + l->columns - 1) / l->columns;
    if (bars(f)) {
        l->bar_pitch = f->shape == CC_GROUPED ? 14.0 * (double)f->parts + 8 : 24;
        height = l->bar_pitch * (double)f->series_count + 8;
    }
    if (f->shape == CC_LINES) /* gnuplot drops lines of a legend that is higher than the axes */
        height = fmax(height, 18 * key_spacing(f) * (double)(key_lines(f) + 1));
    l->area_height = height;
    l->left = bars(f) ? names + 20 : 88;
    l->step_x = l->area_width + (bars(f) ? 40 : 48);
    l->step_y = height + tics + panel_title + (l->rows > 1 ? 8 : 0);
    l->bottom = tics + (bars(f) ? 30 : 0); /* bars have their legend below */
    l->key_x = l->left + l->step_x * (double)l->columns - 20;
    l->width = l->key_x + (f->shape == CC_LINES ? names + 70 : 0);
    l->width = fmax(l->width, 40 + 8.4 * (double)cc_text_print(f->title, NULL));
    l->height = l->bottom + l->step_y * (double)l->rows - tics + title;
}

static int put_terminal(const struct cc_canvas *canvas, const struct layout *l, FILE *out,
                        struct cc_error *e)
{
    const char *t = canvas->terminal;
    (void)fputs("set encoding utf8\n", out);
    if (strcmp(t, "dumb") == 0)
        (void)fprintf(out, "set terminal dumb noenhanced size %d,%d\n", canvas->columns,
                      canvas->lines);
    else if (strcmp(t, "svg") == 0)
        (void)fprintf(out,
                      "set terminal svg noenhanced size %.0f,%.0f font 'sans-serif,12' "
                      "background '#ffffff'\n",
                      l->width, l->height);
    else if (strcmp(t, "png") == 0)
        (void)fprintf(out,
                      "set terminal pngcairo noenhanced size %.0f,%.0f font 'Sans,10' "
                      "background '#ffffff'\n",
                      l->width, l->height);
    else if (strcmp(t, "pdf") == 0)
        (void)fprintf(out,
                      "set terminal pdfcairo noenhanced size %.2fin,%.2fin font 'Sans,10' "
                      "background '#ffffff'\n",
                      l->width / 96, l->height / 96);
    else
        return cc_usage(e, "no terminal '%s': there are svg, png, pdf and dumb", t);
    if (canvas->output != NULL) {
        (void)fputs("set output ", out);
        put_quoted(canvas->output, out);
        (void)fputc('\n', out);
    }
    if (!l->text)
        put_styles(out);
    (void)fputs("set border 3\nset tics nomirror\n", out);
    if (!l->text)
        (void)fputs("set tics out\nset grid back lt 1 dt 1 lc rgb '#dddddd' lw 0.5\n", out);
    return CC_OK;
}

/* The area of a panel on the page. */
static void put_margins(const struct layout *l, size_t panel, FILE *out)
{
    double x = l->left + l->step_x * (double)(panel % l->columns);
    size_t row = panel / l->columns;
    double y = l->bottom + (l->text ? 0 : l->step_y * (double)(l->rows - 1 - row));
    (void)fprintf(out, "set lmargin at screen %.4f\nset rmargin at screen %.4f\n", x / l->width,
                  (x + l->area_width) / l->width);
    (void)fprintf(out, "set bmargin at screen %.4f\nset tmargin at screen %.4f\n", y / l->height,
                  (y + l->area_height) / l->height);
}

/* --- axes --- */

static void put_axis(const struct cc_figure *f, const struct cc_axis *a, char name, int want,
                     bool labelled, FILE *out)
{
    double at[CC_MOST_TICS];
    char text[64], lo[CC_NUMBER_CAP], hi[CC_NUMBER_CAP];
    size_t n = cc_axis_tics(a, want, at), shown = 0;
    bool exact = name == 'x' && f->exact > 0;
    (void)fprintf(out, a->log ? "set logscale %c\n" : "unset logscale %c\n", name);
    (void)fprintf(out, "set %crange [%s:%s]\nset %ctics (", name, number(a->lo, lo),
                  number(a->hi, hi), name);
    for (size_t i = 0; i < n; i++) {
        if (exact && at[i] < 5 * f->exact)
            continue;
        cc_print_si(at[i], a->unit, text, sizeof text);
        (void)fprintf(out, "%s'%s' %s", shown++ > 0 ? ", " : "", text, number(at[i], lo));
    }
    if (exact)
        (void)fprintf(out, "%s'exact' %s", shown > 0 ? ", " : "", number(f->exact, lo));
    (void)fprintf(out, ")\nset %clabel ", name);
    put_quoted(labelled ? a->label : "", out);
    (void)fputc('\n', out);
}

/* --- lines and points --- */

static void put_points(const struct cc_points *of, size_t panel, size_t series, FILE *out)
{
    char text[4][CC_NUMBER_CAP];
    (void)fprintf(out, "$p%zus%zu << EOD\n", panel, series);
    for (size_t i = 0; i < of->count; i++) {
        const struct cc_point *at = &of->point[i];
        (void)fprintf(out, "%s %s", number(at->x, text[0]), number(at->y, text[1]));
        if (at->lo < at->hi)
            (void)fprintf(out, " %s %s", number(at->lo, text[2]), number(at->hi, text[3]));
        (void)fputc('\n', out);
    }
    (void)fputs("EOD\n", out);
}

static void put_reference(const struct cc_figure *f, const struct layout *l, FILE *out)
{
    if (f->kind == CC_PLOT_WORKERS)
        (void)fprintf(out, "x with lines %s title '" IDEAL "', \\\n     ",
                      l->text ? "" : "lc rgb '#999999' lw 1 dt (6,6)");
    else if (f->reference > 0 && !l->text)
        (void)fprintf(out, "%g with lines lc rgb '#999999' lw 1 dt 1 notitle, \\\n     ",
                      f->reference);
}

/* Whether a line has a band: a point of it is the mean of several rows. */
static bool has_band(const struct cc_points *of)
{
    for (size_t i = 0; i < of->count; i++)
        if (of->point[i].lo < of->point[i].hi)
            return true;
    return false;
}

static void put_bands(const struct cc_figure *f, size_t panel, FILE *out)
{
    for (size_t k = 0; k < f->series_count; k++)
        if (has_band(&f->panel[panel].of[k]))
            (void)fprintf(out,
                          "$p%zus%zu using 1:3:4 with filledcurves lt %zu fs transparent solid "
                          "0.15 noborder notitle, \\\n     ",
                          panel, k, k + 1);
}

/* Lines with few points have a mark on each. */
static size_t mark_interval(const struct cc_points *of)
{
    return of->count > 14 ? of->count / 10 : 1;
}

static void put_lines(const struct cc_figure *f, const struct layout *l, size_t panel, FILE *out)
{
    const struct cc_panel *p = &f->panel[panel];
    const char *style = l->text ? "points" : "linespoints";
    for (size_t k = 0; k < f->series_count; k++)
        if (p->of[k].count > 0)
            put_points(&p->of[k], panel, k, out);
    (void)fputs("plot ", out);
    put_reference(f, l, out);
    if (f->bands && !l->text)
        put_bands(f, panel, out);
    for (size_t k = 0; k < f->series_count; k++) {
        if (p->of[k].count > 0)
            (void)fprintf(out, "$p%zus%zu using 1:2 ", panel, k);
        else
            (void)fputs("NaN ", out);
        (void)fprintf(out, "with %s lt %zu", style, k + 1);
        if (!l->text)
            (void)fprintf(out, " pi %zu", mark_interval(&p->of[k]));
        (void)fputs(" title ", out);
        put_quoted(f->series[k], out);
        (void)fputs(k + 1 < f->series_count ? ", \\\n     " : "\n", out);
    }
}

/* Collects the points of a panel, with their labels. */
static struct cc_label *labels_of(const struct cc_figure *f, const struct layout *l, size_t panel,
                                  size_t *count, struct cc_error *e)
{
    const struct cc_panel *p = &f->panel[panel];
    *count = 0;
    for (size_t k = 0; k < f->series_count; k++)
        *count += p->of[k].count;
    struct cc_label *label = cc_alloc0(*count * sizeof *label, e);
    size_t n = 0;
    for (size_t k = 0; label != NULL && k < f->series_count; k++)
        for (size_t i = 0; i < p->of[k].count; i++)
            label[n++] = (struct cc_label){
                .text = f->series[k],
                .x = cc_axis_share(&f->x, p->of[k].point[i].x) * l->area_width,
                .y = cc_axis_share(&f->y, p->of[k].point[i].y) * l->area_height,
                .width = (double)cc_text_print(f->series[k], NULL) * l->char_width,
                .height = l->char_height};
    if (label != NULL)
        cc_labels_place(label, n, l->area_width, l->area_height, l->text ? 1 : 5, !l->text);
    return label;
}

static int put_labelled(const struct cc_figure *f, const struct layout *l, size_t panel, FILE *out,
                        struct cc_error *e)
{
    size_t count;
    struct cc_label *label = labels_of(f, l, panel, &count, e);
    if (label == NULL)
        return CC_FAIL;
    for (size_t i = 0; i < count; i++) {
        const struct cc_label *a = &label[i];
        const double centre = a->bottom + a->height / 2;
        (void)fprintf(out, "set label %zu ", i + 1);
        put_quoted(a->text, out);
        (void)fprintf(out, " at graph %.4f,%.4f left\n", a->left / l->area_width,
                      centre / l->area_height);
        if (a->line && !l->text)
            (void)fprintf(out,
                          "set arrow %zu from graph %.4f,%.4f to graph %.4f,%.4f nohead back lc "
                          "rgb '#aaaaaa' lw 0.7\n",
                          i + 1, a->x / l->area_width, a->y / l->area_height,
                          fmax(a->left, fmin(a->x, a->left + a->width)) / l->area_width,
                          fmax(a->bottom, fmin(a->y, a->bottom + a->height)) / l->area_height);
    }
    free(label);
    for (size_t k = 0; k < f->series_count; k++)
        put_points(&f->panel[panel].of[k], panel, k, out);
    const char *before = "plot ";
    for (size_t k = 0; k < f->series_count; k++) {
        if (f->panel[panel].of[k].count == 0)
            continue;
        (void)fprintf(out, "%s$p%zus%zu using 1:2 with points lt %zu notitle", before, panel, k,
                      k + 1);
        before = ", \\\n     ";
    }
    (void)fputc('\n', out);
    return CC_OK;
}

/* --- bars --- */

/* Writes the bars of one part as centre and box. The series are below each other at -1, -2, ... */
static void put_boxes(const struct cc_figure *f, size_t panel, size_t part, FILE *out)
{
    const double slot = 0.84 / (f->shape == CC_GROUPED ? (double)f->parts : 1);
    char text[4][CC_NUMBER_CAP];
    (void)fprintf(out, "$p%zub%zu << EOD\n", panel, part);
    for (size_t k = 0; k < f->series_count; k++) {
        const struct cc_points *of = &f->panel[panel].of[k];
        double from = 0, top = -(double)k + 0.42;
        for (size_t i = 0; i < of->count; i++) {
            double to = of->point[i].y + from;
            if ((size_t)of->point[i].x == part) {
                top -= f->shape == CC_GROUPED ? slot * (double)part : 0;
                (void)fprintf(out, "%s %.4f %s %s %.4f %.4f\n", number(from, text[0]),
                              top - slot / 2, number(from, text[1]), number(to, text[2]),
                              top - slot, top);
            }
            from = f->shape == CC_STACKED ? to : 0;
        }
    }
    (void)fputs("EOD\n", out);
}

/* Writes the numbers behind the bars; returns the end of the longest bar. */
static double put_bar_ends(const struct cc_figure *f, size_t panel, FILE *out)
{
    char text[64], x[CC_NUMBER_CAP];
    double most = 0;
    size_t label = 0;
    for (size_t k = 0; k < f->series_count; k++) {
        const struct cc_points *of = &f->panel[panel].of[k];
        double sum = 0;
        for (size_t i = 0; i < of->count; i++) {
            bool grouped = f->shape == CC_GROUPED, last = i + 1 == of->count;
            double value = sum = grouped ? of->point[i].y : sum + of->point[i].y, y = -(double)k;
            if (!grouped && !last)
                continue;
            if (grouped)
                y += 0.42 - 0.84 / (double)f->parts * (of->point[i].x + 0.5);
            else if (!isnan(of->total))
                value = of->total;
            if (f->x.unit[0] == '\0')
                (void)snprintf(text, sizeof text, "%.2f", value);
            else
                cc_print_si(value, f->x.unit, text, sizeof text);
            double end = fmax(sum, value);
            most = fmax(most, end);
            if (end > 0.92 * f->reference)
                end = fmax(end, f->reference); /* behind the line, not across it */
            (void)fprintf(out, "set label %zu '%s' at first %s,%.4f left offset character 0.6,0\n",
                          ++label, text, number(end, x), y);
        }
    }
    return most;
}

/* Marks the step's time by a line across the bar if it is not the sum of the parts. */
static void put_totals(const struct cc_figure *f, size_t panel, FILE *out)
{
    char x[CC_NUMBER_CAP];
    for (size_t k = 0; k < f->series_count; k++) {
        const struct cc_points *of = &f->panel[panel].of[k];
        if (of->count == 0 || isnan(of->total))
            continue;
        number(of->total, x);
        (void)fprintf(out, "set arrow from %s,%.2f to %s,%.2f nohead front lc rgb '#000000' lw 3\n",
                      x, -(double)k - 0.48, x, -(double)k + 0.48);
    }
}

static void put_bar_names(const struct cc_figure *f, bool shown, FILE *out)
{
    (void)fprintf(out, "set yrange [%.1f:0.6]\nunset logscale y\nset ylabel ''\nset ytics (",
                  -(double)f->series_count + 0.4);
    for (size_t k = 0; k < f->series_count; k++) {
        (void)fputs(k > 0 ? ", " : "", out);
        put_text(shown ? f->series[k] : "", true, out);
        (void)fprintf(out, " %g", -(double)k);
    }
    (void)fputs(") scale 0\n", out);
}

static const char *const fill[] = {"rgb '#77aadd' fs solid 0.6 border lc rgb '#000000'",
                                   "rgb '#000000' fs solid 0.85 border lc rgb '#000000'",
                                   "rgb '#994422' fs pattern 4 border lc rgb '#000000'",
                                   "rgb '#ffffff' fs solid 1 border lc rgb '#994422'"};

/* Writes the legend of bars below all panels; gnuplot's own would have to fit below one of them. */
static void put_bar_key(const struct cc_figure *f, const struct layout *l, bool totals, FILE *out)
{
    double x = l->left;
    for (size_t i = 0; i < f->parts + totals; i++) {
        const char *name = i < f->parts ? f->part[i] : "the step itself";
        if (i < f->parts)
            (void)fprintf(
                out, "set object %zu rect from screen %.4f,%.4f to screen %.4f,%.4f fc %s\n", i + 1,
                x / l->width, 8 / l->height, (x + 24) / l->width, 20 / l->height, fill[i]);
        else
            (void)fprintf(out,
                          "set arrow from screen %.4f,%.4f to screen %.4f,%.4f nohead front "
                          "lc rgb '#000000' lw 3\n",
                          (x + 20) / l->width, 6 / l->height, (x + 20) / l->width, 22 / l->height);
        (void)fprintf(out, "set label '%s' at screen %.4f,%.4f left\n", name, (x + 32) / l->width,
                      14 / l->height);
        x += 32 + l->char_width * (double)strlen(name) + 24;
    }
}

static bool any_totals(const struct cc_figure *f)
{
    for (size_t i = 0; i < f->panels; i++)
        for (size_t k = 0; k < f->series_count; k++)
            if (f->panel[i].of[k].count > 0 && !isnan(f->panel[i].of[k].total))
                return true;
    return false;
}

static void put_bars(const struct cc_figure *f, const struct layout *l, size_t panel, FILE *out)
{
    for (size_t i = 0; i < f->parts; i++)
        put_boxes(f, panel, i, out);
    struct cc_axis x = f->x;
    x.hi = fmax(put_bar_ends(f, panel, out), f->reference) * (1 + 70 / l->area_width);
    put_totals(f, panel, out);
    if (panel + 1 == f->panels)
        put_bar_key(f, l, any_totals(f), out);
    put_axis(f, &x, 'x', (int)(l->area_width / 90), true, out);
    put_bar_names(f, panel % l->columns == 0, out);
    if (f->reference > 0)
        (void)fprintf(out,
                      "set arrow from %g,graph 0 to %g,graph 1 nohead front dt (8,5) lc rgb "
                      "'#000000' lw 1.2\n",
                      f->reference, f->reference);
    (void)fputs("plot ", out);
    for (size_t i = 0; i < f->parts; i++)
        (void)fprintf(out, "%s$p%zub%zu using 1:2:3:4:5:6 with boxxyerror dt 1 lw 1 lc %s",
                      i > 0 ? ", \\\n     " : "", panel, i, fill[i]);
    (void)fputc('\n', out);
}

/* --- the script --- */

/* Writes the legend of lines to the right; one for all panels, as part of the last. */
static void put_key(const struct cc_figure *f, const struct layout *l, size_t panel, FILE *out)
{
    if (f->shape != CC_LINES || (!l->text && panel + 1 < f->panels))
        (void)fputs("unset key\n", out);
    else if (l->text)
        (void)fputs("set key at graph 1.02,1 left top Left reverse samplen 2\n", out);
    else
        (void)fprintf(out,
                      "set key at screen %.4f,%.4f left top Left reverse samplen 3.5 "
                      "spacing %g maxrows %zu\n",
                      l->key_x / l->width, (l->height - 44) / l->height, key_spacing(f),
                      key_lines(f));
}

/* A title; on a terminal in two lines if it does not fit into one. */
static void put_title(const struct layout *l, const char *title, FILE *out)
{
    size_t first = strlen(title);
    char line[1024];
    while (l->text && first > 0 && (double)first > l->area_width)
        while (first > 0 && title[--first] != ' ')
            continue;
    (void)fputs("set title ", out);
    if (first > 0 && title[first] == ' ') {
        (void)snprintf(line, sizeof line, "%.*s", (int)first, title);
        put_quoted(line, out);
        (void)fputs(" . \"\\n\" . ", out);
        title += first + 1;
    }
    put_quoted(title, out);
    (void)fputc('\n', out);
}

static int put_panel(const struct cc_figure *f, const struct layout *l, size_t panel, FILE *out,
                     struct cc_error *e)
{
    const struct cc_panel *p = &f->panel[panel];
    const bool lowest = l->text || panel + l->columns >= f->panels;
    (void)fputs("unset label\nunset arrow\nunset object\n", out);
    put_margins(l, panel, out);
    if (l->marks)
        cc_plot_put_marks(f, panel, out);
    put_key(f, l, panel, out);
    bool alone = f->panels == 1;
    put_title(l, alone ? f->title : p->title, out);
    if (bars(f)) {
        put_bars(f, l, panel, out);
        return CC_OK;
    }
    double tic = l->text ? 12 : strcmp(f->x.unit, "bit/s") == 0 ? 80 : 55;
    int across = (int)(l->area_width / tic);
    put_axis(f, &f->x, 'x', across > 2 ? across : 2, lowest, out);
    int upwards = (int)(l->area_height / (l->text ? 3 : 40));
    put_axis(f, &f->y, 'y', upwards > 2 ? upwards : 2, panel % l->columns == 0, out);
    if (f->shape == CC_LABELLED)
        return put_labelled(f, l, panel, out, e);
    put_lines(f, l, panel, out);
    return CC_OK;
}

int cc_plot_script(const struct cc_figure *f, const struct cc_canvas *canvas, FILE *out,
                   struct cc_error *e)
{
    struct layout l;
    if (strcmp(canvas->terminal, "dumb") == 0)
        layout_text(f, canvas, &l);
    else
        layout_image(f, &l);
    l.marks = canvas->marks;
    int status = put_terminal(canvas, &l, out, e);
    if (status != CC_OK)
        return status;
    bool several = f->panels > 1 && !l.text;
    if (several) {
        (void)fputs("set multiplot title ", out);
        put_quoted(f->title, out);
        (void)fputc('\n', out);
    }
    for (size_t i = 0; i < f->panels && status == CC_OK; i++)
        status = put_panel(f, &l, i, out, e);
    if (several)
        (void)fputs("unset multiplot\n", out);
    return status;
}
