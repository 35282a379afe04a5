/* The axes of a figure: order, ranges, tics. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "results/plot_impl.h"

bool cc_figure_has_bars(const struct cc_figure *f)
{
    return f->shape == CC_STACKED || f->shape == CC_GROUPED || f->shape == CC_MARKS;
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

static void extend(struct cc_axis *a, double v)
{
    a->lo = isnan(a->lo) ? v : fmin(a->lo, v);
    a->hi = isnan(a->hi) ? v : fmax(a->hi, v);
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
    for (size_t i = 0; i < f->panels; i++)
        for (size_t k = 0; k < f->series_count; k++)
            for (size_t p = 0; p < f->panel[i].of[k].count; p++) {
                double x = f->panel[i].of[k].point[p].x;
                any = any || x < ROUNDING;
                least = x >= ROUNDING ? fmin(least, x) : least;
            }
    if (any)
        f->exact = isinf(least) ? ROUNDING : pow(10, floor(log10(least))) / 10;
    for (size_t i = 0; i < f->panels && any; i++)
        for (size_t k = 0; k < f->series_count; k++)
            for (size_t p = 0; p < f->panel[i].of[k].count; p++) {
                struct cc_point *point = &f->panel[i].of[k].point[p];
                point->x = point->x < ROUNDING ? f->exact : point->x;
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

/* Extends the axis by all marks of a panel. */
static void extend_by_marks(const struct cc_figure *f, size_t panel, struct cc_axis *a)
{
    for (size_t k = 0; k < f->series_count; k++) {
        const struct cc_points *of = &f->panel[panel].of[k];
        for (size_t p = 0; p < of->count; p++)
            extend(a, of->point[p].y);
        if (of->count > 0 && !isnan(of->band_lo)) {
            extend(a, of->band_lo);
            extend(a, of->band_hi);
        }
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
    if (of->count > 0 && !isnan(of->total))
        extend(&f->x, of->total);
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
    add_margin(&f->x, f->shape == CC_LABELLED ? 0.06 : 0.03, false);
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
