/* The axes of a figure: order, ranges, tics; which of its lines coincide, and the front of its
 * points. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "results/plot_impl.h"

bool cc_figure_has_bars(const struct cc_figure *f)
{
    return f->shape == CC_STACKED || f->shape == CC_GROUPED || f->shape == CC_MARKS;
}

struct cc_bar cc_figure_bar(const struct cc_figure *f, const struct cc_points *of, size_t point)
{
    const bool grouped = f->shape == CC_GROUPED;
    struct cc_bar b = {.from = 0, .top = 0.42, .width = 0.84 / (grouped ? (double)f->parts : 1)};
    for (size_t i = 0; i < point && !grouped; i++)
        b.from += of->point[i].y;
    b.to = b.from + of->point[point].y;
    b.top -= grouped ? b.width * of->point[point].x : 0;
    return b;
}

/* The highest point of a series; of trainings, the highest end of a line. */
static double highest(const struct cc_figure *f, size_t series)
{
    double most = 0;
    for (size_t i = 0; i < f->panels; i++) {
        const struct cc_points *of = &f->panel[i].of[series];
        for (size_t k = f->bands && of->count > 0 ? of->count - 1 : 0; k < of->count; k++)
            most = fmax(most, of->point[k].y);
    }
    return most;
}

static void swap_series(struct cc_figure *f, size_t a, size_t b)
{
    char *name = f->series[a];
    f->series[a] = f->series[b];
    f->series[b] = name;
    for (size_t i = 0; i < f->panels; i++) {
        struct cc_points points = f->panel[i].of[a];
        f->panel[i].of[a] = f->panel[i].of[b];
        f->panel[i].of[b] = points;
    }
}

/* Orders the series by that point, so that the legend has the order of the lines. */
static void order_series(struct cc_figure *f)
{
    for (size_t i = 1; i < f->series_count; i++)
        for (size_t k = i; k > 0 && highest(f, k) > highest(f, k - 1); k--)
            swap_series(f, k, k - 1);
}

/* Extends an axis, whose range is NaN at first, by a value, unless that is NaN. */
static void extend(struct cc_axis *a, double v)
{
    a->lo = fmin(a->lo, v);
    a->hi = fmax(a->hi, v);
}

/* Adds a margin beyond the outermost points; axes that are not logarithmic begin at 0, or, if
 * `narrow`, a margin below the lowest point. */
static void add_margin(struct cc_axis *a, double share, bool narrow)
{
    if (!a->log && narrow) {
        const double margin = fmax((a->hi - a->lo) * share, 1e-3 * fmax(a->hi, 1));
        a->lo = fmax(0, a->lo - margin);
        a->hi += margin;
        return;
    }
    if (!a->log) {
        a->lo = 0;
        a->hi = a->hi > 0 ? a->hi * (1 + 2 * share) : 1;
        return;
    }
    const double factor = a->hi > a->lo ? fmax(pow(a->hi / a->lo, share), 1.05) : a->base;
    a->lo /= factor;
    a->hi *= factor;
}

/* Errors below this are rounding of float32. */
#define ROUNDING 1e-12

/* Moves errors of zero, which have no logarithm, and errors of rounding, which would lengthen the
 * axis, to its left end. */
static void gather_exact(struct cc_figure *f)
{
    double least = INFINITY;
    bool any = false;
    for (int pass = 0; pass < 2; pass++) { /* finds them, then moves them */
        for (size_t i = 0; i < f->panels; i++)
            for (size_t k = 0; k < f->series_count; k++)
                for (size_t p = 0; p < f->panel[i].of[k].count; p++) {
                    double *x = &f->panel[i].of[k].point[p].x;
                    any = any || *x < ROUNDING;
                    least = *x >= ROUNDING ? fmin(least, *x) : least;
                    *x = pass == 1 && *x < ROUNDING ? f->exact : *x;
                }
        if (any && pass == 0)
            f->exact = isinf(least) ? ROUNDING : pow(10, floor(log10(least))) / 10;
    }
}

/* Rows of marks have margins on both sides. */
static void add_mark_margins(struct cc_axis *a)
{
    if (a->log) {
        add_margin(a, 0.06, false);
        return;
    }
    const double margin = fmax(0.06 * (a->hi - a->lo), 1e-3 * fmax(fabs(a->hi), fabs(a->lo)));
    a->lo = a->lo > 0 && a->lo < 0.3 * a->hi ? 0 : a->lo - margin;
    a->hi += margin > 0 ? margin : 1;
}

static void extend_by_marks(const struct cc_figure *f, size_t panel, struct cc_axis *a)
{
    for (size_t k = 0; k < f->series_count; k++) {
        const struct cc_points *of = &f->panel[panel].of[k];
        for (size_t p = 0; p < of->count; p++)
            extend(a, of->point[p].y);
        extend(a, of->count > 0 ? of->band_lo : NAN);
        extend(a, of->count > 0 ? of->band_hi : NAN);
    }
    if (f->reference > 0)
        extend(a, f->reference);
}

static void set_mark_ranges(struct cc_figure *f)
{
    f->x.lo = f->x.hi = NAN;
    for (size_t i = 0; i < f->panels; i++) {
        struct cc_axis *own = &f->panel[i].x;
        *own = f->x;
        own->lo = own->hi = NAN;
        extend_by_marks(f, i, own);
        add_mark_margins(own);
    }
    for (size_t i = 0; i < f->panels; i++)
        extend_by_marks(f, i, &f->x);
    add_mark_margins(&f->x);
}

/* Sets each panel's x axis to the range of its own lines. */
static void set_own_x(struct cc_figure *f, double share)
{
    for (size_t i = 0; i < f->panels; i++) {
        struct cc_axis *own = &f->panel[i].x;
        *own = f->x;
        own->lo = own->hi = NAN;
        for (size_t k = 0; k < f->series_count; k++)
            for (size_t p = 0; p < f->panel[i].of[k].count; p++)
                extend(own, f->panel[i].of[k].point[p].x);
        add_margin(own, share, false);
        own->most = f->x.hi;
    }
}

static void extend_by_lines(struct cc_figure *f, const struct cc_points *of)
{
    for (size_t p = 0; p < of->count; p++) {
        extend(&f->x, of->point[p].x);
        extend(&f->y, of->point[p].y);
        if (f->bands || f->whiskers) {
            extend(&f->y, of->point[p].lo);
            extend(&f->y, of->point[p].hi);
        }
    }
}

static void extend_by_bars(struct cc_figure *f, const struct cc_points *of)
{
    double sum = 0;
    for (size_t p = 0; p < of->count; p++) {
        sum = f->shape == CC_STACKED ? sum + of->point[p].y : of->point[p].y;
        extend(&f->x, sum);
    }
    extend(&f->x, of->count > 0 ? of->total : NAN);
}

static void set_ranges(struct cc_figure *f)
{
    const bool bars = cc_figure_has_bars(f);
    f->x.lo = f->x.hi = f->y.lo = f->y.hi = NAN;
    for (size_t i = 0; i < f->panels; i++)
        for (size_t k = 0; k < f->series_count; k++)
            (bars ? extend_by_bars : extend_by_lines)(f, &f->panel[i].of[k]);
    if (f->shape == CC_LINES && f->x.lo == f->x.hi)
        f->x.only = f->x.lo;
    if (f->kind == CC_PLOT_SPEEDUP)
        extend(&f->y, 1);
    if (f->kind == CC_PLOT_ROOFLINE)
        extend(&f->x, 1);
    if (f->kind == CC_PLOT_WORKERS) {
        extend(&f->y, f->x.lo);
        extend(&f->y, f->x.hi);
    }
    const double share = f->shape == CC_LABELLED ? 0.06 : 0.03;
    add_margin(&f->x, share, false);
    if (f->own_axes)
        set_own_x(f, share);
    if (!bars)
        add_margin(&f->y, 0.06, f->bands);
}

void cc_figure_scale(struct cc_figure *f)
{
    if (f->shape == CC_LINES)
        order_series(f);
    if (f->kind == CC_PLOT_ERROR)
        gather_exact(f);
    if (f->shape == CC_MARKS)
        set_mark_ranges(f);
    else
        set_ranges(f);
}

/* --- tics --- */

/* The distance of about `want` tics in `range`: 1, 2 or 5 times a power of ten. */
static double nice_step(double range, int want)
{
    double raw = range / want, power = pow(10, floor(log10(raw))), ratio = raw / power;
    return power * (ratio < 1.5 ? 1 : ratio < 3.5 ? 2 : ratio < 7.5 ? 5 : 10);
}

static size_t even_tics(const struct cc_axis *a, int want, double *at)
{
    double step = nice_step(a->hi - a->lo, want);
    size_t n = 0;
    double v = ceil(a->lo / step - 1e-9) * step + 0.0; /* no -0 */
    while (n < CC_MOST_TICS && v <= a->hi * (1 + 1e-9)) {
        at[n++] = v;
        v = step * (round(v / step) + 1);
    }
    return n;
}

/* Tics at powers of the base, at every n-th one if there are more than `want`: the first and the
 * last among them if that is possible, else 1. With `between`, also at 2 and 5 times each. */
static size_t log_tics(const struct cc_axis *a, int want, bool between, double *at)
{
    static const double factor[] = {1, 2, 5};
    double base = a->base, first = ceil(log(a->lo) / log(base) - 1e-9);
    double last = floor(log(a->hi) / log(base) + 1e-9);
    int skip = (int)fmax(1, ceil((last - first + 1) / want)), end = (int)last;
    if (2 * skip > end - (int)first && end > (int)first) /* room for two: both ends */
        skip = end - (int)first;
    const bool both_ends = (end - (int)first) % skip == 0;
    size_t n = 0;
    for (int p = both_ends ? (int)first - skip : (int)floor(first / skip) * skip - skip; p <= end;
         p += skip)
        for (size_t i = 0; i < (between ? 3 : 1); i++) {
            double v = pow(base, p) * factor[i];
            if (v >= a->lo * (1 - 1e-9) && v <= a->hi * (1 + 1e-9) && n < CC_MOST_TICS)
                at[n++] = v;
        }
    return n;
}

size_t cc_axis_tics(const struct cc_axis *a, int want, double at[CC_MOST_TICS])
{
    if (a->only > 0) {
        at[0] = a->only;
        return 1;
    }
    if (!a->log)
        return even_tics(a, want, at);
    double decades = log10(a->hi / a->lo);
    if (a->base == 2 && decades > 0.5)
        return log_tics(a, want, false, at);
    if (decades < 0.9)
        return even_tics(a, want, at);
    return log_tics(a, want, 3 * decades <= want, at);
}

double cc_axis_share(const struct cc_axis *a, double v)
{
    return a->log ? log(v / a->lo) / log(a->hi / a->lo) : (v - a->lo) / (a->hi - a->lo);
}

/* --- the points of a line: sorted, and one for each group; which lines coincide; and the Pareto
 * front of points --- */

/* Whether two lines of a panel are within a hundredth of the axis at each point. */
static bool coincide(const struct cc_figure *f, const struct cc_panel *panel, size_t k, size_t l)
{
    const struct cc_points *a = &panel->of[k], *b = &panel->of[l];
    const struct cc_axis *axis = cc_panel_x(f, panel);
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        const double x = cc_axis_share(axis, a->point[i].x) - cc_axis_share(axis, b->point[i].x);
        const double y = cc_axis_share(&f->y, a->point[i].y) - cc_axis_share(&f->y, b->point[i].y);
        if (fabs(x) > 0.003 || fabs(y) > 0.01)
            return false;
    }
    return true;
}

static bool same_line(const struct cc_figure *f, size_t a, size_t b)
{
    for (size_t i = 0; i < f->panels; i++)
        if (!coincide(f, &f->panel[i], a, b))
            return false;
    return true;
}

int cc_lines_group(const struct cc_figure *f, size_t **leader, size_t **style, struct cc_error *e)
{
    size_t styles = 0;
    CC_TRY(CC_NEW(*leader, f->series_count, e));
    CC_TRY(CC_NEW(*style, f->series_count, e));
    for (size_t k = 0; k < f->series_count; k++) {
        size_t first = 0;
        while (first < k && (f->shape != CC_LINES || f->bands || (*leader)[first] != first ||
                             !same_line(f, first, k)))
            first++;
        (*leader)[k] = first;
        (*style)[k] = first < k ? (*style)[first] : styles++;
    }
    return CC_OK;
}

char *cc_lines_name(const struct cc_figure *f, const size_t *leader, size_t k, struct cc_error *e)
{
    size_t length = 1;
    for (size_t i = k; i < f->series_count; i++)
        length += leader[i] == k ? strlen(f->series[i]) + 2 : 0;
    char *text = cc_alloc0(length, e);
    for (size_t i = k; text != NULL && i < f->series_count; i++)
        if (leader[i] == k)
            cc_list_add(text, length, ", ", "%s", f->series[i]);
    return text;
}

const struct cc_axis *cc_panel_x(const struct cc_figure *f, const struct cc_panel *p)
{
    return f->own_axes ? &p->x : &f->x;
}

size_t cc_panel_points(const struct cc_figure *f, size_t panel)
{
    size_t n = 0;
    for (size_t k = 0; k < f->series_count; k++)
        n += f->panel[panel].of[k].count;
    return n;
}

size_t cc_pareto_front(const struct cc_figure *f, size_t panel, struct cc_point *out)
{
    const struct cc_panel *p = &f->panel[panel];
    double x = -INFINITY, y = -INFINITY;
    for (size_t n = 0;; n++) { /* the next one to the right that is higher */
        const struct cc_point *next = NULL;
        for (size_t k = 0; k < f->series_count; k++)
            for (size_t i = 0; i < p->of[k].count; i++) {
                const struct cc_point *at = &p->of[k].point[i];
                if (at->y > y && at->x >= x &&
                    (next == NULL || at->x < next->x || (at->x == next->x && at->y > next->y)))
                    next = at;
            }
        if (next == NULL)
            return n;
        x = next->x;
        y = next->y;
        out[n] = *next;
    }
}
