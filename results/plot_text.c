/* Draws figures as text: bars, of which each part has a character of its own, rows of marks, and
 * charts of lines and points. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/units.h"
#include "results/plot_impl.h"
#include "results/text.h"

static const char mark[] = "=#-.";

/* The marks of rows: published, model, ... */
static char mark_of(double part)
{
    return "oxv#"[(int)part];
}

static double length_of(const struct cc_figure *f, const struct cc_points *of)
{
    double sum = 0;
    for (size_t i = 0; i < of->count; i++)
        sum = f->shape == CC_STACKED ? sum + of->point[i].y : fmax(sum, of->point[i].y);
    return !isnan(of->total) && of->count > 0 ? fmax(sum, of->total) : sum;
}

static double longest(const struct cc_figure *f, const struct cc_panel *p)
{
    double most = 0;
    for (size_t k = 0; k < f->series_count; k++)
        most = fmax(most, length_of(f, &p->of[k]));
    return most;
}

static size_t name_width(const struct cc_figure *f)
{
    size_t width = 0;
    for (size_t k = 0; k < f->series_count; k++) {
        size_t w = cc_text_print(f->series[k], NULL);
        width = w > width ? w : width;
    }
    return width;
}

static void repeat(char c, long times, FILE *out)
{
    for (long i = 0; i < times; i++)
        (void)fputc(c, out);
}

static void put_title(const struct cc_panel *p, FILE *out)
{
    if (p->title[0] == '\0')
        return;
    (void)fputc('\n', out);
    (void)cc_text_print(p->title, out);
    (void)fputc('\n', out);
}

static void put_name(const char *name, size_t width, FILE *out)
{
    size_t used = cc_text_print(name, out);
    repeat(' ', (long)(width - used) + 2, out);
}

/* Draws the parts one after the other. The ends are rounded, not the lengths, so that the whole bar
 * has the right length. */
static void put_stacked(const struct cc_figure *f, const struct cc_points *of, double scale,
                        FILE *out)
{
    char number[64];
    double sum = 0;
    long at = 0;
    for (size_t i = 0; i < of->count; i++) {
        sum += of->point[i].y;
        long end = lround(sum * scale);
        repeat(mark[(int)of->point[i].x], end - at, out);
        at = end;
    }
    cc_print_si(isnan(of->total) ? sum : of->total, f->x.unit, number, sizeof number);
    (void)fprintf(out, "%s%s%s\n", at > 0 ? " " : "", number,
                  isnan(of->total)  ? ""
                  : of->total < sum ? " (parts overlap)"
                                    : " (with waiting)");
}

static void put_grouped(const struct cc_figure *f, const char *name, const struct cc_points *of,
                        size_t width, double scale, FILE *out)
{
    char number[64];
    for (size_t i = 0; i < of->count; i++) {
        put_name(i == 0 ? name : "", width, out);
        cc_print_si(of->point[i].y, f->x.unit, number, sizeof number);
        repeat(mark[(int)of->point[i].x], lround(of->point[i].y * scale), out);
        (void)fprintf(out, " %s\n", number);
    }
}

/* The marks of a row on a line of `room` characters, the tolerance as dots, then the numbers. */
static void put_marks(const struct cc_figure *f, const struct cc_points *of,
                      const struct cc_axis *x, int room, FILE *out)
{
    for (int i = 0; i < room; i++) {
        const double low = ((double)i - 0.5) / (room - 1), high = ((double)i + 0.5) / (room - 1);
        char c = ' ';
        if (!isnan(of->band_lo) && cc_axis_share(x, of->band_lo) <= high &&
            cc_axis_share(x, of->band_hi) >= low)
            c = ':';
        if (f->reference > 0 &&
            fabs(cc_axis_share(x, f->reference) - (low + high) / 2) < 0.5 / (room - 1))
            c = '|';
        for (size_t p = 0; p < of->count; p++) {
            const double share = cc_axis_share(x, of->point[p].y);
            if (share >= low && share < high)
                c = c == ' ' || c == ':' || c == '|' ? mark_of(of->point[p].x) : '*';
        }
        (void)fputc(c, out);
    }
    for (size_t p = 0; p < of->count; p++) {
        char number[64];
        if (strcmp(x->unit, "#") == 0)
            cc_print_si(of->point[p].y, "#", number, sizeof number);
        else
            (void)snprintf(number, sizeof number, "%.4g", of->point[p].y);
        (void)fprintf(out, " %c %s", mark_of(of->point[p].x), number);
    }
    (void)fputc('\n', out);
}

static void put_panel(const struct cc_figure *f, const struct cc_panel *p, int columns, FILE *out)
{
    enum { NUMBER = 26, LEAST = 10 };
    size_t width = name_width(f);
    int room = columns - (int)width - (f->shape == CC_MARKS ? 2 + 10 * (int)f->parts : NUMBER);
    room = room > LEAST ? room : LEAST;
    double most = longest(f, p), scale = most > 0 ? room / most : 0;
    put_title(p, out);
    for (size_t k = 0; k < f->series_count; k++) {
        if (p->of[k].count == 0)
            continue;
        if (f->shape == CC_GROUPED) {
            put_grouped(f, f->series[k], &p->of[k], width, scale, out);
            continue;
        }
        put_name(f->series[k], width, out);
        if (f->shape == CC_MARKS)
            put_marks(f, &p->of[k], cc_panel_x(f, p), room, out);
        else
            put_stacked(f, &p->of[k], scale, out);
    }
}

/* --- lines and points: a letter for each, which the legend below explains --- */

enum { BEFORE_AXIS = 10, LEAST_LINES = 8, GAP = 3 };

/* The characters of a panel. Letters that meet stand beside each other; without room for that,
 * SEVERAL stands for them. */
#define SEVERAL '*'
struct chart {
    int columns, lines;
    char *cell;
};

static void tic_text(const struct cc_figure *f, const struct cc_axis *a, bool is_x, double v,
                     char text[64])
{
    if (is_x && f->exact > 0 && v == f->exact)
        (void)snprintf(text, 64, "exact");
    else
        cc_print_si(fabs(v) < 1e-12 && !a->log ? 0 : v, a->unit, text, 64);
}

static char letter(size_t k)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789#";
    return letters[k % (sizeof letters - 1)];
}

static int cell_of(double share, int count)
{
    const long i = lround(share * (count - 1));
    return (int)(i < 0 ? 0 : i >= count ? count - 1 : i);
}

/* Puts a letter to its place, or as near to it in the same line as others leave room. */
static void put_letter(struct chart *c, int x, int y, char l)
{
    enum { FARTHEST = 24 };
    char *line = &c->cell[y * c->columns];
    for (int by = 0; by < 2 * FARTHEST; by++) {
        const int to = x + (by % 2 == 0 ? by / 2 : -(by + 1) / 2);
        if (to < 0 || to >= c->columns || (line[to] != ' ' && line[to] != l))
            continue;
        line[to] = l;
        return;
    }
    line[x] = SEVERAL;
}

static void put_points(const struct cc_figure *f, const size_t *leader, const struct cc_panel *p,
                       struct chart *c)
{
    const struct cc_axis *axis = cc_panel_x(f, p);
    memset(c->cell, ' ', (size_t)c->columns * (size_t)c->lines);
    for (size_t k = 0; k < f->series_count; k++)
        for (size_t i = 0; i < p->of[k].count && leader[k] == k; i++) {
            const int x = cell_of(cc_axis_share(axis, p->of[k].point[i].x), c->columns);
            const int y = cell_of(1 - cc_axis_share(&f->y, p->of[k].point[i].y), c->lines);
            put_letter(c, x, y, letter(k));
        }
}

/* The text of the y tic in a line, or "". */
static void y_text(const struct cc_figure *f, int lines, int line, char text[64])
{
    double tic[CC_MOST_TICS];
    const size_t n = cc_axis_tics(&f->y, lines / 3, tic);
    text[0] = '\0';
    for (size_t i = 0; i < n; i++)
        if (cell_of(1 - cc_axis_share(&f->y, tic[i]), lines) == line)
            tic_text(f, &f->y, false, tic[i], text);
}

/* Writes the x tics' texts below the axis, each centred as far as there is room. */
static void put_x_tics(const struct cc_figure *f, const struct cc_axis *x, int columns, FILE *out)
{
    double tic[CC_MOST_TICS];
    char text[64];
    const size_t n = cc_axis_tics(x, columns / 12 > 1 ? columns / 12 : 2, tic);
    int used = -1;
    (void)fprintf(out, "%*s", BEFORE_AXIS - 1, "");
    for (size_t i = 0; i <= n; i++) {
        const double v = i == 0 ? f->exact : tic[i - 1];
        if (i == 0 ? f->exact <= 0 : v < 5 * f->exact)
            continue;
        tic_text(f, x, true, v, text);
        const int length = (int)strlen(text);
        int begin = cell_of(cc_axis_share(x, v), columns) - length / 2;
        begin = begin + length > columns ? columns - length : begin < 0 ? 0 : begin;
        if (used >= 0 && begin < used + 2)
            continue;
        (void)fprintf(out, "%*s%s", begin - used, "", text);
        used = begin + length;
    }
    (void)fputc('\n', out);
}

static void put_chart_panel(const struct cc_figure *f, const struct cc_panel *p,
                            const struct chart *c, FILE *out)
{
    char text[64];
    put_title(p, out);
    for (int y = 0; y < c->lines; y++) {
        int end = c->columns;
        const char *line = &c->cell[y * c->columns];
        while (end > 0 && line[end - 1] == ' ')
            end--;
        y_text(f, c->lines, y, text);
        (void)fprintf(out, "%*s %c%.*s\n", BEFORE_AXIS - 2, text, text[0] != '\0' ? '+' : '|', end,
                      line);
    }
    (void)fprintf(out, "%*s+", BEFORE_AXIS - 1, "");
    repeat('-', c->columns, out);
    (void)fputc('\n', out);
    put_x_tics(f, cc_panel_x(f, p), c->columns, out);
}

/* Writes the legend; lines that coincide stand together. */
static int put_legend(const struct cc_figure *f, const size_t *leader, int columns, FILE *out,
                      struct cc_error *e)
{
    for (size_t k = 0; k < f->series_count; k++) {
        if (leader[k] != k)
            continue;
        char *name = cc_lines_name(f, leader, k, e);
        if (name == NULL)
            return CC_FAIL;
        (void)fprintf(out, "%c  ", letter(k));
        cc_text_wrap(name, (size_t)columns, GAP, GAP, out);
        free(name);
    }
    return CC_OK;
}

static int put_chart(const struct cc_figure *f, int columns, int lines, FILE *out,
                     struct cc_error *e)
{
    size_t *leader = NULL, *style = NULL;
    int status = CC_OK;
    struct chart c = {.columns = columns - BEFORE_AXIS - 1,
                      .lines = lines > LEAST_LINES ? lines : LEAST_LINES};
    bool several = false;
    CC_TRY(CC_NEW(c.cell, (size_t)c.columns * (size_t)c.lines, e));
    CC_TRY_OUT(cc_lines_group(f, &leader, &style, e));
    cc_text_wrap(f->title, (size_t)columns, 0, 0, out);
    (void)cc_text_print(f->y.label, out);
    (void)fputc('\n', out);
    for (size_t i = 0; i < f->panels; i++) {
        put_points(f, leader, &f->panel[i], &c);
        several |= memchr(c.cell, SEVERAL, (size_t)c.columns * (size_t)c.lines) != NULL;
        put_chart_panel(f, &f->panel[i], &c, out);
    }
    (void)fprintf(out, "%*s%s\n\n", BEFORE_AXIS, "", f->x.label);
    CC_TRY_OUT(put_legend(f, leader, columns, out, e));
    if (several)
        (void)fprintf(out, "%c  several of them\n", SEVERAL);
out:
    free(c.cell);
    free(leader);
    free(style);
    return status;
}

/* --- both --- */

int cc_plot_text(const struct cc_figure *f, int columns, int lines, FILE *out, struct cc_error *e)
{
    if (!cc_figure_has_bars(f))
        return put_chart(f, columns, lines, out, e);
    cc_text_wrap(f->title, (size_t)columns, 0, 0, out);
    (void)fputc('\n', out);
    for (size_t i = 0; i < f->panels; i++)
        put_panel(f, &f->panel[i], columns, out);
    (void)fputc('\n', out);
    char key[512] = "";
    for (size_t i = 0; i < f->parts; i++)
        cc_append(key, sizeof key, "%s%c %s", i > 0 ? "   " : "",
                  f->shape == CC_MARKS ? mark_of((double)i) : mark[i], f->part[i]);
    if (f->band[0] != '\0')
        cc_append(key, sizeof key, "   : %s", f->band);
    cc_append(key, sizeof key, "%s(%s)", key[0] != '\0' ? "   " : "", f->x.label);
    cc_text_wrap(key, (size_t)columns, 0, 0, out);
    return CC_OK;
}
