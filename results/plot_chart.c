/* Draws lines and points as text: a letter for each line or point, which the legend below explains.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/units.h"
#include "results/plot_impl.h"
#include "results/text.h"

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

static int at(double share, int count)
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

static void mark(const struct cc_figure *f, const size_t *leader, const struct cc_panel *p,
                 struct chart *c)
{
    memset(c->cell, ' ', (size_t)c->columns * (size_t)c->lines);
    for (size_t k = 0; k < f->series_count; k++)
        for (size_t i = 0; i < p->of[k].count && leader[k] == k; i++) {
            const int x = at(cc_axis_share(&f->x, p->of[k].point[i].x), c->columns);
            const int y = at(1 - cc_axis_share(&f->y, p->of[k].point[i].y), c->lines);
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
        if (at(1 - cc_axis_share(&f->y, tic[i]), lines) == line)
            tic_text(f, &f->y, false, tic[i], text);
}

/* Writes the x tics' texts below the axis, each centred as far as there is room. */
static void put_x_tics(const struct cc_figure *f, int columns, FILE *out)
{
    double tic[CC_MOST_TICS];
    char text[64];
    const size_t n = cc_axis_tics(&f->x, columns / 12 > 1 ? columns / 12 : 2, tic);
    int used = -BEFORE_AXIS;
    (void)fprintf(out, "%*s", BEFORE_AXIS - 1, "");
    used = -1;
    for (size_t i = 0; i <= n; i++) {
        if (i == 0 && f->exact <= 0)
            continue;
        const double v = i == 0 ? f->exact : tic[i - 1];
        if (i > 0 && v < 5 * f->exact)
            continue;
        tic_text(f, &f->x, true, v, text);
        const int length = (int)strlen(text);
        int begin = at(cc_axis_share(&f->x, v), columns) - length / 2;
        begin = begin + length > columns ? columns - length : begin < 0 ? 0 : begin;
        if (used >= 0 && begin < used + 2)
            continue;
        (void)fprintf(out, "%*s%s", begin - (used < 0 ? -1 : used), "", text);
        used = begin + length;
    }
    (void)fputc('\n', out);
}

static void put_panel(const struct cc_figure *f, const struct cc_panel *p, const struct chart *c,
                      FILE *out)
{
    char text[64];
    if (p->title[0] != '\0') {
        (void)fputc('\n', out);
        (void)cc_text_print(p->title, out);
        (void)fputc('\n', out);
    }
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
    for (int x = 0; x < c->columns; x++)
        (void)fputc('-', out);
    (void)fputc('\n', out);
    put_x_tics(f, c->columns, out);
}

/* Writes the legend in as many columns as fit; lines that coincide stand together. */
static int put_legend(const struct cc_figure *f, const size_t *leader, int columns, FILE *out,
                      struct cc_error *e)
{
    for (size_t k = 0; k < f->series_count; k++) {
        char *text = NULL;
        size_t length = 0;
        if (leader[k] != k)
            continue;
        FILE *line = open_memstream(&text, &length);
        if (line == NULL)
            return cc_fail(e, "out of memory");
        (void)fprintf(line, "%c  ", letter(k));
        for (size_t i = k; i < f->series_count; i++) {
            if (leader[i] != k)
                continue;
            (void)fputs(i > k ? ", " : "", line);
            (void)cc_text_print(f->series[i], line);
        }
        if (fclose(line) != 0) {
            free(text);
            return cc_fail(e, "out of memory");
        }
        cc_text_wrap(text, (size_t)columns, 0, GAP, out);
        free(text);
    }
    return CC_OK;
}

int cc_plot_chart(const struct cc_figure *f, int columns, int lines, FILE *out, struct cc_error *e)
{
    size_t *leader = NULL, *style = NULL;
    int status = CC_OK;
    struct chart c = {.columns = columns - BEFORE_AXIS - 1,
                      .lines = lines > LEAST_LINES ? lines : LEAST_LINES};
    bool several = false;
    c.cell = cc_alloc0((size_t)c.columns * (size_t)c.lines, e);
    if (c.cell == NULL)
        return CC_FAIL;
    CC_TRY_OUT(cc_lines_group(f, &leader, &style, e));
    cc_text_wrap(f->title, (size_t)columns, 0, 0, out);
    (void)cc_text_print(f->y.label, out);
    (void)fputc('\n', out);
    for (size_t i = 0; i < f->panels; i++) {
        mark(f, leader, &f->panel[i], &c);
        several |= memchr(c.cell, SEVERAL, (size_t)c.columns * (size_t)c.lines) != NULL;
        put_panel(f, &f->panel[i], &c, out);
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
