/* Draws figures as text: bars, of which each part has a character of its own, and rows of marks. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    if (p->title[0] != '\0') {
        (void)fputc('\n', out);
        (void)cc_text_print(p->title, out);
        (void)fputc('\n', out);
    }
    for (size_t k = 0; k < f->series_count; k++) {
        if (p->of[k].count == 0)
            continue;
        if (f->shape == CC_GROUPED) {
            put_grouped(f, f->series[k], &p->of[k], width, scale, out);
            continue;
        }
        put_name(f->series[k], width, out);
        if (f->shape == CC_MARKS)
            put_marks(f, &p->of[k], f->own_axes ? &p->x : &f->x, room, out);
        else
            put_stacked(f, &p->of[k], scale, out);
    }
}

int cc_plot_text(const struct cc_figure *f, int columns, int lines, FILE *out, struct cc_error *e)
{
    if (!cc_figure_has_bars(f))
        return cc_plot_chart(f, columns, lines, out, e);
    cc_text_wrap(f->title, (size_t)columns, 0, 0, out);
    (void)fputc('\n', out);
    for (size_t i = 0; i < f->panels; i++)
        put_panel(f, &f->panel[i], columns, out);
    (void)fputc('\n', out);
    char key[512] = "";
    size_t used = 0;
    for (size_t i = 0; i < f->parts && used < sizeof key; i++)
        used += (size_t)snprintf(key + used, sizeof key - used, "%s%c %s", i > 0 ? "   " : "",
                                 f->shape == CC_MARKS ? mark_of((double)i) : mark[i], f->part[i]);
    if (used < sizeof key && f->band[0] != '\0')
        used += (size_t)snprintf(key + used, sizeof key - used, "   : %s", f->band);
    if (used < sizeof key)
        (void)snprintf(key + used, sizeof key - used, "%s(%s)", used > 0 ? "   " : "", f->x.label);
    cc_text_wrap(key, (size_t)columns, 0, 0, out);
    return CC_OK;
}
