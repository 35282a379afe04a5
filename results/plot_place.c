/* The parts of a page's plan: texts, lines, samples; bars' axes and values; the names of points. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "results/plot_page.h"

/* --- lists --- */

/* A copy with blanks instead of control characters, in ASCII and in Latin-1's upper half. */
static char *plain(const char *text, struct cc_error *e)
{
    char *copy = cc_strdup(text, e);
    size_t n = 0;
    for (size_t i = 0; copy != NULL && text[i] != '\0'; i++) {
        const unsigned char c = (unsigned char)text[i];
        const bool second = c == 0xc2 && text[i + 1] != '\0' && (unsigned char)text[i + 1] < 0xa0;
        copy[n++] = c < 0x20 || c == 0x7f || second ? ' ' : text[i];
        i += second;
    }
    if (copy != NULL)
        copy[n] = '\0';
    return copy;
}

int cc_plan_text(struct cc_plan *p, const char *text, const struct cc_page_text *t,
                 struct cc_error *e)
{
    CC_TRY(CC_GROW(p->text, &p->text_capacity, p->texts + 1, e));
    struct cc_page_text *to = &p->text[p->texts];
    *to = *t;
    to->text = plain(text, e);
    if (to->text == NULL)
        return CC_FAIL;
    to->width = cc_text_width(to->text, p->font, p->font_size);
    p->texts++;
    return CC_OK;
}

int cc_plan_line(struct cc_plan *p, const struct cc_page_line *l, struct cc_error *e)
{
    CC_TRY(CC_GROW(p->line, &p->line_capacity, p->lines + 1, e));
    p->line[p->lines++] = *l;
    return CC_OK;
}

int cc_plan_sample(struct cc_plan *p, const struct cc_page_mark *m, struct cc_error *e)
{
    CC_TRY(CC_GROW(p->sample, &p->sample_capacity, p->samples + 1, e));
    p->sample[p->samples++] = *m;
    return CC_OK;
}

int cc_plan_fill(struct cc_plan *p, const struct cc_page_fill *r, struct cc_error *e)
{
    CC_TRY(CC_GROW(p->fill, &p->fill_capacity, p->fills + 1, e));
    p->fill[p->fills++] = *r;
    return CC_OK;
}

void cc_plan_free(struct cc_plan *p)
{
    for (size_t i = 0; i < p->texts; i++)
        free(p->text[i].text);
    free(p->text);
    free(p->line);
    free(p->sample);
    free(p->fill);
    free(p->area);
    free(p->leader);
    free(p->style);
    *p = (struct cc_plan){0};
}

struct cc_box cc_plan_text_box(const struct cc_plan *p, const struct cc_page_text *t)
{
    const double before = t->at == CC_AT_LEFT ? 0 : t->at == CC_AT_CENTRE ? 0.5 : 1;
    const double half = CC_TEXT_HEIGHT * p->font_size / 2;
    if (t->upright)
        return (struct cc_box){t->x - half, t->y - before * t->width, t->x + half,
                               t->y + (1 - before) * t->width};
    return (struct cc_box){t->x - before * t->width, t->y - half, t->x + (1 - before) * t->width,
                           t->y + half};
}

/* --- bars --- */

double cc_plan_bar_y(const struct cc_figure *f, const struct cc_plan *p, size_t panel, double bar)
{
    const double n = (double)f->series_count;
    return p->area[panel].bottom + (n - 0.4 - bar) / (n + 0.2) * p->area_height;
}

/* Where a bar ends, and the number that stands there. */
struct bar_end {
    double end, value, offset; /* offset: of its middle from the series' one, in bars */
};

static size_t bar_ends(const struct cc_figure *f, const struct cc_points *of,
                       struct bar_end out[CC_MOST_PARTS])
{
    double sum = 0;
    if (of->count == 0)
        return 0;
    if (f->shape == CC_GROUPED) {
        for (size_t i = 0; i < of->count; i++)
            out[i] = (struct bar_end){of->point[i].y, of->point[i].y,
                                      0.84 / (double)f->parts * (of->point[i].x + 0.5) - 0.42};
        return of->count;
    }
    for (size_t i = 0; i < of->count; i++)
        sum += of->point[i].y;
    const double value = isnan(of->total) ? sum : of->total;
    out[0] = (struct bar_end){fmax(sum, value), value, 0};
    return 1;
}

/* Where the number stands: behind the line of reference rather than across it. */
static double value_begin(const struct cc_figure *f, const struct cc_axis *x, double width,
                          double area_width, double end)
{
    if (f->reference > 0 && end < f->reference &&
        end + width / area_width * x->hi > 0.97 * f->reference)
        return f->reference;
    return end;
}

static double least_value(const struct cc_figure *f)
{
    struct bar_end end[CC_MOST_PARTS];
    double least = INFINITY;
    for (size_t i = 0; i < f->panels; i++)
        for (size_t k = 0; k < f->series_count; k++) {
            const size_t n = bar_ends(f, &f->panel[i].of[k], end);
            for (size_t b = 0; b < n; b++)
                least = end[b].value > 0 ? fmin(least, end[b].value) : least;
        }
    return isinf(least) ? 0 : least;
}

void cc_plan_bar_axes(const struct cc_figure *f, struct cc_plan *p)
{
    struct bar_end end[CC_MOST_PARTS];
    const double em = p->font_size;
    const double pitch = p->area_height / ((double)f->series_count + 0.2);
    char text[64];
    if (f->shape != CC_STACKED && f->shape != CC_GROUPED)
        return;
    const double bars = f->shape == CC_GROUPED ? (double)f->parts : 1;
    p->values = 0.84 * pitch / bars >= (f->shape == CC_GROUPED ? CC_TEXT_HEIGHT : 1) * em;
    const struct cc_number_format n = cc_axis_format(&f->x, least_value(f));
    struct cc_axis x = f->x;
    x.hi = fmax(x.hi, f->reference);
    /* Numbers that go behind the line of reference move as the axis grows: twice is enough. */
    for (int round = 0; round < 3 && p->values; round++)
        for (size_t i = 0; i < f->panels; i++)
            for (size_t k = 0; k < f->series_count; k++) {
                const size_t count = bar_ends(f, &f->panel[i].of[k], end);
                for (size_t b = 0; b < count; b++) {
                    cc_axis_number(&f->x, &n, end[b].value, text);
                    const double width = cc_text_width(text, p->font, em) + 0.8 * em;
                    const double at = value_begin(f, &x, width, p->area_width, end[b].end);
                    x.hi = fmax(x.hi, at * p->area_width / (p->area_width - width));
                }
            }
    for (size_t i = 0; i < p->panels; i++)
        p->area[i].x = x;
}

int cc_plan_bar_values(const struct cc_figure *f, struct cc_plan *p, size_t panel,
                       struct cc_error *e)
{
    struct bar_end end[CC_MOST_PARTS];
    const struct cc_area *a = &p->area[panel];
    const struct cc_number_format n = cc_axis_format(&f->x, least_value(f));
    char text[64];
    for (size_t k = 0; k < f->series_count && p->values; k++) {
        const size_t count = bar_ends(f, &f->panel[panel].of[k], end);
        for (size_t b = 0; b < count; b++) {
            cc_axis_number(&f->x, &n, end[b].value, text);
            const double width = cc_text_width(text, p->font, p->font_size) + 0.8 * p->font_size;
            const double at = value_begin(f, &a->x, width, p->area_width, end[b].end);
            CC_TRY(
                cc_plan_text(p, text,
                             &(struct cc_page_text){
                                 .x = a->left + at / a->x.hi * p->area_width + 0.5 * p->font_size,
                                 .y = cc_plan_bar_y(f, p, panel, (double)k + end[b].offset),
                                 .panel = panel},
                             e));
        }
    }
    return CC_OK;
}

/* --- names of points --- */

static int collect(const struct cc_figure *f, const struct cc_plan *p, size_t panel,
                   enum cc_naming naming, struct cc_label **out, size_t *count, struct cc_error *e)
{
    const struct cc_panel *from = &f->panel[panel];
    struct cc_label *label = cc_alloc0(cc_panel_points(f, panel) * sizeof *label, e);
    *out = label;
    *count = 0;
    if (label == NULL)
        return CC_FAIL;
    for (size_t k = 0; k < f->series_count; k++)
        for (size_t i = 0; i < from->of[k].count; i++) {
            struct cc_label *l = &label[(*count)++];
            if (naming == CC_NUMBERED)
                (void)snprintf(l->number, sizeof l->number, "%zu", k + 1);
            l->text = naming == CC_NUMBERED ? l->number : f->series[k];
            l->x = cc_axis_share(&p->area[panel].x, from->of[k].point[i].x) * p->area_width;
            l->y = cc_axis_share(&f->y, from->of[k].point[i].y) * p->area_height;
            l->width = cc_text_width(l->text, p->font, p->font_size);
            l->height = CC_TEXT_HEIGHT * p->font_size;
        }
    return CC_OK;
}

/* The steps of the Pareto front, in the panel's area, for labels to keep off. */
static int front_path(const struct cc_figure *f, const struct cc_plan *p, size_t panel,
                      struct cc_label_area *area, struct cc_error *e)
{
    const size_t points = cc_panel_points(f, panel);
    struct cc_point *front = cc_alloc0(points * sizeof *front, e);
    area->path = cc_alloc0((2 * points + 1) * sizeof *area->path, e);
    if (front != NULL && area->path != NULL) {
        const size_t count = cc_pareto_front(f, panel, front);
        double y = 0;
        for (size_t i = 0; i <= count; i++) {
            const double x = i < count ? cc_axis_share(&p->area[panel].x, front[i].x) : 1;
            if (i > 0) {
                area->path[area->path_count][0] = x * p->area_width;
                area->path[area->path_count++][1] = y;
            }
            if (i == count)
                break;
            y = cc_axis_share(&f->y, front[i].y) * p->area_height;
            area->path[area->path_count][0] = x * p->area_width;
            area->path[area->path_count++][1] = y;
        }
    }
    free(front);
    return front != NULL && area->path != NULL ? CC_OK : CC_FAIL;
}

int cc_plan_names(const struct cc_figure *f, struct cc_plan *p, size_t panel, enum cc_naming naming,
                  bool *clear, struct cc_error *e)
{
    struct cc_label *label = NULL;
    size_t count = 0;
    int status = CC_OK;
    const struct cc_area *a = &p->area[panel];
    struct cc_label_area area = {p->area_width, p->area_height, p->mark, NULL, 0};
    *clear = true;
    if (naming == CC_BY_MARKS)
        return CC_OK;
    CC_TRY_OUT(front_path(f, p, panel, &area, e));
    CC_TRY_OUT(collect(f, p, panel, naming, &label, &count, e));
    cc_labels_place(label, count, &area);
    *clear = cc_labels_clear(label, count, &area);
    for (size_t i = 0; i < count; i++) {
        const struct cc_label *l = &label[i];
        CC_TRY_OUT(cc_plan_text(p, l->text,
                                &(struct cc_page_text){.x = a->left + l->left,
                                                       .y = a->bottom + l->bottom + l->height / 2,
                                                       .panel = panel},
                                e));
        if (!l->line)
            continue;
        const struct cc_page_line leader = {
            .x0 = a->left + l->x,
            .y0 = a->bottom + l->y,
            .x1 = a->left + fmax(l->left, fmin(l->x, l->left + l->width)),
            .y1 = a->bottom + fmax(l->bottom, fmin(l->y, l->bottom + l->height)),
            .stroke = CC_STROKE_LEADER,
            .panel = panel};
        CC_TRY_OUT(cc_plan_line(p, &leader, e));
    }
out:
    free(label);
    free(area.path);
    return status;
}
