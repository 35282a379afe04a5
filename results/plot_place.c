/* The parts of a page's plan: the width of texts; tics; texts and shapes; bars' axes and values;
 * the names of points. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/units.h"
#include "results/plot_impl.h"

/* --- the width of texts, so that a page can be laid out before anything is drawn ---
 *
 * Widths are those of DejaVu Sans, Debian's default font; Helvetica, Times and Computer Modern are
 * narrower, so what fits with these widths fits with theirs. */

/* The advance widths of the characters from the blank on, in thousandths of the font size. */
static const unsigned short advance[95] = {
    318, 401, 460, 838, 637, 951, 780, 275, 391, 391, 500, 838, 318, 361,  318, 337, 637, 637, 637,
    637, 637, 637, 637, 637, 637, 637, 337, 337, 838, 838, 838, 531, 1000, 685, 687, 699, 771, 632,
    576, 775, 752, 295, 295, 656, 558, 863, 749, 788, 604, 788, 695, 635,  611, 732, 685, 989, 686,
    611, 686, 391, 337, 391, 838, 500, 500, 613, 635, 550, 635, 616, 353,  635, 634, 278, 278, 580,
    278, 975, 634, 612, 635, 635, 412, 521, 393, 634, 592, 818, 592, 592,  525, 637, 337, 637, 838};

/* Characters beyond ASCII, and those of fonts whose characters all have the same width. */
enum { OTHER = 1000, FIXED = 603 };

static bool is_fixed(const char *font)
{
    return font != NULL && (strstr(font, "Mono") != NULL || strstr(font, "Courier") != NULL ||
                            strstr(font, "Typewriter") != NULL);
}

/* The bytes of the character at `text`, and its width in thousandths. */
static size_t next(const char *text, bool fixed, double *width)
{
    const unsigned char c = (unsigned char)*text;
    size_t bytes = 1;
    while (c >= 0xc0 && ((unsigned char)text[bytes] & 0xc0) == 0x80)
        bytes++;
    *width = c < ' ' || c > '~' ? OTHER : advance[c - ' '];
    if (fixed)
        *width = c > '~' ? 2 * FIXED : FIXED;
    return bytes;
}

static double width_of(const char *text, size_t length, const char *font, double size)
{
    const bool fixed = is_fixed(font);
    double sum = 0, width;
    for (size_t at = 0; at < length && text[at] != '\0'; sum += width)
        at += next(text + at, fixed, &width);
    return sum * size / 1000;
}

double cc_text_width(const char *text, const char *font, double size)
{
    return width_of(text, strlen(text), font, size);
}

/* The length of the first line: up to the last blank that fits, or as many characters as fit. */
static size_t line_length(const char *text, const char *font, double size, double width)
{
    const bool fixed = is_fixed(font);
    size_t at = 0, blank = 0;
    double sum = 0, here;
    while (text[at] != '\0') {
        const size_t bytes = next(text + at, fixed, &here);
        if (text[at] == ' ')
            blank = at;
        sum += here * size / 1000;
        if (sum > width && at > 0)
            return blank > 0 ? blank : at;
        at += bytes;
    }
    return at;
}

int cc_text_break(const char *text, const char *font, double size, double width,
                  struct cc_text_lines *out, struct cc_error *e)
{
    *out = (struct cc_text_lines){0};
    while (*text != '\0') {
        if (out->count == CC_MOST_TEXT_LINES)
            return CC_OK;
        const size_t length = line_length(text, font, size, width);
        CC_TRY(cc_text(&out->line[out->count], e, "%.*s", (int)length, text));
        out->width = fmax(out->width, cc_text_width(out->line[out->count++], font, size));
        text += length;
        text += strspn(text, " ");
    }
    return CC_OK;
}

void cc_text_lines_free(struct cc_text_lines *l)
{
    for (size_t i = 0; i < l->count; i++)
        free(l->line[i]);
    *l = (struct cc_text_lines){0};
}

/* --- the texts of tics: as many as have room, all in one unit --- */

/* Times of a linear axis have the prefix of its end. */
static const struct {
    double from;
    double scale;
    const char *unit;
} times[] = {{1, 1, "s"}, {1e-3, 1e3, "ms"}, {1e-6, 1e6, "us"}, {0, 1e9, "ns"}};

struct cc_number_format cc_axis_format(const struct cc_axis *a, double least)
{
    struct cc_number_format n = {.scale = 1, .decimals = -1, .unit = ""};
    if (a->log || strcmp(a->unit, "#") == 0 || strcmp(a->unit, "bit/s") == 0)
        return n;
    size_t i = 0;
    while (strcmp(a->unit, "s") == 0 && fmax(a->hi, a->most) < times[i].from)
        i++;
    if (strcmp(a->unit, "s") == 0) {
        n.scale = times[i].scale;
        n.unit = times[i].unit;
    }
    least = fabs(least) * n.scale;
    const double most = fmax(fabs(a->hi), fabs(a->lo)) * n.scale;
    const int digits = least > 0 ? (int)(2 - floor(log10(least) + 1e-9)) : 0;
    const int before = most >= 1 ? 1 + (int)floor(log10(most)) : 1;
    n.decimals = digits < 0 ? 0 : digits > 4 - before ? 4 - before : digits;
    n.decimals = n.decimals < 0 ? 0 : n.decimals > 3 ? 3 : n.decimals;
    return n;
}

void cc_axis_number(const struct cc_axis *a, const struct cc_number_format *n, double v,
                    char text[64])
{
    if (n->decimals < 0)
        cc_print_si(v, a->unit, text, 64);
    else
        (void)snprintf(text, 64, "%.*f", n->decimals, v * n->scale);
}

void cc_tic_text(const struct cc_axis *a, double exact, double v, char text[64])
{
    const struct cc_number_format n = cc_axis_format(a, 0);
    if (exact > 0 && v == exact)
        (void)snprintf(text, 64, "0");
    else if (n.decimals < 0 && a->unit[0] == '\0' && v >= 1e4 && v < 1e7)
        (void)snprintf(text, 64, "%.0f", v);
    else if (n.decimals < 0)
        cc_print_si(v, a->unit, text, 64);
    else
        (void)snprintf(text, 64, "%g", fabs(v) < 1e-12 ? 0 : v * n.scale);
}

/* The tics at about `want` places; with an exact end, that one, and none close to it. */
static void tics_of(const struct cc_axis *a, double exact, int want, struct cc_tics *out)
{
    double at[CC_MOST_TICS];
    const size_t n = cc_axis_tics(a, want, at);
    out->count = 0;
    if (exact > 0)
        out->at[out->count++] = exact;
    for (size_t i = 0; i < n && out->count < CC_MOST_TICS; i++)
        if (exact <= 0 || at[i] >= 5 * exact)
            out->at[out->count++] = at[i];
}

double cc_tic_middle(const struct cc_axis *a, double tic, double size, double length, double beyond)
{
    const double at = cc_axis_share(a, tic) * length;
    return fmax(fmin(at, length + beyond - size / 2), size / 2 - beyond);
}

static bool apart(const struct cc_axis *a, double exact, double length, bool upwards,
                  const struct cc_plan *p, const struct cc_tics *tics)
{
    const double beyond = upwards ? INFINITY : CC_TICS_BEYOND * p->font_size;
    double end = -INFINITY;
    char text[64];
    for (size_t i = 0; i < tics->count; i++) {
        cc_tic_text(a, exact, tics->at[i], text);
        const double size =
            upwards ? CC_TEXT_HEIGHT * p->font_size : cc_text_width(text, p->font, p->font_size);
        const double at = cc_tic_middle(a, tics->at[i], size, length, beyond);
        if (at - size / 2 < end + (upwards ? 0.3 : 0.7) * p->font_size)
            return false;
        end = at + size / 2;
    }
    return true;
}

void cc_axis_choose(const struct cc_axis *a, double exact, double length, bool upwards,
                    const struct cc_plan *p, struct cc_tics *out)
{
    const int most = (int)fmax(2, length / ((upwards ? 2.5 : 3) * p->font_size));
    for (int want = most < 10 ? most : 10; want > 1; want--) {
        tics_of(a, exact, want, out);
        if (apart(a, exact, length, upwards, p, out))
            return;
    }
    tics_of(a, exact, 1, out);
    while (out->count > 1 && !apart(a, exact, length, upwards, p, out))
        out->count--;
}

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

int cc_plan_text(struct cc_plan *p, const char *text, double x, double y, enum cc_text_at at,
                 size_t panel, struct cc_error *e)
{
    CC_TRY(CC_GROW(p->text, &p->text_capacity, p->texts + 1, e));
    struct cc_page_text t = {.text = plain(text, e), .x = x, .y = y, .at = at, .panel = panel};
    if (t.text == NULL)
        return CC_FAIL;
    t.width = cc_text_width(t.text, p->font, p->font_size);
    p->text[p->texts++] = t;
    return CC_OK;
}

int cc_plan_shape(struct cc_plan *p, struct cc_page_shape shape, struct cc_error *e)
{
    CC_TRY(CC_GROW(p->shape, &p->shape_capacity, p->shapes + 1, e));
    p->shape[p->shapes++] = shape;
    return CC_OK;
}

void cc_plan_free(struct cc_plan *p)
{
    for (size_t i = 0; i < p->texts; i++)
        free(p->text[i].text);
    free(p->text);
    free(p->shape);
    free(p->area);
    free(p->leader);
    free(p->style);
    *p = (struct cc_plan){0};
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
    if (of->count == 0)
        return 0;
    for (size_t i = 0; i < of->count; i++) {
        const struct cc_bar bar = cc_figure_bar(f, of, i);
        out[i] = (struct bar_end){bar.to, bar.to, bar.width / 2 - bar.top};
    }
    if (f->shape == CC_GROUPED)
        return of->count;
    const double sum = out[of->count - 1].end, value = isnan(of->total) ? sum : of->total;
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

/* Goes through the values of a panel's bars, on an axis: lengthens it until they have their room,
 * or with `put` adds their texts. */
static int place_values(const struct cc_figure *f, struct cc_plan *p, size_t panel,
                        struct cc_axis *x, bool put, struct cc_error *e)
{
    struct bar_end end[CC_MOST_PARTS];
    const double em = p->font_size;
    const struct cc_number_format n = cc_axis_format(&f->x, least_value(f));
    char text[64];
    for (size_t k = 0; k < f->series_count && p->values; k++) {
        const size_t count = bar_ends(f, &f->panel[panel].of[k], end);
        for (size_t b = 0; b < count; b++) {
            cc_axis_number(&f->x, &n, end[b].value, text);
            const double width = cc_text_width(text, p->font, em) + 0.8 * em;
            const double at = value_begin(f, x, width, p->area_width, end[b].end);
            if (!put)
                x->hi = fmax(x->hi, at * p->area_width / (p->area_width - width));
            else
                CC_TRY(cc_plan_text(
                    p, text, p->area[panel].left + at / x->hi * p->area_width + 0.5 * em,
                    cc_plan_bar_y(f, p, panel, (double)k + end[b].offset), CC_AT_LEFT, panel, e));
        }
    }
    return CC_OK;
}

void cc_plan_bar_axes(const struct cc_figure *f, struct cc_plan *p)
{
    const double pitch = p->area_height / ((double)f->series_count + 0.2);
    if (f->shape != CC_STACKED && f->shape != CC_GROUPED)
        return;
    const double bars = f->shape == CC_GROUPED ? (double)f->parts : 1;
    p->values = 0.84 * pitch / bars >= (f->shape == CC_GROUPED ? CC_TEXT_HEIGHT : 1) * p->font_size;
    struct cc_axis x = f->x;
    x.hi = fmax(x.hi, f->reference);
    /* Numbers that go behind the line of reference move as the axis grows: twice is enough. */
    for (int round = 0; round < 3; round++)
        for (size_t i = 0; i < f->panels; i++)
            (void)place_values(f, p, i, &x, false, NULL);
    for (size_t i = 0; i < p->panels; i++)
        p->area[i].x = x;
}

int cc_plan_bar_values(const struct cc_figure *f, struct cc_plan *p, size_t panel,
                       struct cc_error *e)
{
    return place_values(f, p, panel, &p->area[panel].x, true, e);
}

/* --- names of points --- */

static int collect(const struct cc_figure *f, const struct cc_plan *p, size_t panel,
                   enum cc_naming naming, struct cc_label **out, size_t *count, struct cc_error *e)
{
    const struct cc_panel *from = &f->panel[panel];
    *count = 0;
    CC_TRY(CC_NEW(*out, cc_panel_points(f, panel), e));
    for (size_t k = 0; k < f->series_count; k++)
        for (size_t i = 0; i < from->of[k].count; i++) {
            struct cc_label *l = &(*out)[(*count)++];
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
    struct cc_point *front;
    CC_TRY(CC_NEW(front, points, e));
    const int status = CC_NEW(area->path, 2 * points + 1, e);
    const size_t count = status == CC_OK ? cc_pareto_front(f, panel, front) : 0;
    /* Each point, and where the step from it ends: at the next one, or at the area's end. */
    for (size_t i = 0; i < 2 * count; i++) {
        const size_t next = (i + 1) / 2;
        const double x = next < count ? cc_axis_share(&p->area[panel].x, front[next].x) : 1;
        area->path[area->path_count][0] = x * p->area_width;
        area->path[area->path_count++][1] = cc_axis_share(&f->y, front[i / 2].y) * p->area_height;
    }
    free(front);
    return status;
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
        CC_TRY_OUT(cc_plan_text(p, l->text, a->left + l->left,
                                a->bottom + l->bottom + l->height / 2, CC_AT_LEFT, panel, e));
        if (!l->line)
            continue;
        CC_TRY_OUT(
            cc_plan_shape(p,
                          (struct cc_page_shape){
                              .kind = CC_SHAPE_LEADER,
                              .x0 = a->left + l->x,
                              .y0 = a->bottom + l->y,
                              .x1 = a->left + fmax(l->left, fmin(l->x, l->left + l->width)),
                              .y1 = a->bottom + fmax(l->bottom, fmin(l->y, l->bottom + l->height)),
                              .panel = panel},
                          e));
    }
out:
    free(label);
    free(area.path);
    return status;
}
