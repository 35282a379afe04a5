/* The legend of a figure: an entry for each line, or for lines that coincide, for each part of
 * bars, or for each point that is not named in place. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "results/plot_impl.h"

/* Widths relative to the font's size: of the sample, between sample and name, between columns. */
#define SAMPLE      2.2
#define BEFORE_NAME 0.5
#define BETWEEN     1.2

static int add(struct cc_legend *l, const struct cc_plan *p, enum cc_shape_kind sample,
               size_t number, const char *name, double room, struct cc_error *e)
{
    struct cc_legend_entry *to = &l->entry[l->entries++];
    *to = (struct cc_legend_entry){.sample = sample, .number = number};
    CC_TRY(cc_text_break(name, p->font, p->font_size, room, &to->name, e));
    l->column_width = fmax(l->column_width, to->name.width);
    return CC_OK;
}

static int add_lines(const struct cc_figure *f, const struct cc_plan *p, double room,
                     struct cc_legend *l, struct cc_error *e)
{
    for (size_t k = 0; k < f->series_count; k++) {
        if (p->leader[k] != k)
            continue;
        char *name = cc_lines_name(f, p->leader, k, e);
        const int status = name != NULL ? add(l, p, CC_SHAPE_LINE, k, name, room, e) : CC_FAIL;
        free(name);
        CC_TRY(status);
    }
    return f->kind == CC_PLOT_WORKERS ? add(l, p, CC_SHAPE_REFERENCE, 0, "ideal", room, e) : CC_OK;
}

static int add_points(const struct cc_figure *f, const struct cc_plan *p, enum cc_naming naming,
                      double room, struct cc_legend *l, struct cc_error *e)
{
    for (size_t k = 0; k < f->series_count && naming != CC_NAMED; k++) {
        char number[24] = "", *name;
        if (naming == CC_NUMBERED)
            (void)snprintf(number, sizeof number, "%zu ", k + 1);
        CC_TRY(cc_text(&name, e, "%s%s", number, f->series[k]));
        const int status = add(l, p, CC_SHAPE_POINT, k, name, room, e);
        free(name);
        CC_TRY(status);
    }
    return add(l, p, CC_SHAPE_FRONT, 0, "Pareto front", room, e);
}

static int add_parts(const struct cc_figure *f, const struct cc_plan *p, double room,
                     struct cc_legend *l, struct cc_error *e)
{
    const enum cc_shape_kind sample = f->shape == CC_MARKS ? CC_SHAPE_MARK : CC_SHAPE_PART;
    for (size_t i = 0; i < f->parts && f->parts > 1; i++)
        CC_TRY(add(l, p, sample, i, f->part[i], room, e));
    if (f->shape == CC_STACKED && cc_figure_has_totals(f))
        CC_TRY(add(l, p, CC_SHAPE_TOTAL, 0, "the step itself", room, e));
    return f->band[0] != '\0' ? add(l, p, CC_SHAPE_BAND, 0, f->band, room, e) : CC_OK;
}

static double lines_of(const struct cc_legend *l, size_t first, size_t count)
{
    double sum = 0;
    for (size_t i = first; i < first + count && i < l->entries; i++)
        sum += (double)l->entry[i].name.count;
    return sum;
}

/* The rows of columns below the panels, as many columns as fit. */
static void arrange_below(struct cc_legend *l, const struct cc_plan *p, double width)
{
    const double em = p->font_size;
    const double column = (SAMPLE + BEFORE_NAME + BETWEEN) * em + l->column_width;
    l->columns = (size_t)fmax(1, floor((width + BETWEEN * em) / column));
    l->rows = (l->entries + l->columns - 1) / l->columns;
    l->columns = l->rows > 0 ? (l->entries + l->rows - 1) / l->rows : 0;
    for (size_t c = 0; c < l->columns; c++)
        l->height = fmax(l->height, lines_of(l, c * l->rows, l->rows));
    l->height *= CC_LINE_HEIGHT * em;
    l->column_width = column;
    l->width = width;
}

int cc_legend_make(const struct cc_figure *f, const struct cc_plan *p, enum cc_legend_place place,
                   enum cc_naming naming, double width, struct cc_legend *out, struct cc_error *e)
{
    const double em = p->font_size, sample = (SAMPLE + BEFORE_NAME) * em;
    const double room = place == CC_LEGEND_RIGHT ? 0.34 * width : width - sample;
    *out = (struct cc_legend){.place = place};
    CC_TRY(CC_NEW(out->entry, f->series_count + f->parts + 4, e));
    const int status = f->shape == CC_LINES      ? add_lines(f, p, room, out, e)
                       : f->shape == CC_LABELLED ? add_points(f, p, naming, room, out, e)
                                                 : add_parts(f, p, room, out, e);
    if (status != CC_OK) {
        cc_legend_free(out);
        return status;
    }
    if (place == CC_LEGEND_BELOW) {
        arrange_below(out, p, width);
    } else {
        out->columns = 1;
        out->rows = out->entries;
        out->width = out->entries > 0 ? sample + out->column_width : 0;
        out->height = lines_of(out, 0, out->entries) * CC_LINE_HEIGHT * em;
    }
    return CC_OK;
}

/* The sample of an entry, from x to x + SAMPLE times the font's size. */
static int put_sample(const struct cc_legend_entry *entry, struct cc_plan *p, double x, double y,
                      struct cc_error *e)
{
    const double em = p->font_size, end = x + SAMPLE * em, middle = (x + end) / 2;
    struct cc_page_shape h = {entry->sample, entry->number, x, y, end, y, 0};
    if (h.kind == CC_SHAPE_POINT || h.kind == CC_SHAPE_MARK || h.kind == CC_SHAPE_TOTAL)
        h.x0 = h.x1 = middle;
    if (h.kind == CC_SHAPE_PART || h.kind == CC_SHAPE_BAND || h.kind == CC_SHAPE_TOTAL) {
        const double half = (h.kind == CC_SHAPE_TOTAL ? 0.5 : 0.35) * em;
        h.y0 -= half;
        h.y1 += half;
    }
    if (h.kind == CC_SHAPE_LINE) /* with a mark */
        CC_TRY(cc_plan_shape(
            p, (struct cc_page_shape){CC_SHAPE_POINT, h.number, middle, y, middle, y, 0}, e));
    return cc_plan_shape(p, h, e);
}

int cc_legend_put(const struct cc_legend *l, struct cc_plan *p, double left, double top,
                  struct cc_error *e)
{
    const double em = p->font_size, line = CC_LINE_HEIGHT * em;
    for (size_t c = 0; c < l->columns; c++) {
        const double x = left + (double)c * l->column_width;
        double y = top - line / 2;
        for (size_t i = c * l->rows; i < (c + 1) * l->rows && i < l->entries; i++) {
            const struct cc_legend_entry *entry = &l->entry[i];
            CC_TRY(put_sample(entry, p, x, y, e));
            for (size_t k = 0; k < entry->name.count; k++, y -= line)
                CC_TRY(cc_plan_text(p, entry->name.line[k], x + (SAMPLE + BEFORE_NAME) * em, y,
                                    CC_AT_LEFT, 0, e));
        }
    }
    return CC_OK;
}

void cc_legend_free(struct cc_legend *l)
{
    for (size_t i = 0; i < l->entries; i++)
        cc_text_lines_free(&l->entry[i].name);
    free(l->entry);
    *l = (struct cc_legend){0};
}
