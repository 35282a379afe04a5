/* Lays a figure out on its page. The widths of legend, names and tics leave each panel its width,
 * the lines of titles and labels its height; what has no height of its own gets one. Legends are
 * tried beside and below the panels, names at the points before numbers and marks, and smaller
 * fonts where the page is too small. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "results/plot_impl.h"

/* Lengths relative to the font's size. */
#define MARGIN            0.6
#define BELOW_TITLE       0.5
#define BELOW_PANEL_TITLE 0.25
#define TICS              1.9 /* tics and their texts below an area */
#define BETWEEN_ROWS      0.7
#define BETWEEN_COLUMNS   2.0 /* leaves 0.8 between the tics' texts: CC_TICS_BEYOND */
#define BESIDE_NAMES      0.6
#define BESIDE_LEGEND     1.5
#define LEAST_PANEL       18 /* width of a panel beside another */
#define LEAST_OF_THREE    13 /* for three in one row, which otherwise would be two and one */
#define LEAST_WIDTH       10 /* for any number */
#define LEAST_HEIGHT      5

/* The default fonts, in points: of a page as wide as a column, and of wider ones. */
enum { COLUMN_FONT = 7, PAGE_FONT = 9, COLUMN_WIDTH = 4 * 72 };
#define SMALL_FONT 5.5 /* for a page with little height for its content */

struct sizer {
    const struct cc_figure *f;
    const struct cc_page *page;
    struct cc_plan *p;
    struct cc_legend legend;
    enum cc_naming naming;
    struct cc_text_lines title, x_label, y_label;
    struct cc_text_lines *name, *panel_title; /* by bar; by panel */
    double names, tics;                       /* widths left of the panels */
    double name_lines, title_lines;           /* lines of the longest name and panel title */
    struct cc_error *e;
};

static void release(struct sizer *s)
{
    cc_legend_free(&s->legend);
    cc_text_lines_free(&s->title);
    cc_text_lines_free(&s->x_label);
    cc_text_lines_free(&s->y_label);
    for (size_t k = 0; s->name != NULL && k < s->f->series_count; k++)
        cc_text_lines_free(&s->name[k]);
    for (size_t i = 0; s->panel_title != NULL && i < s->f->panels; i++)
        cc_text_lines_free(&s->panel_title[i]);
    free(s->name);
    free(s->panel_title);
    s->name = s->panel_title = NULL;
}

static int break_again(const struct sizer *s, const char *text, double width,
                       struct cc_text_lines *out)
{
    cc_text_lines_free(out);
    return cc_text_break(text, s->p->font, s->p->font_size, width, out, s->e);
}

/* --- widths --- */

static int size_names(struct sizer *s)
{
    const double em = s->p->font_size;
    s->names = 0;
    s->name_lines = 1;
    for (size_t k = 0; k < s->f->series_count && cc_figure_has_bars(s->f); k++) {
        CC_TRY(break_again(s, s->f->series[k], 0.4 * s->p->width, &s->name[k]));
        s->names = fmax(s->names, s->name[k].width + BESIDE_NAMES * em);
        s->name_lines = fmax(s->name_lines, (double)s->name[k].count);
    }
    return CC_OK;
}

static double tic_width(const struct sizer *s)
{
    char text[64];
    double most = 0;
    for (size_t i = 0; i < s->p->y_tics.count; i++) {
        cc_tic_text(&s->f->y, 0, s->p->y_tics.at[i], text);
        most = fmax(most, cc_text_width(text, s->p->font, s->p->font_size));
    }
    return most;
}

static double left_of(const struct sizer *s)
{
    const double em = s->p->font_size;
    if (cc_figure_has_bars(s->f))
        return MARGIN * em + s->names;
    return (MARGIN + 0.8 + CC_LINE_HEIGHT * (double)s->y_label.count) * em + s->tics;
}

/* The number of panels of at least this width that have room beside each other. */
static double panels_beside(double room, double least, double em)
{
    return floor((room + BETWEEN_COLUMNS * em) / ((least + BETWEEN_COLUMNS) * em));
}

static void choose_columns(struct sizer *s, double room)
{
    struct cc_plan *p = s->p;
    const double em = p->font_size;
    p->columns = s->page->columns < p->panels ? s->page->columns : p->panels;
    if (s->page->columns == 0) {
        const bool three = p->panels == 3 && panels_beside(room, LEAST_OF_THREE, em) >= 3;
        const double fit = three ? 3 : panels_beside(room, LEAST_PANEL, em);
        p->columns = (size_t)fmax(1, fmin(fit, fmin(3, (double)p->panels)));
        if (p->panels == 4 && p->columns == 3)
            p->columns = 2;
    }
    p->rows = (p->panels + p->columns - 1) / p->columns;
}

static double width_beside(const struct cc_plan *p, double room)
{
    return (room - (double)(p->columns - 1) * BETWEEN_COLUMNS * p->font_size) / (double)p->columns;
}

/* --- heights --- */

/* The height that a panel should have; at least, if `least`. */
static double panel_height(const struct sizer *s, bool least)
{
    const struct cc_plan *p = s->p;
    const double em = p->font_size, n = (double)s->f->series_count + 0.2;
    if (!cc_figure_has_bars(s->f))
        return least ? LEAST_HEIGHT * em : (p->panels == 1 ? 0.66 : 0.75) * p->area_width;
    const double name = s->name_lines > 1 ? CC_LINE_HEIGHT * s->name_lines : CC_TEXT_HEIGHT;
    const double usual = s->f->shape == CC_GROUPED ? 1.4 * (double)s->f->parts + 0.3 : 1.55;
    return n * em * (least ? name : fmax(usual, name));
}

/* Room beside the panels' areas: above and below them all, and of each row. */
struct heights {
    double above, below, row, between;
};

static struct heights heights_of(const struct sizer *s)
{
    const double em = s->p->font_size, line = CC_LINE_HEIGHT * em;
    struct heights h = {.above = MARGIN * em, .below = MARGIN * em};
    if (s->title.count > 0)
        h.above += line * (double)s->title.count + BELOW_TITLE * em;
    if (s->legend.place == CC_LEGEND_BELOW && s->legend.entries > 0)
        h.below += s->legend.height + 0.4 * em;
    h.below += line * (double)s->x_label.count;
    h.row = TICS * em + (s->title_lines > 0 ? line * s->title_lines + BELOW_PANEL_TITLE * em : 0);
    h.between = BETWEEN_ROWS * em;
    return h;
}

/* Sets the panels' height, and the page's, if it has none. */
static void size_heights(struct sizer *s, bool *fits)
{
    struct cc_plan *p = s->p;
    const struct heights h = heights_of(s);
    const double rows = (double)p->rows;
    const double others = h.above + h.below + rows * h.row + (rows - 1) * h.between;
    double area = panel_height(s, false);
    if (s->page->height > 0)
        area = (s->page->height - others) / rows;
    else if (s->legend.place == CC_LEGEND_RIGHT)
        area = fmax(area, (s->legend.height + h.above + MARGIN * p->font_size - others) / rows);
    p->area_height = area;
    p->height = s->page->height > 0 ? s->page->height : others + rows * area;
    *fits = area >= panel_height(s, true) && p->area_width >= LEAST_WIDTH * p->font_size &&
            (s->legend.place != CC_LEGEND_RIGHT ||
             s->legend.height <= p->height - h.above - MARGIN * p->font_size);
}

/* Sizes everything, with the legend in a place. Tics and the label of the y axis depend on the
 * panels' height, which depends on the width that they leave: after three rounds they agree. */
static int size_all(struct sizer *s, enum cc_legend_place place, bool *fits)
{
    struct cc_plan *p = s->p;
    const struct cc_figure *f = s->f;
    const double em = p->font_size;
    const struct cc_number_format n = cc_axis_format(&f->x, 0);
    char label[256];
    (void)snprintf(label, sizeof label, n.unit[0] != '\0' ? "%s (%s)" : "%s", f->x.label, n.unit);
    p->width = s->page->width;
    cc_legend_free(&s->legend);
    CC_TRY(cc_legend_make(f, p, place, s->naming, p->width - 2 * MARGIN * em, &s->legend, s->e));
    const double right = MARGIN * em + (place == CC_LEGEND_RIGHT && s->legend.entries > 0
                                            ? s->legend.width + BESIDE_LEGEND * em
                                            : 0.5 * em);
    CC_TRY(
        break_again(s, s->page->no_title ? "" : f->title, p->width - 2 * MARGIN * em, &s->title));
    CC_TRY(size_names(s));
    for (int round = 0; round < 3; round++) {
        const double room = p->width - left_of(s) - right;
        choose_columns(s, room);
        p->area_width = width_beside(p, room);
        if (p->area_width < LEAST_WIDTH * em) {
            *fits = false;
            return CC_OK;
        }
        CC_TRY(break_again(s, label, room, &s->x_label));
        s->title_lines = 0;
        for (size_t i = 0; i < f->panels; i++) {
            CC_TRY(break_again(s, f->panel[i].title, p->area_width, &s->panel_title[i]));
            s->title_lines = fmax(s->title_lines, (double)s->panel_title[i].count);
        }
        size_heights(s, fits);
        if (cc_figure_has_bars(f))
            continue;
        cc_axis_choose(&f->y, 0, p->area_height, true, p, &p->y_tics);
        s->tics = tic_width(s);
        const struct heights h = heights_of(s);
        CC_TRY(break_again(s, f->y.label, p->height - h.above - h.below, &s->y_label));
    }
    p->area_width = width_beside(p, p->width - left_of(s) - right);
    return CC_OK;
}

/* --- what stands where --- */

static int put_lines_of(struct sizer *s, const struct cc_text_lines *lines, double x, double top,
                        enum cc_text_at at, size_t panel)
{
    const double line = CC_LINE_HEIGHT * s->p->font_size;
    for (size_t i = 0; i < lines->count; i++)
        CC_TRY(
            cc_plan_text(s->p, lines->line[i], x, top - ((double)i + 0.5) * line, at, panel, s->e));
    return CC_OK;
}

static void place_areas(struct sizer *s)
{
    struct cc_plan *p = s->p;
    const double em = p->font_size;
    const struct heights h = heights_of(s);
    for (size_t i = 0; i < p->panels; i++) {
        const size_t row = i / p->columns, column = i % p->columns;
        const double top = p->height - h.above -
                           (double)row * (h.row + p->area_height + h.between) - (h.row - TICS * em);
        p->area[i].left = left_of(s) + (double)column * (p->area_width + BETWEEN_COLUMNS * em);
        p->area[i].bottom = top - p->area_height;
        p->area[i].x = *cc_panel_x(s->f, &s->f->panel[i]);
    }
}

static int put_page(struct sizer *s)
{
    struct cc_plan *p = s->p;
    const double em = p->font_size, line = CC_LINE_HEIGHT * em;
    const struct heights h = heights_of(s);
    const double left = left_of(s);
    const double grid =
        (double)p->columns * (p->area_width + BETWEEN_COLUMNS * em) - BETWEEN_COLUMNS * em;
    CC_TRY(put_lines_of(s, &s->title, p->width / 2, p->height - MARGIN * em, CC_AT_CENTRE, 0));
    CC_TRY(put_lines_of(s, &s->x_label, left + grid / 2, h.below, CC_AT_CENTRE, 0));
    const double middle = (p->height - h.above + h.below + TICS * em) / 2;
    for (size_t i = 0; i < s->y_label.count; i++) {
        const char *text = s->y_label.line[i];
        const double half = cc_text_width(text, p->font, em) / 2;
        const double y = fmax(half + MARGIN * em, fmin(middle, p->height - MARGIN * em - half));
        CC_TRY(
            cc_plan_text(p, text, MARGIN * em + ((double)i + 0.5) * line, y, CC_UPRIGHT, 0, s->e));
    }
    if (s->legend.place == CC_LEGEND_BELOW)
        return cc_legend_put(&s->legend, p, MARGIN * em, MARGIN * em + s->legend.height, s->e);
    return cc_legend_put(&s->legend, p, left + grid + BESIDE_LEGEND * em, p->height - h.above,
                         s->e);
}

/* The texts of a panel's x tics, each at its tic, or as near as the panels beside leave room; one
 * that would meet the one before is left out. */
static int put_x_tics(struct sizer *s, size_t panel)
{
    struct cc_plan *p = s->p;
    struct cc_area *a = &p->area[panel];
    const double em = p->font_size;
    double end = -INFINITY;
    char text[64];
    cc_axis_choose(&a->x, s->f->exact, p->area_width, false, p, &a->x_tics);
    for (size_t i = 0; i < a->x_tics.count; i++) {
        cc_tic_text(&a->x, s->f->exact, a->x_tics.at[i], text);
        const double half = cc_text_width(text, p->font, em) / 2;
        const double x = a->left + cc_tic_middle(&a->x, a->x_tics.at[i], 2 * half, p->area_width,
                                                 CC_TICS_BEYOND * em);
        if (x - half < end)
            continue;
        end = x + half + 0.3 * em;
        CC_TRY(cc_plan_text(p, text, x, a->bottom - 1.3 * em, CC_AT_CENTRE, panel, s->e));
    }
    return CC_OK;
}

static int put_y_tics(struct sizer *s, size_t panel)
{
    const struct cc_plan *p = s->p;
    const struct cc_area *a = &p->area[panel];
    char text[64];
    for (size_t i = 0; i < p->y_tics.count && panel % p->columns == 0; i++) {
        cc_tic_text(&s->f->y, 0, p->y_tics.at[i], text);
        const double y = cc_axis_share(&s->f->y, p->y_tics.at[i]) * p->area_height;
        CC_TRY(cc_plan_text(s->p, text, a->left - 0.6 * p->font_size, a->bottom + y, CC_AT_RIGHT,
                            panel, s->e));
    }
    return CC_OK;
}

static int put_bar_names(struct sizer *s, size_t panel)
{
    const struct cc_plan *p = s->p;
    const double em = p->font_size;
    for (size_t k = 0; k < s->f->series_count && panel % p->columns == 0; k++)
        CC_TRY(put_lines_of(s, &s->name[k], p->area[panel].left - BESIDE_NAMES * em,
                            cc_plan_bar_y(s->f, p, panel, (double)k) +
                                (double)s->name[k].count * CC_LINE_HEIGHT * em / 2,
                            CC_AT_RIGHT, panel));
    return CC_OK;
}

static int put_panel(struct sizer *s, size_t panel, bool *clear)
{
    const struct cc_plan *p = s->p;
    const struct cc_area *a = &p->area[panel];
    const double line = CC_LINE_HEIGHT * p->font_size;
    CC_TRY(put_lines_of(s, &s->panel_title[panel], a->left + p->area_width / 2,
                        a->bottom + p->area_height + BELOW_PANEL_TITLE * p->font_size +
                            line * (double)s->panel_title[panel].count,
                        CC_AT_CENTRE, panel));
    CC_TRY(put_x_tics(s, panel));
    if (cc_figure_has_bars(s->f)) {
        CC_TRY(put_bar_names(s, panel));
        return cc_plan_bar_values(s->f, s->p, panel, s->e);
    }
    CC_TRY(put_y_tics(s, panel));
    if (s->f->shape == CC_LABELLED)
        return cc_plan_names(s->f, s->p, panel, s->naming, clear, s->e);
    return CC_OK;
}

/* Puts everything to its place; *clear: no name of a point covers anything. */
static int put_all(struct sizer *s, bool *clear)
{
    *clear = true;
    place_areas(s);
    cc_plan_bar_axes(s->f, s->p);
    for (size_t i = 0; i < s->p->panels; i++) {
        bool here = true;
        CC_TRY(put_panel(s, i, &here));
        *clear = *clear && here;
    }
    return put_page(s);
}

/* --- choosing --- */

/* How well a panel can be read: its area, of which a narrow one is worth less. */
static double worth(const struct cc_plan *p)
{
    return fmin(p->area_width, 2 * p->area_height) * fmin(p->area_height, 1.2 * p->area_width);
}

/* Sizes everything with the legend in its better place; bars have theirs below. */
static int size_best(struct sizer *s, bool *fits)
{
    bool right = false;
    double best = 0;
    const bool beside = !cc_figure_has_bars(s->f) && s->f->series_count > 1 &&
                        (s->f->shape != CC_LABELLED || s->naming != CC_NAMED);
    if (beside) {
        CC_TRY(size_all(s, CC_LEGEND_RIGHT, &right));
        best = worth(s->p);
        /* A legend below leaves room for panels side by side, or for three that are wider. */
        const bool tight = s->p->panels > 1 && (s->p->columns == 1 || s->p->columns == 3);
        if (right && !tight && s->page->height <= 0 && s->page->width >= COLUMN_WIDTH)
            return *fits = true, CC_OK;
    }
    CC_TRY(size_all(s, CC_LEGEND_BELOW, fits));
    if (right && (!*fits || (s->page->height > 0 && best > worth(s->p))))
        return size_all(s, CC_LEGEND_RIGHT, fits);
    return CC_OK;
}

/* Whether the panels have less than half of the page's height, and smaller letters would help. */
static bool cramped(const struct cc_page *page, const struct cc_plan *p)
{
    const double panels = (double)p->rows * p->area_height;
    return page->font_size <= 0 && panels < 0.5 * page->height && p->font_size > SMALL_FONT;
}

/* The first way of naming points to try: marks tell the schemes apart where there are too many. */
static int first_naming(const struct cc_figure *f)
{
    enum { MOST_NAMED = 40 };
    for (size_t i = 0; f->shape == CC_LABELLED && i < f->panels; i++)
        if (cc_panel_points(f, i) > MOST_NAMED)
            return CC_BY_MARKS;
    return CC_NAMED;
}

/* Makes the lists that have one entry for each panel or series, and sizes everything. */
static int prepare(struct sizer *s, bool *fits)
{
    CC_TRY(CC_NEW(s->p->area, s->f->panels, s->e));
    CC_TRY(CC_NEW(s->name, s->f->series_count, s->e));
    CC_TRY(CC_NEW(s->panel_title, s->f->panels, s->e));
    CC_TRY(cc_lines_group(s->f, &s->p->leader, &s->p->style, s->e));
    return size_best(s, fits);
}

/* Lays everything out in a font's size; *fits: it has its place. */
static int make(const struct cc_figure *f, const struct cc_page *page, double font,
                struct cc_plan *out, bool *fits, struct cc_error *e)
{
    int status = CC_OK;
    bool clear = false;
    *fits = true;
    for (int naming = first_naming(f); naming < CC_NAMINGS && *fits && !clear; naming++) {
        struct sizer s = {.f = f, .page = page, .p = out, .naming = (enum cc_naming)naming, .e = e};
        cc_plan_free(out);
        *out = (struct cc_plan){
            .font = page->font, .font_size = font, .mark = 0.38 * font, .panels = f->panels};
        status = prepare(&s, fits);
        *fits = *fits && !cramped(page, out);
        if (status == CC_OK && *fits)
            status = put_all(&s, &clear);
        release(&s);
        if (status != CC_OK || f->shape != CC_LABELLED)
            break;
    }
    return status;
}

/* The error that the page is too small, with the height that would do. */
static int fail_small(const struct cc_figure *f, const struct cc_page *page, double font,
                      struct cc_plan *p, struct cc_error *e)
{
    const struct cc_page higher = {.width = page->width,
                                   .font = page->font,
                                   .no_title = page->no_title,
                                   .columns = page->columns};
    bool fits = false;
    CC_TRY(make(f, &higher, font, p, &fits, e));
    if (page->height <= 0 || !fits)
        return cc_usage(e,
                        "--size: %.3gin is too narrow for this plot in a font of %.3g points: give "
                        "it more, or plot fewer schemes or panels",
                        page->width / 72, font);
    return cc_usage(e,
                    "--size: %.3gin,%.3gin is too small for this plot in a font of %.3g points: "
                    "%.3gin,%.2fin would do, or fewer schemes or panels",
                    page->width / 72, page->height / 72, font, page->width / 72,
                    ceil(p->height / 0.72) / 100);
}

int cc_plan_make(const struct cc_figure *f, const struct cc_page *page, struct cc_plan *out,
                 struct cc_error *e)
{
    double font = page->font_size;
    bool fits = false;
    int status = CC_OK;
    *out = (struct cc_plan){0};
    if (font <= 0)
        font = page->width < COLUMN_WIDTH ? COLUMN_FONT : PAGE_FONT;
    while (status == CC_OK && !fits) {
        status = make(f, page, font, out, &fits, e);
        if (status != CC_OK || fits)
            break;
        if (page->font_size > 0 || font <= CC_LEAST_FONT)
            status = fail_small(f, page, font, out, e);
        font = fmax(CC_LEAST_FONT, font - 0.5);
    }
    if (status != CC_OK)
        cc_plan_free(out);
    return status;
}
